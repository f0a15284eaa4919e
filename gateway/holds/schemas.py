"""Request bodies of `/v1/holds`."""

from typing import Annotated, Any

from pydantic import Field

from purser.budget.holds import MAX_CALL_TOKENS, MAX_KEY
from purser.budget.scopes import MAX_PATH
from purser.gateway.http.schemas import Attempt, CallMoney, CallTokens, Lease, Name, Request, Tags

MAX_BATCH = 100
"""Most holds of one request."""


class HoldRequestBody(Request):
    """An ask for tokens and money on every scope of a path."""

    key: Annotated[Name, Field(max_length=MAX_KEY)]
    """Identifies the call. The same key with the same payload gets the same hold."""
    path: Annotated[list[str], Field(min_length=1, max_length=MAX_PATH + 2)]
    """Scopes, outermost first: `tenant`, `user`, `session`, `task`, `agent`. The tenant is added automatically, and so
    is the user of the session unless the path names one."""
    tokens: CallTokens
    """The most that the call may use: input + output."""
    nano_usd: CallMoney | None = None
    """The most that it may cost; computed from the price of `model` if left out."""
    model: Name | None = None
    min_tokens: CallTokens | None = None
    """The smallest hold that still makes sense; if left out, all or nothing."""
    lease_ms: Lease | None = None
    tags: Tags = Field(default_factory=dict)
    """Tags of the call, for example `{"team": "search"}`, in addition to those of the key. The call draws on the budget
    `tag:team=search` if it has one."""
    start: bool = False
    """Whether an admitted hold starts attempt 1 at once, as `POST /v1/holds/{hold_id}/attempts` does. Other verdicts
    start nothing. The key is not bound to this."""


class HoldBatchBody(Request):
    """Several asks."""

    holds: Annotated[list[HoldRequestBody], Field(min_length=1, max_length=MAX_BATCH)]
    """Each as in `POST /v1/holds`, under a key of its own."""


class AttemptBody(Request):
    """The next request to a provider under a hold."""

    attempt: Attempt


class SettleBody(Request):
    """The usage of an attempt."""

    attempt: Attempt
    usage: dict[str, Any]
    """The provider's usage block unchanged, the fields of `Usage`, or `{"total": n}`."""
    nano_usd: CallMoney | None = None
    """Its cost; computed from the price of the hold's model if left out."""


class ExtendBody(Request):
    """A longer lease and, through the gate, more tokens and money."""

    tokens: Annotated[int, Field(ge=0, le=MAX_CALL_TOKENS)] = 0
    nano_usd: CallMoney | None = None
    lease_ms: Lease | None = None
