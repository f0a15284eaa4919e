"""The plain view of a text for detectors: what a reader sees, with the position of each character in the text."""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final
from unicodedata import decimal
from urllib.parse import unquote

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000"), " ")
_HYPHENS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_QUOTES = dict.fromkeys(map(ord, "“”„«»「」"), '"') | dict.fromkeys(map(ord, "‘’"), "'")
_DIGITS = {code: str(value) for code in range(0x80, 0x20000) if (value := decimal(chr(code), -1)) >= 0}
"""Digits of all scripts, and mathematical ones."""
_PLAIN: Final = _DIGITS | _FULL_WIDTH | _SPACES | _HYPHENS | _QUOTES | {ord("﹫"): "@", ord("﹒"): "."}

_AT_WORDS = "arroba|arobase|chiocciola|małpa|собака"
_DOT_WORDS = "punkt|punto|ponto|point|kropka|точка"
_TOPS = "com|org|net|edu|gov|info|io|co|dev|app|ai|me|eu|[a-z]{2}|рф"
_NO_NAME = re.compile(
    r"(?:\A|\W|\b(?:us|me|you|him|her|it|them|is|am|are|be|was|were|been|works?|look|find|meet|pay|live|stay))\Z",
    re.IGNORECASE,
)
"""What is not the name in an address: `we are at example dot com` tells a place."""
_ENCODED = re.compile(
    rf"""(?P<invisible>[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]++)
      | (?P<entity>&(?:\#\d{{2,5}}|\#[xX][0-9A-Fa-f]{{2,4}}|nbsp|commat|period|quot|apos|lt|gt|amp|lowbar|plus|hyphen);)
      | (?P<percent>%(?:40|20|2[BbDdEe]))
      | (?P<escape>\\u00[2-7][0-9A-Fa-f])
      | (?<=\w)[ ]?(?:(?P<at>[\[({{<【][ ]?(?:at|@|ät|ad|bei|chez|アット|{_AT_WORDS})[ ]?[\])}}>】])
                     |(?P<dot>[\[({{<【][ ]?(?:dot|\.|punt|ドット|{_DOT_WORDS})[ ]?[\])}}>】]))[ ]?(?=[^\W_])
      | (?P<a>\((?<=\w\()a\))(?=[\w-]{{1,63}}\.[a-z])
      | (?P<spaced>[ ]?@[ ])(?=[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{0,3}}\.(?:{_TOPS})(?![\w-]|\.\w))
      | (?P<spoken>[ ](?:at[ ](?!the[ ])|(?:ät|{_AT_WORDS})[ ])[\w-]{{1,63}}
         (?:[ ](?:dot|{_DOT_WORDS})[ ][\w-]{{1,63}}){{0,3}}[ ](?:dot|{_DOT_WORDS})[ ](?:{_TOPS})(?![\w-]))
      | (?<=\w)[ ](?P<spoken_dot>dot)[ ](?=\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGN = re.compile(r"[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff&%\\\[({<【]|@[ ]")
"""What everything encoded contains, except spoken addresses."""
_SPOKEN = re.compile(rf"[ ](?:(?P<at>at|ät|{_AT_WORDS})|dot|{_DOT_WORDS})[ ]", re.IGNORECASE)
_SPOKEN_DOTS = tuple(f" {word} " for word in ("dot", *_DOT_WORDS.split("|")))
_CODES = re.compile(r"\\[nrt]|\\u[0-9A-Fa-f]{4}|\x1b\[[0-9;]{0,20}m")
"""JSON escapes and terminal colour codes, whose letters and digits are not part of the text."""


@dataclass(frozen=True, slots=True)
class View:
    """A text as detectors read it."""

    text: str
    _starts: "array[int] | None" = None
    _ends: "array[int] | None" = None
    """Positions of each character in the original; `None` if they are the same."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that `text[start:end]`, which is not empty, was read from."""
        if self._starts is None or self._ends is None:
            return start, end
        return self._starts[start], self._ends[end - 1]


def plain_view(text: str) -> View:
    """Maps full-width characters, spaces, hyphens, quotes and digits to ASCII, and escapes to spaces.

    Drops invisible characters, and decodes `&#64;`, `%40`, `(at)` and the like.
    """
    plain = text.translate(_PLAIN)
    parts: list[str] = []
    starts, ends, end = array("Q"), array("Q"), 0
    # Looking for a sign first takes a fraction of the time.
    lower = plain.lower()
    is_encoded = _SIGN.search(plain) or any(dot in lower for dot in _SPOKEN_DOTS)
    for match, decoded in _decodings(plain) if is_encoded else ():
        if decoded != match[0]:
            parts += [plain[end : match.start()], decoded]
            starts.extend(range(end, match.start()))
            ends.extend(range(end + 1, match.start() + 1))
            if decoded:
                starts.append(match.start())
                ends.append(match.end())
            end = match.end()
    if not end:
        return View(_without_codes(plain))
    starts.extend(range(end, len(plain)))
    ends.extend(range(end + 1, len(plain) + 1))
    return View(_without_codes("".join([*parts, plain[end:]])), starts, ends)


def _decodings(plain: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yields what is encoded and what is meant, in a spoken address each of its signs."""
    for match in _ENCODED.finditer(plain):
        if match.lastgroup in ("spoken", "spaced") and _NO_NAME.search(plain, max(0, match.start() - 8), match.start()):
            continue
        if match.lastgroup == "spoken":
            for sign in _SPOKEN.finditer(plain, match.start(), match.end()):
                yield sign, "@" if sign["at"] else "."
        else:
            yield match, _decoded(match)


def _decoded(match: re.Match[str]) -> str:
    """The one character that is meant, none if it is invisible, or the match itself."""
    written = match[0]
    match match.lastgroup:
        case "invisible":
            return ""
        case "at" | "a" | "spaced":
            return "@"
        case "dot" | "spoken_dot":
            return "."
        case "percent":
            return unquote(written)
        case "escape":
            return chr(int(written[2:], 16))
        case _:
            meant = unescape(written).translate(_PLAIN)
            if _ENCODED.fullmatch(meant):
                return ""  # an invisible character
            return meant if len(meant) == 1 and meant.isascii() and meant.isprintable() else written


def _without_codes(plain: str) -> str:
    if "\\" not in plain and "\x1b" not in plain:
        return plain
    return _CODES.sub(lambda code: " " * len(code[0]), plain)
