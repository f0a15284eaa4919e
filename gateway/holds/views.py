"""Responses of `/v1/holds`."""

from datetime import datetime
from typing import Self

from purser.budget.gate import GateAnswer
from purser.budget.holds import HoldState, Released, Settlement
from purser.budget.postgres.ledger.holds import StoredHold
from purser.gateway.http.views import AmountView, View


class ScopeVerdict(View):
    """The verdict of one scope of the path."""

    scope: str
    verdict: str
    ratio: float | None
    headroom: AmountView
    """Amount left before the ask; `null` if unlimited."""
    window_start: datetime | None
    reason: str


class HoldView(View):
    """A verdict, and the hold if it admits."""

    verdict: str
    hold_id: str | None
    state: HoldState
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
    scopes: list[ScopeVerdict]
    remedy: str = ""


class SettlementView(View):
    """The effect of a usage report."""

    hold_id: str
    state: HoldState
    charged: AmountView
    overrun: int
    """Tokens charged beyond the hold."""
    overrun_nano_usd: int
    late: bool

    @classmethod
    def of(cls, done: Settlement) -> Self:
        return cls(
            hold_id=done.hold_id,
            state=done.state,
            charged=AmountView.of(done.charged),
            overrun=done.overrun.tokens,
            overrun_nano_usd=done.overrun.nano_usd,
            late=done.late,
        )


class ReleaseView(View):
    """How a hold ended."""

    hold_id: str
    state: HoldState
    charged: AmountView

    @classmethod
    def of(cls, done: Released) -> Self:
        return cls(hold_id=done.hold_id, state=done.state, charged=AmountView.of(done.charged))


class StoredHoldView(View):
    """A hold, open or ended."""

    hold_id: str
    state: HoldState
    charged: AmountView
    key: str
    path: list[str]
    model: str | None
    tokens: int
    nano_usd: int
    attempts: int
    expires_at: datetime | None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, hold: StoredHold) -> Self:
        return cls(
            hold_id=hold.hold_id,
            state=hold.state,
            charged=AmountView.of(hold.charged),
            key=hold.key,
            path=hold.path.texts(),
            model=hold.model,
            tokens=hold.amount.tokens,
            nano_usd=hold.amount.nano_usd,
            attempts=hold.attempts,
            expires_at=hold.expires_at,
            created_at=hold.created_at,
            ended_at=hold.ended_at,
        )


def scope_verdicts(answer: GateAnswer) -> list[ScopeVerdict]:
    """The verdicts of all scopes."""
    return [
        ScopeVerdict(
            scope=str(one.scope),
            verdict=one.verdict,
            ratio=one.ratio,
            headroom=AmountView(tokens=one.headroom_tokens, nano_usd=one.headroom_nano_usd),
            window_start=one.window_start,
            reason=one.reason,
        )
        for one in answer.scopes
    ]
