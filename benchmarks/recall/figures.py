"""Recall figures of a search, and what they must reach."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Self

AT = (1, 5, 10, 25, 50)
OURS = "Purser"
GATED = (5, 10, 25)
LEAST = {5: 72.0, 10: 80.0, 25: 87.0}
"""Minimum percent of LoCoMo's evidence among the first k."""


@dataclass
class Figures:
    """Search results of a set of questions."""

    shares: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Share of each question's evidence among the first k, by k."""

    @property
    def questions(self) -> int:
        """Number of questions."""
        return len(self.shares[AT[0]])

    def add(self, found: Sequence[Any], evidence: Collection[Any]) -> None:
        """Adds one question with its results, best first."""
        for k in AT:
            among = len(set(evidence).intersection(found[:k]))
            self.shares[k].append(among / len(evidence) if evidence else 1.0)

    def recall(self, k: int) -> float:
        """Mean recall at k in percent."""
        return 100 * mean(self.shares[k])

    def results(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {f"R@{k}": round(self.recall(k), 1) for k in AT} | {"questions": self.questions}

    @classmethod
    def together(cls, some: Iterable["Figures"]) -> Self:
        """The figures of all questions."""
        whole = cls()
        for one in some:
            for k, shares in one.shares.items():
                whole.shares[k] += shares
        return whole


def shortfalls(sets: Mapping[str, Mapping[str, Figures]]) -> list[str]:
    """Where ours is below the best baseline by at least the weight of one question, or below `LEAST`."""
    found = []
    for name, by_search in sets.items():
        ours = by_search[OURS]
        for k in GATED:
            best, least = max((one.recall(k), search) for search, one in by_search.items() if search != OURS)
            if ours.recall(k) <= best - 100 / ours.questions:
                found.append(f"{name}: R@{k} is {ours.recall(k):.1f}, {least} reaches {best:.1f}")
    for k, at_least in LEAST.items():
        if (reached := sets["locomo"][OURS].recall(k)) < at_least:
            found.append(f"locomo: R@{k} is {reached:.1f}, it must be {at_least}")
    return found
