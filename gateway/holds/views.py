"""Responses of `/v1/holds`."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import WithJsonSchema

from purser.budget.gate import Amount, GateAnswer
from purser.budget.holds import HoldState, Released, Settlement
from purser.budget.labels import named_tags
from purser.budget.policies.fields import Mode
from purser.budget.postgres.ledger.holds import StoredHold
from purser.gateway.budgets.views import LadderStepView
from purser.gateway.http.views import AmountView, RefusalView, View

Shown = dict[str, Any]
"""The fields of a view, which cost much less than the view: the hot endpoints return them."""


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


class HoldOutcome(View):
    """The answer to one ask of a batch: a hold or a problem."""

    status: int
    """Status that `POST /v1/holds` answers this ask with."""
    hold: HoldView | None = None
    """With status 200."""
    problem: Annotated[dict[str, Any], WithJsonSchema({"$ref": "#/components/schemas/Problem"})] | None = None
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

    @classmethod
    def of(cls, hold: StoredHold) -> Self:
        return cls(
            hold_id=hold.hold_id,
            state=hold.state,
            charged=AmountView.of(hold.charged),
            key=hold.key,
            path=hold.path.texts(),
            tags=named_tags(hold.path.tags),
            model=hold.model,
            tokens=hold.amount.tokens,
            nano_usd=hold.amount.nano_usd,
            attempts=hold.attempts,
            expires_at=hold.expires_at,
            created_at=hold.created_at,
            ended_at=hold.ended_at,
        )


def settlement(done: Settlement) -> Shown:
    """The fields of a `SettlementView`."""
    return {
        "hold_id": done.hold_id,
        "state": done.state,
        "charged": _amount(done.charged),
        "overrun": done.overrun.tokens,
        "overrun_nano_usd": done.overrun.nano_usd,
        "late": done.late,
    }


def released(done: Released) -> Shown:
    """The fields of a `ReleaseView`."""
    return {"hold_id": done.hold_id, "state": done.state, "charged": _amount(done.charged)}


def reached_steps(answer: GateAnswer) -> list[Shown]:
    """The steps of ladders that an ask reaches, with the fields of a `ReachedView`."""
    return [one.step.shown() | {"scope": str(scope), "step": one.number} for scope, one in answer.ladder.items()]


def scope_verdicts(answer: GateAnswer) -> list[Shown]:
    """The verdicts of all scopes, with the fields of a `ScopeVerdict`."""
    return [
        {
            "scope": str(one.scope),
            "verdict": one.verdict,
            "ratio": one.ratio,
            "mode": one.view.mode,
            "limit": {"tokens": one.view.limit_tokens, "nano_usd": one.view.limit_nano_usd},
            "granted": _amount(one.view.granted),
            "spent": _amount(one.view.spent),
            "held": _amount(one.view.held),
            "headroom": {"tokens": one.headroom_tokens, "nano_usd": one.headroom_nano_usd},
            "window_start": one.view.window_start,
            "reason": one.reason,
            **({} if one.would is None else {"would": asdict(one.would)}),
        }
        for one in answer.scopes
    ]


def _amount(amount: Amount) -> Shown:
    return {"tokens": amount.tokens, "nano_usd": amount.nano_usd}
