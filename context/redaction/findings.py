"""What detectors find in a text, and which findings hold where several claim the same characters."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from purser.context.errors import RedactionFailed

LABELS = ("EMAIL", "CARD", "IBAN", "SSN", "NATIONAL_ID", "API_KEY", "SECRET", "IP", "PHONE")
"""What the detectors that are built in find."""
LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,31}")
TAKEN = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for a character that an earlier detector has claimed: later ones see that something is there, not what."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a text."""

    start: int
    end: int
    """After its last character."""
    label: str
    """Empty for a placeholder that stands there already."""
    value: str
    """In one notation, so that the same value is the same however it was written."""


@dataclass(frozen=True, slots=True)
class Detector:
    """Finds values of one kind."""

    label: str
    find: Callable[[str], Iterable[Found]]
    """Takes the plain view of a text; in time that grows with its length and no faster."""


def findings(view: str, placeholders: Sequence[Found], detectors: Iterable[Detector]) -> list[Found]:
    """Everything that is found, in order and without overlap: the first detector before the next.

    A finding that contains earlier ones whole replaces them: a password may look like an e-mail address in part.

    Args:
        view: see `plain_view`.
        placeholders: that stand in the text already.
        detectors: the most specific first.

    Raises:
        RedactionFailed: a detector broke; nothing may pass unseen.
    """
    found = list(placeholders)
    rest = _without(view, found)
    for detector in detectors:
        try:
            new = list(detector.find(rest))
        except Exception as error:
            # Without its cause: that may quote the text.
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
    """The view with everything that was found taken out of sight; as long as before."""
    parts, end = [], 0
    for one in found:
        parts += [view[end : one.start], TAKEN * (one.end - one.start)]
        end = one.end
    return "".join([*parts, view[end:]])
