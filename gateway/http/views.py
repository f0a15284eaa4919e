"""Base class of responses, and amounts."""

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
