"""The figures of a replay, in total, by scope and by step of a ladder, and what they cannot tell."""

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from purser.budget.gate import NOTHING, Amount

NOT_KNOWN = (
    "whether a call that is stopped would have been repeated, and which others it would have ended",
    "whether a person would have approved",
    "calls that were refused at the time",
)
"""What no replay can tell."""
NOT_KNOWN_OF_LADDERS = (
    "what a cheaper model would have answered, and with how many tokens: those of the model that was called count",
    "whether a shorter reply or a smaller window would have led to other calls; what a smaller window saves",
    "whether a cheaper model could have been reached, and whether callers of POST /v1/holds would have taken a step",
)
"""What a replay with a ladder cannot tell besides."""


@dataclass
class StepLine:
    """What one step of a ladder did."""

    calls: int = 0
    """Calls that took it."""
    unknown: int = 0
    """Further calls that reached it, of which the ledger does not tell what they would have asked for instead."""
    saved: Amount = NOTHING
    """What the calls that took it were charged less."""

    def to_json(self) -> dict[str, Any]:
        """The figures in the response of `POST /v1/policies/replay`."""
        return {
            "calls": self.calls,
            "unknown": self.unknown,
            "saved_tokens": self.saved.tokens,
            "saved_nano_usd": self.saved.nano_usd,
        }


@dataclass
class Line:
    """What the replayed policies did on one scope, or on all."""

    refused: int = 0
    asked: int = 0
    waited: int = 0
    delayed: int = 0
    delay_ms: int = 0
    """Total of the delays."""
    saved: Amount = NOTHING
    """What the calls that were refused or asked had been charged."""
    stopped: set[str] = field(default_factory=set)
    """Tasks with a call that was refused or asked."""
    eased: int = 0
    """Calls that took a step of a ladder."""
    eased_by: Amount = NOTHING
    """What they were charged less."""
    steps: defaultdict[tuple[int, Decimal], StepLine] = field(default_factory=lambda: defaultdict(StepLine))
    """The steps of the ladder of one scope, by number and ratio."""

    @property
    def less(self) -> Amount:
        """What was charged less, in all."""
        return self.saved + self.eased_by

    def to_json(self) -> dict[str, Any]:
        """The figures in the response of `POST /v1/policies/replay`."""
        return {
            "refused": self.refused,
            "asked": self.asked,
            "waited": self.waited,
            "tasks_stopped": len(self.stopped),
            "delayed": self.delayed,
            "delay_ms": self.delay_ms,
            "saved_tokens": self.saved.tokens,
            "saved_nano_usd": self.saved.nano_usd,
            "eased": self.eased,
            "eased_tokens": self.eased_by.tokens,
            "eased_nano_usd": self.eased_by.nano_usd,
        }

    def ladder_json(self) -> list[dict[str, Any]]:
        """The figures of its steps, in their order."""
        return [
            {"step": number, "ratio": float(ratio)} | line.to_json()
            for (number, ratio), line in sorted(self.steps.items())
        ]
