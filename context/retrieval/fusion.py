"""One order from several."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

K = 60
"""How little the first ranks stand out. Usual since Cormack, Clarke and Büttcher, SIGIR 2009."""
Item = TypeVar("Item", bound=Hashable)


def fuse(*rankings: Sequence[Item]) -> dict[Item, float]:
    """Reciprocal rank fusion: scores compare although those of the rankings do not. Best first."""
    scores: defaultdict[Item, float] = defaultdict(float)
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] += 1 / (K + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
