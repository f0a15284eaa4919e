"""Tokenization of text into index terms: lower case, without stop words, stemmed.

Scripts without spaces, and Korean, whose words include particles, are split into characters and overlapping pairs,
which needs no dictionary. All other words are stemmed by the Snowball stemmer of their script; Latin words always by
the English one, because a question is too short to identify its language.
"""

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

import regex
import snowballstemmer  # type: ignore[import-untyped]

_WORD = regex.compile(
    r"(?P<pairs>[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+)"
    r"|(?P<english>[\p{Latin}\p{N}\p{M}]+)|(?P<russian>[\p{Cyrillic}\p{M}]+)|(?P<greek>[\p{Greek}\p{M}]+)"
    r"|(?P<arabic>[\p{Arabic}\p{M}]+)|(?P<hindi>[\p{Devanagari}\p{M}]+)|(?P<plain>[\p{L}\p{M}]+)"
)
"""Each group is named after its treatment: character pairs, a stemmer, or none."""

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
_CHINESE = regex.compile(
    "为什么|什么|怎么|怎样|知道|哪些|哪个|哪里|多少|可以|一下|还是|有没有|我们|你们|他们|她们|这个|那个|这些|那些"
    "|[的了吗呢吧啊呀嘛么哦]"
)
"""Question and function words, at which text is split."""


MOST_CHARACTERS = 64
"""Characters of a word that count: longer words are data, and the size of a database key is limited."""


def terms(text: str) -> list[str]:
    """Returns every occurrence of a term, in order."""
    return [term for match in _WORD.finditer(unicodedata.normalize("NFKC", text).lower()) for term in _of(match)]


def _of(match: "regex.Match[str]") -> Iterator[str]:
    kind, word = str(match.lastgroup), match.group()
    if kind == "pairs":
        for run in filter(None, _CHINESE.split(word)):
            yield from run
            yield from (run[at : at + 2] for at in range(len(run) - 1))
    elif word not in _STOP_WORDS:
        yield _stem(kind, word[:MOST_CHARACTERS])


@lru_cache(maxsize=1 << 16)
def _stem(kind: str, word: str) -> str:
    if kind == "english":
        # Users often omit accents when they type.
        word = "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign))
    return word if kind == "plain" else str(_stemmer(kind).stemWord(word))


@cache
def _stemmer(language: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(language)
