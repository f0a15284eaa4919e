"""Findings of detectors in a text, and the resolution of overlaps."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from purser.context.errors import RedactionFailed

LABELS = ("EMAIL", "CARD", "IBAN", "SSN", "NATIONAL_ID", "API_KEY", "SECRET", "IP", "PHONE")
"""Labels of the built-in detectors."""
LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,31}")
TAKEN = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Masks a character that an earlier detector has claimed, so that later detectors cannot match it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value found in a text."""

    start: int
    end: int
    """Index after its last character."""
    label: str
    """Label of the detector; empty for an existing placeholder."""
    value: str
    """Normalized value, so that different notations of a value compare equal."""


@dataclass(frozen=True, slots=True)
class Detector:
    """Finds values of one kind."""

    label: str
    find: Callable[[str], Iterable[Found]]
    """Searches the plain view of a text, in time linear in its length."""
    signs: tuple[str, ...] = ()
    """Case-folded texts of which any text with a finding contains one, which is looked for first; empty if there are
    none."""


def findings(view: str, placeholders: Sequence[Found], detectors: Iterable[Detector]) -> list[Found]:
    """Runs the detectors and returns their findings sorted, without overlaps; earlier detectors take precedence.

    A finding that fully contains earlier ones replaces them: part of a password may look like an e-mail address.

    Args:
        view: the text of a `View`.
        placeholders: placeholders that already occur in the text.
        detectors: ordered from most to least specific.

    Raises:
        RedactionFailed: a detector failed, so the text was withheld.
    """
    found = list(placeholders)
    rest, folded = _without(view, found), view.casefold()
    for detector in detectors:
        if detector.signs and not any(sign in folded for sign in detector.signs):
            continue
        try:
            new = list(detector.find(rest))
        except Exception as error:
            # Without its cause, which may quote the text.
            raise RedactionFailed(
                f"the detector {detector.label} failed ({type(error).__name__}): the text was withheld; "
                "report it, or correct the configured pattern of that label"
            ) from None
        if new:
            found = _outermost([*found, *new])
            rest = _without(view, found)
    return found


def _outermost(found: Iterable[Found]) -> list[Found]:
    outermost: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not outermost or one.start >= outermost[-1].end:
            outermost.append(one)
    return outermost


def _without(view: str, found: Sequence[Found]) -> str:
    """The view with all findings masked, of the same length."""
    parts, end = [], 0
    for one in found:
        parts += [view[end : one.start], TAKEN * (one.end - one.start)]
        end = one.end
    return "".join([*parts, view[end:]])
