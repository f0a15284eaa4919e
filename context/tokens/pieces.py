"""Long texts in pieces that take little time each, and whose tokens add up to those of the text."""

import re
from collections.abc import Iterator

PIECE = 50_000
"""Characters of a piece, at least, where the text is longer."""
UNBROKEN = 100_000
"""Characters of a piece at most. The time for one grows with the square of a run of letters."""
_BREAK = re.compile(r"(?<=[^\W\d_])(?=[0-9])|(?<=\S)(?= )")
"""No token of either vocabulary goes across: from a letter to a digit, or from anything else to a space."""


def pieces(text: str) -> Iterator[str]:
    """The text, cut where no token is. A run of more than `UNBROKEN` characters without such a place is cut anywhere,
    which can be a token off at each cut."""
    start = 0
    while len(text) - start > UNBROKEN:
        found = _BREAK.search(text, start + PIECE, start + UNBROKEN)
        end = start + UNBROKEN if found is None else found.start()
        yield text[start:end]
        start = end
    yield text[start:]
