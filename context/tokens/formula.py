"""Token estimate without a tokenizer, by script, word length and language. Error about 4 % per conversation.

Pure Python without files, so it is available at once in any process, before a tokenizer is loaded.
"""

import re
from collections import Counter

from purser.context.tokens.weights import (
    CODE_POINTS,
    ENGLISH,
    ENGLISH_SHARE,
    FEATURES,
    RANGES,
    TRADITIONAL,
    TRADITIONAL_SHARE,
    VOCABULARIES,
)

# A text is mapped to one class letter per code point, so that counts and runs are fast to find.
_CODES = {"latin": "l", "latinx": "x", "digit": "d", "punct": "p", "space": "s", "nl": "n"}
_CODES |= {name: chr(ord("A") + place) for place, name in enumerate(sorted(CODE_POINTS.keys() - _CODES.keys()))}

_WORDS = re.compile("[lx]+")
_NUMBERS = re.compile("d+")
_MARKS = re.compile("p+")
_NEWLINES = re.compile("n+")
_GAPS = re.compile("ss+")
_CAPITALS = re.compile("[A-Z](?=[A-Z])")
_ENGLISH_WORD = re.compile("[a-z']+")
_BY_LENGTH = ("",) + ("w1_3",) * 3 + ("w4_6",) * 3 + ("w7_9",) * 3 + ("w10_13",) * 4
"""The feature of a word at its length; longer ones count by letter."""


def _code_table() -> str:
    """A translation table for `str.translate`: the class letter of each code point at its index."""
    table = bytearray(_CODES["other"].encode()) * 0x110000
    for first, last, name in RANGES:
        table[first : last + 1] = _CODES[name].encode() * (last - first + 1)
    return table.decode("ascii")


_TABLE = _code_table()


def estimate(text: str, vocabulary: str) -> int:
    """Estimates the tokens of a text in `vocabulary`; never more than its UTF-8 bytes, which bound every count."""
    if not text:
        return 0
    column = VOCABULARIES.index(vocabulary)
    codes = text.translate(_TABLE)
    tokens = sum(amount * FEATURES[name][column] for name, amount in _features(text, codes).items())
    if not text.isascii():
        tokens += sum(amount * CODE_POINTS[name][column] for name, amount in _scripts(text, codes).items())
    return max(1, min(round(tokens), len(text.encode("utf-8", "surrogatepass"))))


def _features(text: str, codes: str) -> dict[str, int]:
    """Amount of each feature in the text."""
    features: dict[str, int] = {}
    language = "en_" if _is_english(text) else ""
    for length, words in Counter(map(len, _WORDS.findall(codes))).items():
        if length < len(_BY_LENGTH):
            name, amount = language + _BY_LENGTH[length], words
        else:
            name, amount = language + "w14p_chars", words * length
        features[name] = features.get(name, 0) + amount
    features[language + "upper_words"] = len(_CAPITALS.findall(text))
    # Most texts lack some of these classes, and a look for one letter is faster than for a run.
    if "d" in codes:
        features["digit3"] = sum([(len(number) + 2) // 3 for number in _NUMBERS.findall(codes)])
    if "p" in codes:
        features["punct_runs"] = len(_MARKS.findall(codes))
        features["punct_extra"] = codes.count("p") - features["punct_runs"]
    if "n" in codes:
        features["nl_runs"] = len(_NEWLINES.findall(codes))
    if "ss" in codes:
        features["space_runs2"] = len(_GAPS.findall(codes))
    return features


def _scripts(text: str, codes: str) -> dict[str, int]:
    """Number of code points of each class in the text."""
    found = {name: codes.count(code) for name, code in _CODES.items() if name in CODE_POINTS}
    if found["han"] and sum(map(TRADITIONAL.__contains__, text)) / found["han"] >= TRADITIONAL_SHARE:
        found["han_traditional"] = found.pop("han")
    return found


def _is_english(text: str) -> bool:
    words = _ENGLISH_WORD.findall(text[:4000].lower())
    if len(words) < 4:
        return text.isascii()
    return sum(word in ENGLISH for word in words) / len(words) >= ENGLISH_SHARE
