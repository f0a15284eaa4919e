"""Usage reports: charges in a time range, summed by scope, tag, model, tool or day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from purser.budget.gate import Amount
from purser.wire.enums import By as By


@dataclass(frozen=True, slots=True)
class UsageLine:
    """Charges of one tenant, user, session, task, agent, tag, model, tool or day.

    By scope, every hold with the scope on its path counts: for an agent with sub-agents, theirs too. By model, by
    tool and by day, each hold counts once, so the lines add up to the total; by tag once for each of its tags.
    """

    id: str
    """Id of the scope, the tag as `name=value`, the model or the tool (empty if none was named), or the day as
    `YYYY-MM-DD`."""
    tokens: Mapping[str, int]
    """Tokens by class; `unsplit` are those that a report assigned to no class. `reasoning` is part of `output`."""
    charged: Amount
    """Sum of all classes except `reasoning`, plus presumed charges."""
    attempts: int
    """Number of attempts that were charged, even if the charge is 0."""
    unpriced_attempts: int
    """Of these, the number whose model has no price: their cost is unknown."""
    presumed_attempts: int
    """Of these, the number that never reported. Negative if late reports replaced more than were presumed."""
    presumed: Amount
    """Charges of presumed attempts."""
    overrun: Amount
    """The part of the charges that exceeds what was held."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage charged from `since` (inclusive) to `until` (exclusive)."""

    by: By
    since: datetime
    until: datetime
    lines: tuple[UsageLine, ...]
    """Ordered by id."""
    following: str | None
    """The id after which the next page begins; `None` at the end of the report."""
