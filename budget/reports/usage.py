"""Usage reports: what was charged in a span of time, added up by what it was charged to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from purser.budget.decisions import Amount


class By(StrEnum):
    """What usage is added up by."""

    USER = "user"
    SESSION = "session"
    TASK = "task"
    AGENT = "agent"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What was charged to one user, session, task, agent or model.

    By scope it counts every hold that has the scope on its path: for an agent with sub-agents, theirs too. By model
    each hold counts once, so those lines add up to everything.
    """

    id: str
    """Of the scope; the model, or empty where nobody told it."""
    tokens: Mapping[str, int]
    """By class; `unsplit` are those that a report put into none. `reasoning` is part of `output`."""
    charged: Amount
    """All classes but `reasoning`, and what is presumed."""
    attempts: int
    """Requests that were charged, for nothing too."""
    unpriced_attempts: int
    """Of these, reports whose model has no price: they say nothing about money."""
    presumed_attempts: int
    """Of these, those that never reported. Less than 0 where more were taken back by late reports than came up."""
    presumed: Amount
    """What they were charged."""
    overrun: Amount
    """The part of the charges beyond what was held."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage from `since` up to, without, `until`: by the time of the charge."""

    by: By
    since: datetime
    until: datetime
    lines: tuple[UsageLine, ...]
    """In the order of their ids."""
    following: str | None
    """The id after which the report goes on; `None` at its end."""
