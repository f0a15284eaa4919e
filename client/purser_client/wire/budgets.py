"""Bodies and answers of `/v1/budgets`."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from .base import Body, PageOf, View
from .enums import Basis, Mode, OnExpiry, Pressure
from .fields import Count


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
    """What is left of a calendar window is granted to the next, up to this share of the limit, for example 0.5; `0`:
    nothing."""
    ladder: list[Any] | None = None
    """Steps `{"ratio", "model"?, "output"?, "compression"?}` with which calls spend less before they ask, wait or are
    refused: models to choose a cheaper one from, a share of the output cap or output tokens, and a share of the context
    window."""


class UnitView(View):
    """Figures of a budget in one unit."""

    spent: int
    """All charges of the window."""
    held: int
    """Amount held by open holds."""
    granted: int
    """Extra limit from approvals."""
    overrun: int
    """The part of the charges that exceeds what was held."""
    headroom: int | None
    """limit + granted − spent − held; `null` if unlimited."""


class ApprovalRulesView(View):
    """Who may approve an overspend, and by when."""

    roles: list[str]
    not_submitter: bool
    """Bars the person who submitted the task from deciding."""
    two_people_above_tokens: int | None
    """Grants of one person above this many tokens, all that are in force in the window together, need a second one;
    `null`: never."""
    two_people_above_nano_usd: int | None
    """The same of money; `null`: never."""
    deadline_s: int
    on_expiry: OnExpiry
    remind_s: int | None
    """Seconds before the deadline at which a reminder is sent; `null`: none is."""
    escalate_s: int | None
    """Seconds before the deadline at which deputies may decide too; `null`: they never may."""


class LadderStepView(View):
    """A step of a ladder."""

    ratio: float
    """Lower bound, inclusive."""
    model: list[str]
    """Models to choose from, in order: the first that is cheaper than the one that the call has."""
    output: float | int | None
    """Below 1: share of the output cap; from 1 on: output tokens. `null`: not changed."""
    compression: float | None
    """Share of its context window that a call may fill; `null`: not changed."""


class ForecastView(View):
    """How fast a scope spends, and when its budget is exhausted at that rate. An estimate, not a promise."""

    tokens_per_hour: int | None
    """The higher of the rates of the last hour and the last day; `null` with `too_short`."""
    nano_usd_per_hour: int | None
    exhausts_at: datetime | None
    """`null` if there is no limit, nothing was spent within the last hour, or the window renews before."""
    basis: Basis
    """Period over which the rate was measured; `too_short`: less than a minute of history."""


class ShadowView(View):
    """Calls of the window that the policy would have held up while it only recorded, each counted once."""

    refuse: int
    ask: int
    """They would have waited for an approval."""
    wait: int
    """They would have waited for open holds."""
    delay: int
    """They would have been admitted after a delay."""


class BudgetAnswer(View):
    """One scope's budget in its current window."""

    scope: str
    mode: Mode
    window: str
    """`lifetime`, a calendar window (`hour`, `day`, `week`, `month`), or the length of a rolling one, such as `5h`."""
    timezone: str
    window_start: datetime | None
    """`null` for a lifetime and for a rolling window, which always ends now."""
    window_end: datetime | None
    limit_tokens: int | None
    """`null`: unlimited."""
    limit_nano_usd: int | None
    tokens: UnitView
    nano_usd: UnitView
    ratio: float | None
    """(spent + held) / (limit + granted), the larger of tokens and money; 0 if unlimited, `null` for limit 0."""
    pressure: Pressure
    frozen: bool
    shadow: bool
    """The policy only records what it would have done."""
    would: ShadowView
    rollover: float | None
    """What is left of a calendar window is granted to the next, up to this share of the limit."""
    warn_at: list[float]
    backpressure: list[tuple[float, int]]
    """Steps of ratio and delay in milliseconds."""
    approval: ApprovalRulesView
    learned_holds: float
    """Of an agent: quantile of its earlier replies that a hold covers at first; 0: the whole output cap."""
    last_answer: float
    """Share of the limit that only last calls may use."""
    ladder: list[LadderStepView]
    """Steps, ascending by ratio, with which calls spend less before they ask, wait or are refused."""
    sources: dict[str, str]
    """Source of each field: `stored`, `template PATTERN`, `request`, a preset, `environment`, `file` or `default`."""


class ForecastBudgetAnswer(BudgetAnswer):
    """One scope's budget in its current window, with a forecast."""

    forecast: ForecastView
    further_limits: list[BudgetAnswer]
    """Limits of this scope with a period of their own, such as `session:s1@day`. A call has to fit all of them."""


BudgetPage = PageOf[BudgetAnswer]
