"""Corrections in text: which words replace an earlier value, and with what."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from purser.context.conversation.wording import asks
from purser.context.facts.languages import Language
from purser.context.facts.patterns import Span

_COUNTS = {
    word: str(number)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "un deux trois quatre cinq six sept huit neuf dix onze douze",
    )
    for number, word in enumerate(words.split(), 1)
}
_NUMBER = rf"\d+(?:[.,]\d+)*|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}|[一二两三四五六七八九十]{{1,3}}"
_A_NUMBER = re.compile(rf"(?<![\w.,-])(?:{_NUMBER})(?![\w%€-]|[.,]\d)", re.IGNORECASE)
_LEADING = re.compile(rf"^(?:{_NUMBER})(?=[\W_]|[^\W\d_])", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"\s*(?:$|[.,;!。，；！]|\b(?:please|instead|then|bitte|por favor|s['’]il)\b|吧|了)", re.IGNORECASE
)
_LEAD = re.compile(
    r"^(?:(?:it['’]s|that['’]s|it is|i meant?|actually|no|nope|sorry|wait|use|take|let['’]s|we|is|are|at|on|for"
    r"|be|the|a|an"
    r"|es|ist|sind|nein|doch|nimm|nehmen|son|mejor|usa|c['’]est|non|prends|sont|um|am|à|le|la|el|der|die|das)\b[\s,:]*"
    r"|应该|其实|还是|是|用|在|，|、)+",
    re.IGNORECASE,
)

_RECONSIDERED = re.compile(
    r"\b(?:actually|now|rather|no longer|any ?more|jetzt|inzwischen|nicht mehr|eigentlich|lieber|ahora|ya no"
    r"|en realidad"
    r"|maintenant|en fait|désormais|ne [^.]* plus)\b|现在|不再|其实|もう|今は|이제",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^(?:actually|on second thought|in the end|now|doch|eigentlich|jetzt|am Ende|al final|en realidad|finalmente|ahora"
    r"|mejor|finalement|en fait|maintenant|désormais)\b|^(?:其实|还是|最后|最终|结果|やっぱり|やはり)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_IN_NUMBER = re.compile(r"(?<=\d)(?:[.,](?=\d)|\.(?= ))")
"""A point or comma that ends no clause, as in `$1,500` and `3. Mai`."""
_CAPITAL = re.compile(r"(?<!^)\b[^\W\d_a-z]\w|^[^\W\d_a-z]\w+$")
_SHORT = 3
"""Words of a short phrase."""


@dataclass(frozen=True, slots=True)
class Replacing:
    """Words that replace others."""

    new: Span
    old: Span
    new_text: str
    old_text: str


def replaced(sentence: str, languages: tuple[Language, ...]) -> Replacing | None:
    """The first place of a sentence that names an old and a new value, such as `21, not 12`."""
    if asks(sentence) or unsure(sentence, languages):
        return None
    patterns = [(pattern, False) for language in languages for pattern in language.replaces]
    patterns += [(pattern, True) for language in languages for pattern in language.denies]
    clauses = _IN_NUMBER.sub("_", sentence)
    for pattern, denies in patterns:
        if match := pattern.search(clauses):
            new, old = (sentence[slice(*match.span(group))].strip() for group in ("new", "old"))
            if new and old and new.casefold() != old.casefold() and (_are_alike(new, old) or not denies):
                return Replacing(match.span("new"), match.span("old"), _LEAD.sub("", new) or new, old)
    return None


def _are_alike(new: str, old: str) -> bool:
    """Whether one may be said instead of the other: both with numbers, both with names, or both short."""
    if _DIGIT.search(new) or _DIGIT.search(old):
        return bool(_DIGIT.search(new) and _DIGIT.search(old))
    return bool(_CAPITAL.search(new) and _CAPITAL.search(old)) or max(len(new.split()), len(old.split())) <= _SHORT


def unsure(sentence: str, languages: tuple[Language, ...]) -> bool:
    """Whether a sentence is a condition or a denial, which corrects nothing."""
    return any(language.is_unsure.search(sentence) for language in languages)


def reconsiders(sentence: str) -> bool:
    """Whether a statement may replace one about the same thing."""
    return _RECONSIDERED.search(sentence) is not None


def leads_over(sentence: str) -> bool:
    """Whether a sentence begins by changing something that was said."""
    return _LEADS.search(sentence) is not None


def is_cued(before: str, after: str, languages: tuple[Language, ...]) -> bool:
    """Whether the words before and after a value say that it replaces another one, such as `make it`."""
    return any(language.is_cue.search(before) or language.is_cue_after.search(after) for language in languages)


def bare_numbers(sentence: str, languages: tuple[Language, ...]) -> Iterator[re.Match[str]]:
    """Numbers that replace another one without repeating its unit, such as `make it three`."""
    for match in _A_NUMBER.finditer(sentence):
        if _CLAUSE_END.match(sentence, match.end()) and is_cued(
            sentence[: match.start()], sentence[match.end() :], languages
        ):
            yield match


def alternative(sentence: str, languages: tuple[Language, ...]) -> str | None:
    """The choice of a sentence that only replaces an earlier one, such as `MySQL instead`."""
    for language in languages:
        if match := language.is_alternative.search(sentence):
            return match["new"].strip()
    return None


def composed(value: str, new: str, old: str = "") -> str | None:
    """The value that a correction makes of an earlier one; `None` if it does not fit.

    Args:
        value: the earlier value, such as `12 Main Street`.
        new: the words that replace a part of it, such as `21`.
        old: the words that they replace; if empty, the first number.
    """
    if not old:
        number = _A_NUMBER.search(value) or re.search(r"\d+(?:[.,]\d+)*", value)
        return value[: number.start()] + new + value[number.end() :] if number else None
    said, leads = _LEADING.match(old), _A_NUMBER.findall(new)
    if said and leads and len(old) > said.end():
        return str(leads[-1]) + old[said.end() :]
    numbers = _A_NUMBER.findall(old)
    if len(numbers) == 1 and leads and not _A_NUMBER.sub("", _LEAD.sub("", new)).strip():
        return _A_NUMBER.sub(leads[-1], old)
    place = within(value, old)
    return None if place is None else value[: place[0]] + _same_form(new, old) + value[place[1] :]


def within(value: str, part: str) -> Span | None:
    """Where a value contains a part as whole words."""
    at = value.casefold().find(part.casefold())
    if at < 0 or len(value.casefold()) != len(value):
        return None
    end = at + len(part)
    cut = any(
        0 < edge < len(value) and value[edge - 1].isalnum() and value[edge].isalnum() and value[edge].isascii()
        for edge in (at, end)
    )
    return None if cut else (at, end)


def _same_form(new: str, old: str) -> str:
    """The end of the new words that corresponds to the old ones: a number, a name, or as many words."""
    if any(letter.isdigit() for letter in old) and (numbers := re.findall(r"\S*\d\S*", new)):
        return str(numbers[-1])
    if old[:1].isupper() and (names := re.findall(r"(?:[^\W\d_a-z][\w+#.-]*\s?)+$", new)):
        return str(names[-1]).strip()
    return " ".join(new.split()[-len(old.split()) :])
