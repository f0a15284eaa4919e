"""Answers of `/v1/tasks/{task_id}/calls`, from stored calls."""

from typing import Any

from purser.activities.postgres.calls.calls import StoredCall
from purser.context.windows.reports import spans
from purser.wire.tasks import CallView, CallWindowView, SpanView


def call_view(stored: StoredCall) -> CallView:
    """A model call of a task."""
    return CallView(**_figures(stored))


def call_window_view(stored: StoredCall) -> CallWindowView:
    """What a call saw."""
    plan = stored.call.plan
    return CallWindowView(
        **_figures(stored),
        budget=plan.budget,
        system_tokens=plan.system_tokens,
        strategy_reason=plan.strategy_reason or None,
        optimization_applied=plan.left_out,
        recall=plan.recall,
        parts=[SpanView.model_validate(one) for one in spans(plan)],
    )


def _figures(stored: StoredCall) -> dict[str, Any]:
    call = stored.call
    return {
        "call": call.key,
        "agent_id": call.agent.agent_id,
        "turn": call.turn,
        "model": call.model,
        "at": stored.at,
        "hold_id": stored.hold_id,
        "strategy": call.plan.strategy,
        "prompt_tokens": call.plan.prompt_tokens,
        "tokens_saved": max(0, call.plan.whole_tokens - call.plan.tokens),
    }
