"""Request bodies of `/v1/budgets`."""

from typing import Annotated, Any

from pydantic import Field

from purser.budget.policies.fields import Mode
from purser.wire.base import Body
from purser.wire.fields import Count


class BudgetBody(Body):
    """Fields of a policy to store. A field that is left out stays unchanged; `null` resets it to the default."""

    limit_tokens: Count | None = None
    limit_nano_usd: Count | None = None
    mode: Annotated[Mode, Field(strict=False)] | None = None
    window: str | None = None
    """`lifetime`, a calendar window (`hour`, `day`, `week`, `month`), or the length of a rolling one, from `1h` to
    `31d`."""
    timezone: str | None = None
    """IANA name."""
    warn_at: list[Any] | None = None
    """Ratios, for example `[0.8, 0.95]`."""
    backpressure: list[Any] | None = None
    """Steps `[ratio, delay_ms]`."""
    approval: dict[str, Any] | None = None
    """`roles`, `not_submitter`, `two_people_above_tokens`, `two_people_above_nano_usd`, `deadline_s`, `on_expiry`,
    `remind_s`, `escalate_s`:
    stored as a whole."""
    frozen: bool | None = None
    """A frozen scope admits nothing."""
    shadow: bool | None = None
    """The policy only records what it would have done: it never refuses, asks, waits or delays."""
    learned_holds: int | float | str | None = None
    """Of an agent: quantile of its earlier replies that a hold covers at first, for example `0.9`; `0`: the whole
    output cap."""
    last_answer: float | str | None = None
    """Share of the limit, from 0 to 0.9, that only last calls may use; for tasks and agents."""
    rollover: float | str | None = None
    """What is left of a calendar window is granted to the next, up to this share of the limit, for example 0.5."""
    ladder: list[Any] | None = None
    """Steps `{"ratio", "model"?, "output"?, "compression"?}` with which calls spend less before they ask, wait or are
    refused: models to choose a cheaper one from, a share of the output cap or output tokens, and a share of the context
    window."""
