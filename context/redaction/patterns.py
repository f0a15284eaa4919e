"""Custom detectors: patterns that operators configure in addition to the built-in detectors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import regex

from purser.context.errors import InvalidSettings
from purser.context.redaction.findings import LABEL, Detector, Found

TIMEOUT_S = 5.0
"""Time limit of one pattern on one text: a pattern may take exponential time, and the text is then withheld."""


@dataclass(frozen=True, slots=True)
class _Find:
    """Finds the matches of a pattern."""

    label: str
    pattern: regex.Pattern[str]

    def __call__(self, view: str) -> Iterator[Found]:
        for match in self.pattern.finditer(view, timeout=TIMEOUT_S, concurrent=True):
            if match.start() < match.end():
                yield Found(match.start(), match.end(), self.label, match[0])


def custom_detectors(patterns: Mapping[str, str]) -> tuple[Detector, ...]:
    """Creates one detector per label from its regular expression.

    They run after the built-in detectors and before that of phone numbers. A built-in label gets additional matches.

    Raises:
        InvalidSettings: a label or a pattern is malformed; the error names the label and the remedy.
    """
    return tuple(Detector(label, _Find(label, _compiled(label, pattern))) for label, pattern in patterns.items())


def _compiled(label: str, pattern: str) -> regex.Pattern[str]:
    if not LABEL.fullmatch(label):
        raise InvalidSettings(
            f"the label {label[:80]!r} is not valid: use capital letters, digits and _, at most 32, a letter first"
        )
    try:
        compiled = regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidSettings(f"the pattern of {label} is not a regular expression: {error}") from None
    if compiled.fullmatch(""):
        raise InvalidSettings(f"the pattern of {label} matches empty text: make it require at least one character")
    return compiled
