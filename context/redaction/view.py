"""The plain view of a text for detectors, of the same length, so that positions are those of the text."""

import re
from typing import Final

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000"), " ")
_HYPHENS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_QUOTES = dict.fromkeys(map(ord, "“”„«»「」"), '"') | dict.fromkeys(map(ord, "‘’"), "'")
_DIGITS = {zero + digit: str(digit) for zero in (0x0660, 0x06F0, 0x0966) for digit in range(10)}
_PLAIN: Final = _FULL_WIDTH | _SPACES | _HYPHENS | _QUOTES | _DIGITS

_CODES = re.compile(r"\\[nrt]|\\u[0-9A-Fa-f]{4}|\x1b\[[0-9;]{0,20}m")
"""JSON escapes and terminal colour codes, whose letters and digits are not part of the text."""


def plain_view(text: str) -> str:
    """Maps full-width characters, spaces, hyphens, quotes and digits to ASCII, and escapes to spaces."""
    return _CODES.sub(lambda code: " " * len(code[0]), text.translate(_PLAIN))
