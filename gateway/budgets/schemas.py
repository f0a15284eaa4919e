"""Request bodies of `/v1/budgets`."""

from typing import Annotated, Any

from pydantic import Field

from purser.budget.policies import Mode
from purser.budget.windows import Window
from purser.gateway.http.schemas import Count, Request


class BudgetBody(Request):
    """Fields of a policy to store. A field that is left out stays unchanged; `null` resets it to the default."""

    limit_tokens: Count | None = None
    limit_nano_usd: Count | None = None
    mode: Annotated[Mode, Field(strict=False)] | None = None
    window: Annotated[Window, Field(strict=False)] | None = None
    timezone: str | None = None
    """IANA name."""
    warn_at: list[Any] | None = None
    """Ratios, for example `[0.8, 0.95]`."""
    backpressure: list[Any] | None = None
    """Steps `[ratio, delay_ms]`."""
    approval: dict[str, Any] | None = None
    """`roles`, `not_submitter`, `two_people_above_tokens`, `deadline_s`, `on_expiry`: stored as a whole."""
    frozen: bool | None = None
    """A frozen scope admits nothing."""
