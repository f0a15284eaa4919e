"""Responses of `/v1/budgets`."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from purser.budget.gate import Pressure
from purser.budget.policies import Mode, OnExpiry
from purser.budget.reports.forecast import Basis, Forecast
from purser.budget.windows import Window
from purser.gateway.http.views import View

IsoTime = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time that is already formatted as text."""


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
    """Grants above this many tokens need two people; `null`: never."""
    deadline_s: int
    on_expiry: OnExpiry


class ForecastView(View):
    """How fast a scope spends, and when its budget is exhausted at that rate. An estimate, not a promise."""

    tokens_per_hour: int | None
    """The higher of the rates of the last hour and the last day; `null` with `too_short`."""
    nano_usd_per_hour: int | None
    exhausts_at: datetime | None
    """`null` if there is no limit, nothing was spent within the last hour, or the window renews before."""
    basis: Basis
    """Period over which the rate was measured; `too_short`: less than a minute of history."""

    @classmethod
    def of(cls, forecast: Forecast) -> Self:
        return cls(**{name: getattr(forecast, name) for name in cls.model_fields})


class BudgetAnswer(View):
    """One scope's budget in its current window."""

    scope: str
    mode: Mode
    window: Window
    timezone: str
    window_start: IsoTime | None
    """`null` for a lifetime."""
    window_end: IsoTime | None
    limit_tokens: int | None
    """`null`: unlimited."""
    limit_nano_usd: int | None
    tokens: UnitView
    nano_usd: UnitView
    ratio: float | None
    """(spent + held) / (limit + granted), the larger of tokens and money; 0 if unlimited, `null` for limit 0."""
    pressure: Pressure
    frozen: bool
    warn_at: list[float]
    backpressure: list[tuple[float, int]]
    """Steps of ratio and delay in milliseconds."""
    approval: ApprovalRulesView
    sources: dict[str, str]
    """Source of each field of the policy: `stored`, `request`, a preset, `environment`, `file` or `default`."""


class ForecastBudgetAnswer(BudgetAnswer):
    """One scope's budget in its current window, with a forecast."""

    forecast: ForecastView
