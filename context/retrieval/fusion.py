"""Rank fusion: merges several rankings into one."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

K = 60
"""Smoothing constant: the higher, the less the first ranks dominate. From Cormack, Clarke and Büttcher, SIGIR 2009."""
Item = TypeVar("Item", bound=Hashable)


def fuse(*rankings: Sequence[Item]) -> dict[Item, float]:
    """Merges rankings by reciprocal rank fusion, which needs no comparable scores. Best first."""
    scores: defaultdict[Item, float] = defaultdict(float)
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] += 1 / (K + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
