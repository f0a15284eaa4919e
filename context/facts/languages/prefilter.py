"""Patterns that are searched only in texts with the literals that every match contains.

Most sentences state nothing. Searching for a few words costs a fraction of searching for a pattern that holds them, in
which every place of the text may begin a match.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from typing import Any

FLAGS = re.IGNORECASE
_DIGIT = "\\d"
"""Stands for any digit among literals."""
_HAS_DIGIT = re.compile(r"\d")
_MOST_CHARACTERS = 8
"""Of a set, such as `['’]`; a larger one is in nearly every text."""
_ODD = str.maketrans("İıſ", "iis")
"""Letters that match a Latin one without regard to case although their lower case is another."""
Literals = frozenset[str]
"""One of them is in every match, in lower case; none are known if it is empty."""


class Prefiltered:
    """A pattern that ignores case."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        """Its source."""
        literals = literals_of(pattern)
        self._digit = _DIGIT in literals
        words = literals - {_DIGIT}
        self._words = tuple(word for word in words if not any(one in word for one in words - {word}))
        self._any = not literals

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        # Takes longer than reading the literals, and few patterns of a language are ever searched for.
        return re.compile(self.pattern, FLAGS)

    def search(self, text: str) -> re.Match[str] | None:
        """As of `re.Pattern`."""
        return self._compiled.search(text) if self._may_match(text) else None

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        """As of `re.Pattern`."""
        if self._may_match(text):
            yield from self._compiled.finditer(text, start, len(text) if end is None else end)

    def _may_match(self, text: str) -> bool:
        if self._any or (self._digit and _HAS_DIGIT.search(text)):
            return True
        folded = text.lower() if text.isascii() else text.translate(_ODD).lower()
        for word in self._words:  # noqa: SIM110 - `any` takes twice as long, millions of times
            if word in folded:
                return True
        return False


def literals_of(pattern: str) -> Literals:
    """Literals of which every match of a pattern contains one, as Python's own parser reads it."""
    # No public function gives a parsed pattern.
    return _of_sequence(re._parser.parse(pattern, FLAGS))


def _of_sequence(parts: Iterable[tuple[Any, Any]]) -> Literals:
    """The rarest literals of what follows one another."""
    found, run = list[Literals](), ""
    for operation, about in parts:
        if str(operation) == "LITERAL" and len(letter := chr(about).translate(_ODD).lower()) == 1:
            run += letter
            continue
        found.append(frozenset({run} if run else ()))
        run = ""
        found.append(_of_part(str(operation), about))
    found.append(frozenset({run} if run else ()))
    return reduce(_better, found, frozenset())


def _of_part(operation: str, about: Any) -> Literals:
    match operation, about:
        case "SUBPATTERN", (_, _, _, parts):
            return _of_sequence(parts)
        case "ATOMIC_GROUP", parts:
            return _of_sequence(parts)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT", (least, _, parts) if least:
            return _of_sequence(parts)
        case "ASSERT", (_, parts):
            return _of_sequence(parts)
        case "BRANCH", (_, alternatives):
            each = [_of_sequence(parts) for parts in alternatives]
            return frozenset().union(*each) if all(each) else frozenset()
        case "IN", characters:
            return _of_characters(characters)
    return frozenset()


def _of_characters(characters: list[tuple[Any, Any]]) -> Literals:
    found = set[str]()
    for operation, about in characters:
        match str(operation), str(about):
            case "LITERAL", _:
                found.add(chr(about).translate(_ODD).lower())
            case "CATEGORY", "CATEGORY_DIGIT":
                found.add(_DIGIT)
            case _:
                return frozenset()
    return frozenset(found) if len(found) <= _MOST_CHARACTERS else frozenset()


def _better(one: Literals, other: Literals) -> Literals:
    return max(one, other, key=_rarity)


def _rarity(literals: Literals) -> tuple[int, int]:
    """How few texts have one of them: longer ones are rarer, then fewer of them. A digit is as rare as a short word."""
    shortest = min((3 if literal == _DIGIT else len(literal.strip()) for literal in literals), default=-1)
    return shortest, -len(literals)
