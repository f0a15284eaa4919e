"""Base class of responses, and amounts."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict

from purser.budget.gate import Amount


class View(BaseModel):
    """Base class of responses."""

    model_config = ConfigDict(frozen=True, from_attributes=True, use_attribute_docstrings=True)


class AmountView(View):
    """Tokens and money."""

    tokens: int | None
    nano_usd: int | None

    @classmethod
    def of(cls, amount: Amount) -> Self:
        return cls(tokens=amount.tokens, nano_usd=amount.nano_usd)


class RefusalView(View):
    """Why a scope did not admit a call, with the figures before the ask."""

    scope: str
    reason: str
    """`limit`, `frozen`, `unknown_price`, `approval`, `denied` or `expired`."""
    limit: AmountView
    """Limit without grants; `null` if unlimited."""
    granted: AmountView
    spent: AmountView
    held: AmountView
    asked: AmountView
    period_end: datetime | None
    """When the budget renews by itself; `null`: never."""
    text: str
    """The figures in one sentence."""
    remedy: str
    """What can be done, in one sentence."""
