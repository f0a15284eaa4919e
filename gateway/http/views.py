"""Answers, field by field."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict

from purser.budget.approvals import ApprovalState
from purser.budget.decisions import Amount, Decision
from purser.budget.holds import HoldState, Released, Settlement
from purser.budget.postgres.ledger.holds import StoredHold
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Key


class View(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class AmountView(View):
    """Tokens and money."""

    tokens: int | None
    nano_usd: int | None

    @classmethod
    def of(cls, amount: Amount) -> Self:
        return cls(tokens=amount.tokens, nano_usd=amount.nano_usd)


class ScopeVerdict(View):
    """What one scope of the path says."""

    scope: str
    verdict: str
    ratio: float | None
    headroom: AmountView
    """Left before the ask; `null` where nothing limits."""
    window_start: datetime | None
    reason: str


class HoldView(View):
    """A verdict, and the hold if there is one."""

    verdict: str
    hold_id: str | None
    state: HoldState
    tokens: int
    """Held; asked if nothing is held."""
    nano_usd: int
    expires_at: datetime | None
    delay_ms: int
    """Backpressure: sleep so long before the call."""
    retry_after_ms: int = 0
    """With `wait`: ask again with the same key after this time."""
    approval_id: str = ""
    """With `ask`: who decides it lets the same key pass."""
    pressure: str
    scopes: list[ScopeVerdict]
    remedy: str = ""
    """What can be done about `wait`, `ask` and `refuse`."""


class StepView(View):
    """A verdict on a step of an open hold: an attempt, or an extension."""

    verdict: str
    """`allow`, unless an addition was needed and did not fit."""
    hold_id: str
    attempt: int = 0
    state: HoldState
    tokens: int
    """Held; what the addition lacks if it did not fit."""
    nano_usd: int
    expires_at: datetime | None
    scopes: list[ScopeVerdict]
    remedy: str = ""


class SettlementView(View):
    """What a report changed."""

    hold_id: str
    state: HoldState
    charged: AmountView
    overrun: int
    """Tokens beyond the hold."""
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
    """A hold as it stands."""

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


class TaskAccepted(View):
    """A task that is stored and will be worked on."""

    task_id: str
    workflow_id: str
    status_url: str


class DecidedView(View):
    """What a decision made of its request."""

    state: ApprovalState
    decisions_needed: int
    """How many more people have to approve."""


class CallerView(View):
    """The key of a request."""

    key_id: str
    tenant: str
    name: str
    """The approver and submitter that it stands for."""
    role: Role


class KeyView(View):
    """A key without its secret."""

    key_id: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    """When it ends by itself; `null`: never."""
    rate_limit_per_s: int | None
    """Requests a second; `null`: as the gateway is set."""
    revoked_by: str | None
    revoked_at: datetime | None

    @classmethod
    def of(cls, made: Key) -> Self:
        return cls(**{name: getattr(made, name) for name in KeyView.model_fields})


class NewKeyView(KeyView):
    """A key at the one moment when its secret is shown."""

    key: str


class SignInLinkView(View):
    """A link that signs a browser in, once."""

    url: str
    """The token stands behind the `#`: no server and no log sees it."""
    token: str
    expires_at: datetime


def scope_verdicts(decision: Decision) -> list[ScopeVerdict]:
    """Every scope of a decision."""
    return [
        ScopeVerdict(
            scope=str(one.scope),
            verdict=one.verdict,
            ratio=one.ratio,
            headroom=AmountView(tokens=one.headroom_tokens, nano_usd=one.headroom_nano_usd),
            window_start=one.window_start,
            reason=one.reason,
        )
        for one in decision.scopes
    ]
