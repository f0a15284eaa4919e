"""Language identification: by script where that suffices, otherwise by a statistical model of character sequences.

Codes are ISO 639-1 (639-3 where there is none). The model ships with its package and is loaded at first use, which
takes about a second: call these functions off the event loop.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

_LONGEST = 2_000
"""Characters of a text that are examined."""
_MOST_TEXTS = 40
"""Texts of a conversation that are examined, spread evenly."""
_LEAST_LETTERS, _LEAST_IDEOGRAPHS = 20, 4
"""Minimum length of an identifiable text, in an alphabet and in a script of syllables or words."""
_SYLLABLE = 3
"""Letters of an alphabet to which one character of such a script is equivalent."""
_KANA_SHARE = 0.1
"""Minimum share of kana in Japanese; the rest may be Han."""
_LIKELY, _POSSIBLE = 0.5, 0.05
"""Probabilities: a text is in another language if that one is likely and the expected one is not possible."""
_MAJORITY = 0.7
"""Minimum share of a conversation's letters in its language."""
_NO_LANGUAGE = "zxx"
_NOT_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|(?<![!-~])[!-.0-;?A-Z^a-z~\[\]]*+[/<=>@_{|}\\#$][!-~]*+|(?<![A-Za-z0-9])[A-Za-z]*+\d[A-Za-z0-9]*+",
    re.DOTALL,
)
"""Code, addresses, names with signs in them, and numbers."""


def language_of(text: str) -> str | None:
    """Identifies the language of a text; `None` if it is too short or not prose."""
    prose = _prose(text)
    by_script = _by_script(prose)
    if by_script or sum(map(str.isalpha, prose)) < _LEAST_LETTERS:
        return by_script
    found, probability = _ranked(prose)[0]
    return found if probability > _LIKELY and found != _NO_LANGUAGE else None


def conversation_language(texts: Sequence[str]) -> str | None:
    """Identifies the language of most of a conversation; `None` if it is mixed, too short or not prose."""
    votes: Counter[str | None] = Counter()
    for text in _spread(texts):
        votes[language_of(text)] += len(text)
    known = Counter({code: letters for code, letters in votes.items() if code is not None})
    return next((code for code, letters in known.items() if letters >= _MAJORITY * known.total()), None)


def script_language(text: str) -> str | None:
    """`zh`, `ja` or `ko` if the script of a text is that of one; it needs no model and takes microseconds."""
    return _by_script(_prose(text))


def is_other_language(text: str, expected: str) -> bool:
    """Whether a text is certainly not in the expected language; related languages and short texts pass."""
    found = language_of(text)
    if found is None or found == expected:
        return False
    if _by_script(_prose(text)) or expected in _BY_SCRIPT:
        return True
    return dict(_ranked(_prose(text))).get(expected, 0) < _POSSIBLE


_BY_SCRIPT = ("zh", "ja", "ko")
"""Languages that the script alone identifies."""


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
    """Removes what looks the same in every language."""
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
