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

_LATIN = (ENGLISH, SPANISH, GERMAN, FRENCH)
_WORD = re.compile(r"[^\W\d_]+")
_HAN, _KANA, _HANGUL = re.compile(r"[\u3400-\u9fff]"), re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7af]")
_LONGEST = 400
"""Characters of a message that tell its language."""
_NEARLY = 0.6
"""Share of the most frequent language's words that another one needs."""

__all__ = ["Language", "languages_of"]


@lru_cache(4_096)
def _languages_of(text: str) -> tuple[Language, ...]:
    if _KANA.search(text):
        return (JAPANESE, ENGLISH)
    if _HANGUL.search(text):
        return (KOREAN, ENGLISH)
    if _HAN.search(text):
        return (CHINESE, ENGLISH)
    found = [word.lower() for word in _WORD.findall(text)]
    counts = {language: sum(word in language.markers for word in found) for language in _LATIN}
    most = max(counts.values())
    likely = [language for language in _LATIN if counts[language] >= _NEARLY * most]
    return tuple(sorted(likely, key=lambda language: -counts[language]))


def languages_of(text: str) -> tuple[Language, ...]:
    """The languages that a message may be in, by script and by frequent words, the likeliest first."""
    return _languages_of(text[:_LONGEST])
