"""A summary without a model: sentences of the conversation, in their own words."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from context.compression import CountText, Source
from context.wording import negations, sentences, stems, words

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
    texts = list(dict.fromkeys(_sentences(source)))
    tokens = [count(line + "\n") for line in texts]
    worths = _worths(texts)
    order = sorted(range(len(texts)), key=lambda index: (-worths[index] / tokens[index], index))
    picked: list[int] = []
    room = most_tokens
    for index in order:
        if tokens[index] <= room:
            picked.append(index)
            room -= tokens[index]
    while picked and count(text := "\n".join(texts[index] for index in sorted(picked))) > most_tokens:
        picked.pop()
    return text if picked else ""


def _sentences(source: Source) -> Iterator[str]:
    yield from filter(None, source.summary.splitlines())
    for speaker, text in source.passages:
        for sentence in sentences(text):
            yield f"{speaker}: {sentence}"


def _worths(texts: Sequence[str]) -> list[float]:
    found = [words(text.partition(": ")[2] or text) for text in texts]
    distinct = [stems(text, told) for text, told in zip(texts, found, strict=True)]
    spread = Counter(stem for told in distinct for stem in told)
    rarity = {stem: math.log(len(texts) / often) for stem, often in spread.items()}
    return [
        sum(word[0].isdigit() for word in told)
        + sum(word[0].isupper() for word in told[1:])
        + negations(text)
        + _IDF_WEIGHT * sum(rarity[stem] for stem in sorted(rare))
        for text, told, rare in zip(texts, found, distinct, strict=True)
    ]
