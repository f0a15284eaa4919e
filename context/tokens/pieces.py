"""Splitting of long texts into pieces that are fast to count and whose tokens add up to those of the text."""

import re
from collections.abc import Iterator

PIECE = 50_000
"""Minimum characters of a piece of a longer text."""
UNBROKEN = 100_000
"""Maximum characters of a piece. Counting time is quadratic in the length of a run of letters."""
_BREAK = re.compile(r"(?<=[^\W\d_])(?=[0-9])|(?<=\S)(?= )")
"""Boundaries that no token of either vocabulary spans: from a letter to a digit, or to a space."""


def pieces(text: str) -> Iterator[str]:
    """Splits a text at token boundaries. A run of more than `UNBROKEN` characters without one is cut anywhere, which
    can change the count by one token per cut."""
    start = 0
    while len(text) - start > UNBROKEN:
        found = _BREAK.search(text, start + PIECE, start + UNBROKEN)
        end = start + UNBROKEN if found is None else found.start()
        yield text[start:end]
        start = end
    yield text[start:]
