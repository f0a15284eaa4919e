"""A summary without a model: sentences of the conversation, in their own words."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from context.compression import CountText, Source

_LONGEST = 300
"""Characters of one sentence; longer ones, such as JSON, are cut into pieces."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|\n+")
_PIECE = re.compile(rf".{{1,{_LONGEST}}}(?:\s+|$)|.{{1,{_LONGEST}}}", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,:/-]\d+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|without|cannot)\b|n['’]t\b|[不没無无未別别勿]|않|없", re.IGNORECASE
)
_STEM = 6
_IDF_WEIGHT = 0.2


def extract(source: Source, most_tokens: int, count: CountText) -> str:
    """Sentences that say most for their length, in the order in which they were said and in their own words.

    A sentence is worth its numbers, names, negations and rare words, per token. Deterministic; empty where not even
    one sentence fits.

    Args:
        source: what to pick from; sentences of the last version compete with new ones.
        most_tokens: what the text may take.
        count: by the counter of the model that will read it.
    """
    sentences = list(dict.fromkeys(_sentences(source)))
    tokens = [count(sentence + "\n") for sentence in sentences]
    worths = _worths(sentences)
    order = sorted(range(len(sentences)), key=lambda index: (-worths[index] / tokens[index], index))
    picked: list[int] = []
    room = most_tokens
    for index in order:
        if tokens[index] <= room:
            picked.append(index)
            room -= tokens[index]
    while picked and count(text := "\n".join(sentences[index] for index in sorted(picked))) > most_tokens:
        picked.pop()
    return text if picked else ""


def _sentences(source: Source) -> Iterator[str]:
    yield from filter(None, source.summary.splitlines())
    for speaker, text in source.passages:
        for sentence in _SENTENCE_END.split(text):
            for piece in _PIECE.findall(sentence.strip()):
                yield f"{speaker}: {' '.join(piece.split())}"


def _worths(sentences: Sequence[str]) -> list[float]:
    words = [_WORD.findall(sentence.partition(": ")[2] or sentence) for sentence in sentences]
    stems = [_stems(sentence, found) for sentence, found in zip(sentences, words, strict=True)]
    spread = Counter(stem for found in stems for stem in found)
    rarity = {stem: math.log(len(sentences) / often) for stem, often in spread.items()}
    return [
        sum(word[0].isdigit() for word in found)
        + sum(word[0].isupper() for word in found[1:])
        + len(_NEGATION.findall(sentence))
        + _IDF_WEIGHT * sum(rarity[stem] for stem in sorted(distinct))
        for sentence, found, distinct in zip(sentences, words, stems, strict=True)
    ]


def _stems(sentence: str, words: Sequence[str]) -> set[str]:
    """Beginnings of words, and pairs of characters where a script has no spaces."""
    pairs = (run[at : at + 2] for run in _CJK.findall(sentence) for at in range(len(run)))
    return {*pairs, *(word.lower()[:_STEM] for word in words if not _CJK.match(word))}
