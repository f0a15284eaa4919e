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

_WORD = regex.compile(
    r"(?P<chinese>\p{Han}++)(?![\p{Hiragana}\p{Katakana}ー\p{Hangul}])"
    r"|(?P<pairs>[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+)"
    r"|(?!\p{M})(?:(?P<english>[\p{Latin}\p{N}\p{Mn}]+)|(?P<russian>[\p{Cyrillic}\p{Mn}]+)|(?P<greek>[\p{Greek}\p{Mn}]+)"
    r"|(?P<arabic>[\p{Arabic}\p{Mn}]+)|(?P<hindi>[\p{Devanagari}\p{M}]+)|(?P<plain>[\p{L}\p{M}]+))"
)
"""Each group is named after its treatment: segmentation, character pairs, a stemmer, or none. Han next to kana is
Japanese. No word begins with a mark: emoji have marks too, of which one that encloses a digit ends its word."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")

_ENGLISH = """
    a about above after again against all am an and any are aren as at be because been before being below between both
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll m
    me more most mustn my myself no nor not now of off on once only or other ought our ours ourselves out over own re s
    same shan she should shouldn so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was wasn we were weren what when where which while who whom why will
    with won would wouldn you your yours yourself yourselves
"""
_STOP_WORDS = frozenset(_ENGLISH.split())

MOST_CHARACTERS = 64
"""Characters of a word that count: longer words are data, and the size of a database key is limited."""


def terms(text: str) -> list[str]:
    """Returns every occurrence of a term, in order."""
    if text.isascii():
        # The common case, several times as fast. Stop words become empty.
        return [term for word in _ASCII_WORD.findall(text.lower()) if (term := _english(word))]
    return [term for match in _WORD.finditer(unicodedata.normalize("NFKC", text).lower()) for term in _of(match)]


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
    if word in _STOP_WORDS:
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
