"""Recall figures of a search, and what they must reach."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import mean
from typing import Any, Self

AT = (1, 5, 10, 25, 50)
OURS = "Purser"
LEAST = {5: 72.0, 10: 80.0, 25: 87.0}
"""Minimum percent of LoCoMo's evidence among the first k."""
REQUIRED = "the required recall"
_ROUNDING = 1e-6


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


class Verdict(StrEnum):
    """How a recall compares with what it must reach."""

    REACHED = "reached"
    CLOSE = "below by less than a question"
    """Chance: another wording of one question can change it."""
    MISSED = "missed"


@dataclass(frozen=True)
class Comparison:
    """Our recall in one set at one k, beside what it must reach. Recalls are in percent."""

    set_name: str
    k: int
    ours: float
    least: float
    of: str
    """The best baseline, or `REQUIRED`."""
    questions: int
    """Number of questions of the set."""

    @property
    def ahead(self) -> float:
        """By how many questions ours is better; negative if it is worse."""
        return (self.ours - self.least) * self.questions / 100

    @property
    def verdict(self) -> Verdict:
        """Whether the recall is reached. What is required leaves no room for chance."""
        # Recalls are means, so equal ones can differ in their last digits.
        if self.ahead > -_ROUNDING:
            return Verdict.REACHED
        return Verdict.CLOSE if self.ahead > _ROUNDING - 1 and self.of != REQUIRED else Verdict.MISSED

    def __str__(self) -> str:
        return f"{self.set_name}: R@{self.k} is {self.ours:.1f}, {self.of} is {self.least:.1f}"


def comparisons(sets: Mapping[str, Mapping[str, Figures]]) -> list[Comparison]:
    """Ours beside the best baseline, in each set at each k, and beside `LEAST`."""
    found = []
    for name, by_search in sets.items():
        ours = by_search[OURS]
        for k in AT:
            best, search = max((one.recall(k), search) for search, one in by_search.items() if search != OURS)
            found.append(Comparison(name, k, ours.recall(k), best, search, ours.questions))
    ours = sets["locomo"][OURS]
    required = [Comparison("locomo", k, ours.recall(k), least, REQUIRED, ours.questions) for k, least in LEAST.items()]
    return found + required
