"""The language of a text: by its script where that tells, by a statistical model of character sequences where not.

Codes are ISO 639-1 (639-3 where there is none). The model comes with its package and is loaded at first use, which
takes about a second: call these functions off the event loop.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

_LONGEST = 2_000
"""Characters of a text that are looked at."""
_MOST_TEXTS = 40
"""Texts of a conversation that are looked at, spread over it."""
_LEAST_LETTERS, _LEAST_IDEOGRAPHS = 20, 4
"""Below which a text is too short to tell, in an alphabet and in a script whose characters are syllables or words."""
_SYLLABLE = 3
"""Letters of an alphabet that a character of such a script stands for."""
_KANA_SHARE = 0.1
"""Of Japanese, at least; the rest may be Han."""
_LIKELY, _POSSIBLE = 0.5, 0.05
"""Probabilities: a text is in another language if that is likely and the expected one is not even possible."""
_MAJORITY = 0.7
"""Of the letters of a conversation that are in its language."""
_NO_LANGUAGE = "zxx"
_NOT_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|(?<![!-~])[!-.0-;?A-Z^a-z~\[\]]*+[/<=>@_{|}\\#$][!-~]*+|(?<![A-Za-z0-9])[A-Za-z]*+\d[A-Za-z0-9]*+",
    re.DOTALL,
)
"""Code, addresses, names with signs in them, and numbers."""


def language_of(text: str) -> str | None:
    """The language of a text; `None` if it is too short to tell, or no prose."""
    prose = _prose(text)
    by_script = _by_script(prose)
    if by_script or sum(map(str.isalpha, prose)) < _LEAST_LETTERS:
        return by_script
    found, probability = _ranked(prose)[0]
    return found if probability > _LIKELY and found != _NO_LANGUAGE else None


def conversation_language(texts: Sequence[str]) -> str | None:
    """The language that most of a conversation is in; `None` if it is mixed, too short, or no prose."""
    votes: Counter[str | None] = Counter()
    for text in _spread(texts):
        votes[language_of(text)] += len(text)
    known = Counter({code: letters for code, letters in votes.items() if code is not None})
    return next((code for code, letters in known.items() if letters >= _MAJORITY * known.total()), None)


def is_other_language(text: str, expected: str) -> bool:
    """Whether a text is surely not in the expected language; close relatives and short texts pass."""
    found = language_of(text)
    if found is None or found == expected:
        return False
    if _by_script(_prose(text)) or expected in _BY_SCRIPT:
        return True
    return dict(_ranked(_prose(text))).get(expected, 0) < _POSSIBLE


_BY_SCRIPT = ("zh", "ja", "ko")
"""What the script alone tells."""


def _by_script(prose: str) -> str | None:
    letters = _scripts(prose)
    han, hangul = letters["CJK"], letters["HANGUL"]
    kana = letters["HIRAGANA"] + letters["KATAKANA"]
    syllables = han + kana + hangul
    if syllables < _LEAST_IDEOGRAPHS or syllables * _SYLLABLE < letters.total() - syllables:
        return None
    if hangul > han + kana:
        return "ko"
    return "ja" if kana >= _KANA_SHARE * (han + kana) else "zh"


def _scripts(prose: str) -> Counter[str]:
    """Letters by script: the first word of a letter's name, such as `LATIN` or `CJK`."""
    found: Counter[str] = Counter()
    for letter, often in Counter(filter(str.isalpha, prose)).items():
        found[unicodedata.name(letter, "?").partition(" ")[0]] += often
    return found


def _prose(text: str) -> str:
    """What is left without what looks alike in every language."""
    return _NOT_PROSE.sub(" ", text[:_LONGEST])


def _spread(texts: Sequence[str]) -> Iterable[str]:
    step = max(1, len(texts) // _MOST_TEXTS)
    return texts[::step][:_MOST_TEXTS]


def _ranked(prose: str) -> list[tuple[str, float]]:
    """Languages with their probabilities, the likeliest first."""
    ranked: list[tuple[str, float]] = _identifier().rank(prose)
    return ranked


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped] # has none

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
