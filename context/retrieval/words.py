"""Tokenization of text into index terms: lower case, without stop words, stemmed.

Chinese is segmented by a dictionary. Other scripts without spaces, and Korean, whose words include particles, are split
into characters and overlapping pairs. All other words are stemmed by the Snowball stemmer of their script; Latin words
always by the English one, because a question is too short to identify its language.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from functools import cache, lru_cache
from itertools import chain, pairwise

import regex
import snowballstemmer  # type: ignore[import-untyped]

from purser.context.retrieval.chinese import chinese_terms
from purser.context.retrieval.stop_words import ENGLISH, stop_words, without_asking

_WORD = regex.compile(
    r"(?P<chinese>\p{Han}++)(?![\p{Hiragana}\p{Katakana}ー\p{Hangul}])"
    r"|(?P<pairs>[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+)"
    r"|(?!\p{M})(?:(?P<english>[\p{Latin}\p{N}\p{Mn}]+)|(?P<russian>[\p{Cyrillic}\p{Mn}]+)|(?P<greek>[\p{Greek}\p{Mn}]+)"
    r"|(?P<arabic>[\p{Arabic}\p{Mn}]+)|(?P<hindi>[\p{Devanagari}\p{M}]+)|(?P<plain>[\p{L}\p{M}]+))"
)
"""Each group is named after its treatment: segmentation, character pairs, a stemmer, or none. Han next to kana is
Japanese. No word begins with a mark: emoji have marks too, of which one that encloses a digit ends its word."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_RUN = re.compile(r"[^\W\d_]+|\d+")
"""Letters or digits, of a code such as `KL1693` one after the other."""
_LEAST_DIGITS = 2
"""Digits of a code from which its parts are searched for: `1` of `A1C` is in many texts."""
_NUMBER = re.compile(r"(?<!\d)\d++(?:[,.'’ /-]\d++)+")
"""Groups of digits that are also written as one number, such as 1,850 and 0171 5550-123."""
_LEAST_NUMBER = 7
"""Digits of a number from which others may write it in groups, as phone numbers are."""
_GROUPS = range(3, 8)
"""Digits of the first and of the last group of such a number."""
_LINKED = re.compile(r"(?<![^\W_])[^\W\d_]++(?:[-_][^\W\d_]++)+")
"""Words that are also written as one, such as e-mail and max_retries."""
_IDENTIFIER = re.compile(r"\b[A-Za-z]*[a-z][A-Z][A-Za-z]*\b|\b[A-Z]{2,}[a-z]+\b")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""One of those of an identifier such as `parseDuration` and `HTTPServer`."""
_LEAST_PART = 3
"""Letters of each part of an identifier: McDonald and iPhone are none."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_SPELLED_OUT = re.compile(r"(?<![aeiouq])([aou])e")
"""An umlaut without its dots: neither `e` of `queue` stands for one."""
_LEAST_SPELLED_OUT = 4
"""Characters of a term with a spelled-out umlaut: `due` is no `dü`."""
_LEAST_WORD, _LEAST_STEM = 5, 4
"""Characters of a word, and of its term, from which it is looked for in longer words: `rain` is no part of `train`."""

MOST_CHARACTERS = 64
"""Characters of a word that count: longer words are data, and the size of a database key is limited."""


def terms(text: str) -> list[str]:
    """Returns every occurrence of a term, in order."""
    if text.isascii():
        # The common case, several times as fast. Stop words become empty.
        return list(filter(None, map(_english, _ASCII_WORD.findall(text.lower()))))
    return [term for match in _WORD.finditer(unicodedata.normalize("NFKC", text).lower()) for term in _of(match)]


def question_terms(question: str) -> list[str]:
    """The terms of a question, without the stop words of its language, unless it has no others.

    Then those of other spellings, of which the index keeps the one that was written: `KL 1693` is also `KL1693`,
    `Küchenschrank` also `Kuechenschrank`, `e-mail` also `email`, and `parseDuration` also `parse_duration`. Of a
    long number also the digits with which it may begin and end, of which a message in groups has some: `07700 900 461`.
    """
    stop = {"", *map(_english, stop_words(question))}
    found = terms(without_asking(question)) or terms(question)
    asked = [term for term in found if term not in stop] or found
    written = unicodedata.normalize("NFKC", question)
    words = list(_RUN.finditer(written.lower()))
    others = chain(
        _codes(words, stop),
        _grouped(words),
        _with_umlauts(words, stop),
        map(_without_umlauts, dict.fromkeys(asked)),
        _as_one(written),
        _apart(written),
    )
    return asked + [term for term in dict.fromkeys(others) if term not in stop and term not in asked]


