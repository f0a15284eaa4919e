"""Bodies and answers of `/v1/holds`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from .base import AmountView, Body, RefusalView, View
from .budgets import LadderStepView
from .enums import HoldState, Mode
from .fields import Attempt, CallMoney, CallTokens, Lease, Name, Tags
from .limits import MAX_BATCH, MAX_CALL_TOKENS, MAX_KEY, MAX_PATH
from .problems import Problem


class HoldRequestBody(Body):
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


class HoldBatchBody(Body):
    """Several asks."""

    holds: Annotated[list[HoldRequestBody], Field(min_length=1, max_length=MAX_BATCH)]
    """Each as in `POST /v1/holds`, under a key of its own."""


class WithdrawBody(Body):
    """The end of a wait for an approval."""

    key: Annotated[Name, Field(max_length=MAX_KEY)]
    """Of the asks that wait."""


class AttemptBody(Body):
    """The next request to a provider under a hold."""

    attempt: Attempt


class SettleBody(Body):
    """The usage of an attempt."""

    attempt: Attempt
    usage: dict[str, Any]
    """The provider's usage block unchanged, the fields of `Usage`, or `{"total": n}`."""
    nano_usd: CallMoney | None = None
    """Its cost; computed from the price of the hold's model if left out."""


class ExtendBody(Body):
    """A longer lease and, through the gate, more tokens and money."""

    tokens: Annotated[int, Field(ge=0, le=MAX_CALL_TOKENS)] = 0
    nano_usd: CallMoney | None = None
    lease_ms: Lease | None = None


class WouldView(View):
    """What a policy that only records would have done with the call."""

    verdict: str
    reason: str
    delay_ms: int


class ScopeVerdict(View):
    """The verdict of one scope of the path."""

    scope: str
    verdict: str
    ratio: float | None
    mode: Mode
    limit: AmountView
    """Limit without grants; `null` if unlimited. This and the next four are the figures before the ask."""
    granted: AmountView
    spent: AmountView
    held: AmountView
    headroom: AmountView
    """limit + granted − spent − held; `null` if unlimited."""
    window_start: datetime | None
    reason: str
    would: WouldView | None = None
    """Set where the policy only records."""


class ReachedView(LadderStepView):
    """The step of a ladder that an ask reaches: its fields, and those of the steps below that it leaves open."""

    scope: str
    step: int
    """Its number, from 1."""


class HoldView(View):
    """A verdict, and the hold if it admits."""

    verdict: str
    hold_id: str | None
    attempt: int = 0
    """With `start`: the attempt that has started."""
    state: HoldState
    ended_tries: int = 0
    """With a hold that has ended: how many of `key`, `key/2`, `key/3` and so on have, up to 1,000, for work that goes
    on under the next one when it is tried again."""
    tokens: int
    """Tokens held, or the tokens asked for if nothing is held."""
    nano_usd: int
    expires_at: datetime | None
    delay_ms: int
    """Backpressure: milliseconds to wait before the call."""
    retry_after_ms: int = 0
    """With `wait`: milliseconds after which to ask again with the same key."""
    approval_id: str = ""
    """With `ask`: once it is approved, the same key can be held."""
    pressure: str
    scopes: list[ScopeVerdict]
    remedy: str = ""
    """What can be done about `wait`, `ask` and `refuse`."""
    refusal: RefusalView | None = None
    """With `ask` and `refuse`: the figures of the scope that did not admit."""
    ladder: Sequence[ReachedView] = ()
    """With any verdict: how the caller may spend less, by scope, outermost first."""


class WithdrawalView(View):
    """What a key has waited for."""

    approval_ids: list[str]
    """The requests: one that no other call waits for is withdrawn."""


class HoldOutcome(View):
    """The answer to one ask of a batch: a hold or a problem."""

    status: int
    """Status that `POST /v1/holds` answers this ask with."""
    hold: HoldView | None = None
    """With status 200."""
    problem: Problem | None = Field(None, title="Problem")
    """With any other status."""


class HoldBatchView(View):
    """The answers to a batch, in its order."""

    holds: list[HoldOutcome]


class StepView(View):
    """A verdict on a step of an open hold: an attempt, or an extension."""

    verdict: str
    """`allow`, unless an addition is needed and does not fit."""
    hold_id: str
    attempt: int = 0
    state: HoldState
    tokens: int
    """Tokens held, or the tokens of the addition if it does not fit."""
    nano_usd: int
    expires_at: datetime | None
    retry_after_ms: int = 0
    """With `wait`: milliseconds after which to send the same request again."""
    scopes: list[ScopeVerdict]
    remedy: str = ""
    refusal: RefusalView | None = None
    """The figures of the scope that did not admit an addition."""


class SettlementView(View):
    """The effect of a usage report."""

    hold_id: str
    state: HoldState
    charged: AmountView
    overrun: int
    """Tokens charged beyond the hold."""
    overrun_nano_usd: int
    late: bool


class ReleaseView(View):
    """How a hold ended."""

    hold_id: str
    state: HoldState
    charged: AmountView


class StoredHoldView(View):
    """A hold, open or ended."""

    hold_id: str
    state: HoldState
    charged: AmountView
    key: str
    path: list[str]
    tags: dict[str, str]
    model: str | None
    tokens: int
    nano_usd: int
    attempts: int
    expires_at: datetime | None
    created_at: datetime
    ended_at: datetime | None
