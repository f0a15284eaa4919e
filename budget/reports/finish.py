"""What a task may still spend until it ends: a range, from the turns that its agents have taken."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from purser.budget.gate import Amount


@dataclass(frozen=True, slots=True)
class AgentProgress:
    """The turns of one agent of a task."""

    ended: bool
    turns_left: int
    """Most turns that it may still take."""
    charged: tuple[Amount, ...]
    """What each of its turns has cost, those with a reply only."""


@dataclass(frozen=True, slots=True)
class Finish:
    """A range of what is still to be spent. An estimate, not a promise."""

    low: Amount
    """If every agent that has not ended takes one more turn, as cheap as its cheapest so far."""
    high: Amount
    """If each takes all turns that it has left, as expensive as its most expensive so far."""
    turns: int
    """Number of turns that the range is measured on."""

    def to_json(self) -> dict[str, Any]:
        """The JSON field `finish` of an approval."""
        return {"low": self.low.to_json(), "high": self.high.to_json(), "turns": self.turns}


def finish(agents: Sequence[AgentProgress]) -> Finish | None:
    """The range for the agents of the tasks that wait; `None`: no turn has a reply yet, so it is unknown.

    An agent without turns of its own is measured by the turns of all others.
    """
    every = [turn for agent in agents for turn in agent.charged]
    if not every:
        return None
    low = high = Amount()
    for agent in agents:
        if agent.ended:
            continue
        known = agent.charged or every
        low += _extreme(known, min)
        most, left = _extreme(known, max), max(1, agent.turns_left)
        high += Amount(most.tokens * left, most.nano_usd * left)
    return Finish(low, high, len(every))


def _extreme(turns: Sequence[Amount], choose: Callable[[Iterable[int]], int]) -> Amount:
    return Amount(choose(turn.tokens for turn in turns), choose(turn.nano_usd for turn in turns))