def long_words(question: str) -> set[str]:
    """The terms of words that may be parts of longer ones: `Decke` of `Häkeldecke`, `crash` of `CrashLoop`."""
    found: Iterable[str]
    if question.isascii():
        found = map(_english, {word for word in _ASCII_WORD.findall(question.lower()) if len(word) >= _LEAST_WORD})
    else:
        words = _WORD.finditer(unicodedata.normalize("NFKC", question).lower())
        spaced = (word for word in words if word.lastgroup not in ("chinese", "pairs"))
        found = chain.from_iterable(_of(word) for word in spaced if len(word.group()) >= _LEAST_WORD)
    return {term for term in found if len(term) >= _LEAST_STEM and term.isalpha()}


def _codes(words: Iterable[re.Match[str]], stop: Set[str]) -> Iterator[str]:
    """Letters and digits that stand together, as terms apart, and those with a space or hyphen between them, as one."""
    for one, other in pairwise(words):
        if one[0].isdigit() == other[0].isdigit() or not (code := one[0] + other[0]).isascii():
            continue
        gap = one.string[one.end() : other.start()]
        parts = (_english(one[0]), _english(other[0]))
        if not gap and sum(map(str.isdigit, code)) >= _LEAST_DIGITS:
            yield from parts
        elif gap in (" ", "-") and stop.isdisjoint(parts):
            yield _english(code)


def _grouped(words: Iterable[re.Match[str]]) -> Iterator[str]:
    """The digits with which long numbers may begin and end, where they are written in groups."""
    for number in (word[0] for word in words if word[0].isdigit() and len(word[0]) >= _LEAST_NUMBER):
        for size in _GROUPS[: len(number) - _GROUPS.start]:
            yield from (number[:size], number[-size:])


def _as_one(question: str) -> Iterator[str]:
    """The terms of numbers, and of linked words, without the signs between their parts."""
    yield from (re.sub(r"\D", "", number) for number in _NUMBER.findall(question))
    if "-" in question or "_" in question:  # looking for these takes far less time
        yield from (_english(re.sub(r"[-_]", "", linked.lower())) for linked in _LINKED.findall(question))


def _apart(question: str) -> Iterator[str]:
    """The terms of the parts of identifiers."""
    for identifier in _IDENTIFIER.findall(question):
        parts = _PART.findall(identifier)
        if min(map(len, parts)) >= _LEAST_PART:
            yield from (_english(part.lower()) for part in parts)


def _with_umlauts(words: Iterable[re.Match[str]], stop: Set[str]) -> Iterator[str]:
    """The terms of words with umlauts, with these spelled out."""
    for word in (word for word in words if not word[0].isascii()):
        if (spelled := word[0].translate(_UMLAUTS)) != word[0] and _english(word[0]) not in stop:
            yield _english(spelled)


def _without_umlauts(term: str) -> str:
    """A term whose spelled-out umlauts, if it has any, are vowels without dots, as those of all terms are."""
    return _SPELLED_OUT.sub(r"\1", term) if len(term) >= _LEAST_SPELLED_OUT else term


def _of(match: "regex.Match[str]") -> Iterable[str]:
    kind, word = str(match.lastgroup), match.group()
    if kind == "chinese":
        return chinese_terms(word)
    if kind == "pairs":
        return chain(word, map("".join, pairwise(word)))
    if kind == "english":
        return filter(None, (_english(word),))
    return (_stem(kind, word[:MOST_CHARACTERS]),)


@lru_cache(maxsize=1 << 16)
def _english(word: str) -> str:
    """The stem of a Latin word; empty for a stop word."""
    if word in ENGLISH:
        return ""
    # Users often omit accents when they type, and write "ss" for "ß".
    plain = unicodedata.normalize("NFKD", word[:MOST_CHARACTERS].casefold())
    return _stem("english", "".join(sign for sign in plain if not unicodedata.category(sign).startswith("M")))


@lru_cache(maxsize=1 << 16)
def _stem(kind: str, word: str) -> str:
    return word if kind == "plain" else str(_stemmer(kind).stemWord(word))


@cache
def _stemmer(language: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(language)
