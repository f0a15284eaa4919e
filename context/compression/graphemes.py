"""Boundaries between graphemes, the characters that a reader sees: texts are cut only there."""

from itertools import islice

import regex

# Flags first: `\X` looks back over the whole run of them, which takes quadratic time.
_GRAPHEME = regex.compile(r"\p{GCB=Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+|\X")


def grapheme_ends(text: str, most: int | None = None) -> list[int]:
    """Positions after each grapheme of a text, of at most the first `most`; takes linear time."""
    return [match.end() for match in islice(_GRAPHEME.finditer(text), most)]
