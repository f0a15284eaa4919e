"""Fields of the answers of `/v1/holds`."""

from dataclasses import asdict
from typing import Any

from purser.budget.gate import GateAnswer
from purser.budget.holds import Released, Settlement
from purser.budget.labels import named_tags
from purser.budget.postgres.ledger.holds import StoredHold
from purser.wire.base import AmountView
from purser.wire.holds import StoredHoldView

Shown = dict[str, Any]
"""The fields of a view, which cost much less than the view: the hot endpoints return them."""


def stored_hold(hold: StoredHold) -> StoredHoldView:
    """The answer for a hold, open or ended."""
    return StoredHoldView(
        hold_id=hold.hold_id,
        state=hold.state,
        charged=AmountView.model_validate(hold.charged),
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
        "charged": done.charged.to_json(),
        "overrun": done.overrun.tokens,
        "overrun_nano_usd": done.overrun.nano_usd,
        "late": done.late,
    }


def released(done: Released) -> Shown:
    """The fields of a `ReleaseView`."""
    return {"hold_id": done.hold_id, "state": done.state, "charged": done.charged.to_json()}


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
            "granted": one.view.granted.to_json(),
            "spent": one.view.spent.to_json(),
            "held": one.view.held.to_json(),
            "headroom": {"tokens": one.headroom_tokens, "nano_usd": one.headroom_nano_usd},
            "window_start": one.view.window_start,
            "reason": one.reason,
            **({} if one.would is None else {"would": asdict(one.would)}),
        }
        for one in answer.scopes
    ]
