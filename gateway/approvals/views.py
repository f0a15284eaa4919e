"""Parts of the answers of `/v1/approvals`, from what is stored and computed."""

from typing import Any

from purser.activities.postgres.calls.purposes import Purpose
from purser.budget.approvals import PastDecision, Waiter
from purser.budget.previews import Effect
from purser.wire.approvals import EffectView, LastInputView, PastDecisionView, PurposeView, ToolUseView


def waiter_view(waiter: Waiter) -> dict[str, Any]:
    """A hold that waits for the decision, with the fields of a `WaiterView`."""
    return {
        "key": waiter.key,
        "task_id": waiter.task_id,
        "agent_id": waiter.agent_id,
        "submitter": waiter.submitter,
        "submitted_by": waiter.submitted_by,
        "tokens": waiter.ask.tokens,
        "nano_usd": waiter.ask.nano_usd,
        "since": waiter.since,
    }


def past_decision_view(decision: PastDecision) -> PastDecisionView:
    """A recorded decision."""
    return PastDecisionView(
        note=decision.note,
        ticket_url=decision.ticket_url,
        decision_id=decision.decision_id,
        decision=decision.choice,
        approver=decision.approver,
        identity=decision.identity,
        grant_tokens=decision.grant_tokens,
        grant_nano_usd=decision.grant_nano_usd,
        until=decision.until,
        at=decision.at,
    )


def purpose_view(key: str, purpose: Purpose) -> PurposeView:
    """Purpose of the call with this key."""
    last, tool = purpose.last, purpose.tool
    return PurposeView(
        key=key,
        session_id=purpose.session_id,
        input=purpose.input,
        instructions=purpose.instructions,
        last_input=last and LastInputView(seq=last.seq, role=last.role, text=last.text),
        tool=tool and ToolUseView(name=tool.name, arguments=tool.arguments),
    )


def effect_view(effect: Effect) -> EffectView:
    """The effect of a grant."""
    return EffectView(
        grant_tokens=effect.grant.tokens,
        grant_nano_usd=effect.grant.nano_usd,
        ratio=effect.ratio,
        delay_ms=effect.delay_ms,
        slowed_by=str(effect.slowed_by) if effect.slowed_by else None,
        admitted=effect.admitted,
        asking=effect.asking,
        waiting=effect.waiting,
        refused=effect.refused,
    )
