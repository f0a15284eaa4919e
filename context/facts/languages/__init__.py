"""The languages whose statements and corrections the rules know; values such as `$300` are found in any."""

import re
from functools import lru_cache

from purser.context.facts.languages.chinese import CHINESE
from purser.context.facts.languages.english import ENGLISH
from purser.context.facts.languages.french import FRENCH
from purser.context.facts.languages.german import GERMAN
from purser.context.facts.languages.japanese import JAPANESE
from purser.context.facts.languages.korean import KOREAN
from purser.context.facts.languages.language import Language
from purser.context.facts.languages.spanish import SPANISH

_LATIN = {"en": ENGLISH, "es": SPANISH, "de": GERMAN, "fr": FRENCH}
_WORD = re.compile(r"[^\W\d_]+")
_HAN, _KANA, _HANGUL = re.compile(r"[\u3400-\u9fff]"), re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7af]")
_LONGEST = 400
"""Characters of a message that tell its language."""
_NEARLY = 0.6
"""Share of the most frequent language's words that another one needs."""
_LONGEST_SAMPLE, _LEAST_SHARE = 4_000, 0.2
"""Characters of a text that tell one language, and the least share of that language's frequent words among its words.
Texts in other languages that share words with it, such as Italian or Catalan, have fewer."""

__all__ = ["Language", "frequent_language", "languages_of"]


@lru_cache(4_096)
def _languages_of(text: str) -> tuple[Language, ...]:
    if _KANA.search(text):
        return (JAPANESE, ENGLISH)
    if _HANGUL.search(text):
        return (KOREAN, ENGLISH)
    if _HAN.search(text):
        return (CHINESE, ENGLISH)
    return tuple(_LATIN[code] for code, _ in _likely(text))


def _likely(text: str) -> list[tuple[str, float]]:
    """Languages in which a text may be, the likeliest first, with the share of their frequent words among its words."""
    found = [word.lower() for word in _WORD.findall(text)]
    shares = {
        code: sum(map(language.markers.__contains__, found)) / max(1, len(found)) for code, language in _LATIN.items()
    }
    most = max(shares.values())
    likely = [(code, share) for code, share in shares.items() if share >= _NEARLY * most]
    return sorted(likely, key=lambda one: -one[1])


def languages_of(text: str) -> tuple[Language, ...]:
    """The languages that a message may be in, by script and by frequent words, the likeliest first."""
    return _languages_of(text[:_LONGEST])


def frequent_language(text: str) -> str | None:
    """`en`, `es`, `de` or `fr` if the frequent words of a text tell that it is in this language and in no other."""
    (code, share), *others = _likely(text[:_LONGEST_SAMPLE])
    return code if share >= _LEAST_SHARE and not others else None
