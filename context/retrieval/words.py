"""Tokenization of text into index terms: lower case, without stop words, stemmed.

Chinese is segmented by a dictionary. Other scripts without spaces, and Korean, whose words include particles, are split
into characters and overlapping pairs. All other words are stemmed by the Snowball stemmer of their script; Latin words
always by the English one, because a question is too short to identify its language.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain, pairwise

import regex
import snowballstemmer  # type: ignore[import-untyped]

from purser.context.retrieval.chinese import chinese_terms
from purser.context.retrieval.stop_words import ENGLISH, stop_words

_WORD = regex.compile(
    r"(?P<chinese>\p{Han}++)(?![\p{Hiragana}\p{Katakana}ー\p{Hangul}])"
    r"|(?P<pairs>[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+)"
    r"|(?!\p{M})(?:(?P<english>[\p{Latin}\p{N}\p{Mn}]+)|(?P<russian>[\p{Cyrillic}\p{Mn}]+)|(?P<greek>[\p{Greek}\p{Mn}]+)"
    r"|(?P<arabic>[\p{Arabic}\p{Mn}]+)|(?P<hindi>[\p{Devanagari}\p{M}]+)|(?P<plain>[\p{L}\p{M}]+))"
)
"""Each group is named after its treatment: segmentation, character pairs, a stemmer, or none. Han next to kana is
Japanese. No word begins with a mark: emoji have marks too, of which one that encloses a digit ends its word."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")

MOST_CHARACTERS = 64
"""Characters of a word that count: longer words are data, and the size of a database key is limited."""


def terms(text: str) -> list[str]:
    """Returns every occurrence of a term, in order."""
    if text.isascii():
        # The common case, several times as fast. Stop words become empty.
        return list(filter(None, map(_english, _ASCII_WORD.findall(text.lower()))))
    return [term for match in _WORD.finditer(unicodedata.normalize("NFKC", text).lower()) for term in _of(match)]


def question_terms(question: str) -> list[str]:
    """The terms of a question, without the stop words of its language, unless it has no others."""
    found = terms(question)
    stop = {_english(word) for word in stop_words(question)}
    return [term for term in found if term not in stop] or found


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
