"""Request bodies of `/v1/holds`."""

from typing import Annotated, Any

from pydantic import Field

from purser.budget.holds import MAX_CALL_TOKENS, MAX_KEY
from purser.budget.scopes import MAX_PATH
from purser.gateway.http.schemas import Attempt, CallMoney, CallTokens, Lease, Name, Request


class HoldRequestBody(Request):
    """An ask for tokens and money on every scope of a path."""

    key: Annotated[Name, Field(max_length=MAX_KEY)]
    """Names the call. The same key with the same payload gets the same hold."""
    path: Annotated[list[str], Field(min_length=1, max_length=MAX_PATH + 2)]
    """Scopes, outermost first: `tenant`, `user`, `session`, `task`, `agent`. The tenant joins on its own, and so does
    the user of the session unless the path names one."""
    tokens: CallTokens
    """What the call may use: input + output."""
    nano_usd: CallMoney | None = None
    """What it may cost; from the price of `model` if left out."""
    model: Name | None = None
    min_tokens: CallTokens | None = None
    """The smallest hold that still makes sense; without it, all or nothing."""
    lease_ms: Lease | None = None


class AttemptBody(Request):
    """The next request to a provider under a hold."""

    attempt: Attempt


class SettleBody(Request):
    """What an attempt used."""

    attempt: Attempt
    usage: dict[str, Any]
    """The provider's usage block as it came, the fields of `Usage`, or `{"total": n}`."""
    nano_usd: CallMoney | None = None
    """What it cost; from the price of the hold's model if left out."""


class ExtendBody(Request):
    """More time, and through the gate more tokens and money."""

    tokens: Annotated[int, Field(ge=0, le=MAX_CALL_TOKENS)] = 0
    nano_usd: CallMoney | None = None
    lease_ms: Lease | None = None
