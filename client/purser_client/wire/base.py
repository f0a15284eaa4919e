"""Base classes of bodies and answers, pages, and amounts."""

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .fields import storable

Item = TypeVar("Item")
DESCRIBED = __name__.startswith("purser.")
"""Whether fields have descriptions, which are their docstrings. Only the gateway shows them, in its OpenAPI document; a
client would take a quarter longer to import if it read them."""


class Body(BaseModel):
    """Base class of request bodies. They are strict: no field is guessed, converted or ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=DESCRIBED)

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return storable(value)


class View(BaseModel):
    """Base class of answers. Fields that a newer gateway adds are ignored, and errors repeat no text of a session."""

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        from_attributes=True,
        hide_input_in_errors=True,
        populate_by_name=True,
        use_attribute_docstrings=DESCRIBED,
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
    reserve: AmountView = AmountView(tokens=0, nano_usd=0)
    """The part of the limit that the ask has to leave to last calls."""
    asked: AmountView
    period_end: datetime | None
    """When the budget renews by itself; `null`: never."""
    text: str
    """The figures in one sentence."""
    remedy: str
    """What can be done, in one sentence."""


class PageOf(View, Generic[Item]):
    """A page of a list."""

    # pydantic would search all frames for the source of every `PageOf[…]`, which has none: a second each with pytest.
    model_config = ConfigDict(use_attribute_docstrings=False)

    items: list[Item]
    cursor: str | None = Field(description="Pass it as `cursor` for the next page; `null` at the end.")
