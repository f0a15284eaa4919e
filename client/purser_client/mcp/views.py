"""What the tools of the server return. Money is in nano-dollars: a dollar is 1,000,000,000."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict

from purser_client.types import BudgetAnswer, ForecastBudgetAnswer, HoldView, WholeApprovalView


class _View(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Left(_View):
    """What is left of the budget of one scope."""

    scope: str
    """With a period, such as `session:s1@day`: a further limit of the scope."""
    tokens: int | None
    """`null`: unlimited."""
    nano_usd: int | None
    """`null`: unlimited."""
    mode: str
    """What happens if a call does not fit: `hard` refuses it, `approval` asks a person, `soft` goes on."""
    pressure: str
    renews_at: datetime | None
    """When the limit counts anew; `null`: never, or bit by bit."""
    frozen: bool
    """Nothing is admitted at all."""

    @classmethod
    def of(cls, budget: BudgetAnswer) -> Self:
        """The view of a budget."""
        return cls(
            scope=budget.scope,
            tokens=budget.tokens.headroom,
            nano_usd=budget.nano_usd.headroom,
            mode=budget.mode.value,
            pressure=budget.pressure.value,
            renews_at=budget.window_end,
            frozen=budget.frozen,
        )


class Forecast(_View):
    """How fast one scope spends, and when its budget is used up at that rate. An estimate, not a promise."""

    scope: str
    """With a period: a further limit of the scope."""
    tokens_per_hour: int | None
    """`null`: too short a history."""
    nano_usd_per_hour: int | None
    used_up_at: datetime | None
    """`null`: not before the limit counts anew, or never."""

    @classmethod
    def of(cls, budget: ForecastBudgetAnswer) -> Self:
        """The view of a forecast."""
        forecast = budget.forecast
        return cls(
            scope=budget.scope,
            tokens_per_hour=forecast.tokens_per_hour,
            nano_usd_per_hour=forecast.nano_usd_per_hour,
            used_up_at=forecast.exhausts_at,
        )


class Approval(_View):
    """A request for more that a person decides."""

    approval_id: str
    scope: str
    state: str
    """`pending`, `approved`, `denied`, `expired` or `withdrawn`."""
    asked_tokens: int
    asked_nano_usd: int
    given_tokens: int
    given_nano_usd: int
    decisions_needed: int
    deadline: datetime

    @classmethod
    def of(cls, request: WholeApprovalView) -> Self:
        """The view of a request."""
        return cls(
            approval_id=request.approval_id,
            scope=request.scope,
            state=request.state.value,
            asked_tokens=request.asked.tokens,
            asked_nano_usd=request.asked.nano_usd,
            given_tokens=request.given.tokens,
            given_nano_usd=request.given.nano_usd,
            decisions_needed=request.decisions_needed,
            deadline=request.deadline,
        )


class Asked(_View):
    """What the gate says to a call of the size that was asked for."""

    verdict: str
    """`allow` or `warn`: it fits already. `ask`: a person decides `approval_id`. `wait`: open calls of others hold what
    is left, ask again later. `refuse`: it does not fit."""
    approval_id: str | None
    remedy: str
    """What would help."""

    @classmethod
    def of(cls, answer: HoldView) -> Self:
        """The view of a verdict."""
        return cls(verdict=str(answer.verdict), approval_id=answer.approval_id or None, remedy=answer.remedy)
