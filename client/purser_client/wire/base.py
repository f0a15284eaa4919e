"""Base classes of bodies and answers, and amounts."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from .storable import is_storable


class Body(BaseModel):
    """Base class of request bodies. They are strict: no field is guessed, converted or ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        # Postgres stores neither, and would fail only in the middle of a transaction.
        if not is_storable(value):
            raise ValueError("text must not contain NUL or half of a surrogate pair")
        return value


class View(BaseModel):
    """Base class of answers. Fields that a newer gateway adds are ignored."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, from_attributes=True, populate_by_name=True, use_attribute_docstrings=True
    )


class AmountView(View):
    """Tokens and money."""

    tokens: int | None
    nano_usd: int | None


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
