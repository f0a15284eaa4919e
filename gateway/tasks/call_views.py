"""Responses of `/v1/tasks/{task_id}/calls`."""

from datetime import datetime
from typing import Self

from purser.activities.postgres.calls.calls import StoredCall
from purser.context.strategies import StrategyName
from purser.context.windows.explain import State
from purser.context.windows.reports import CallPart, spans
from purser.wire.base import View


class CallView(View):
    """A model call of a task."""

    call: str
    """Its key."""
    agent_id: str
    turn: int
    model: str
    at: datetime
    """When its window was planned."""
    hold_id: str | None
    """Its hold; `null` if nothing was held."""
    strategy: StrategyName
    """Strategy by which its window was cut, if it was."""
    prompt_tokens: int
    """Tokens of the whole request, as counted."""
    tokens_saved: int
    """Tokens that the window leaves out, less those of its summaries."""

    @classmethod
    def of(cls, stored: StoredCall) -> Self:
        return cls(**_figures(stored))


class SpanView(View):
    """Messages of one part of a window that have the same state for the same reason."""

    part: CallPart
    state: State
    reason: str
    """`fits`, `summary`, `old_tool_result`, `too_large`, or why the messages were dropped."""
    first_seq: int | None
    """First message; `null` for text that is no message of the session."""
    last_seq: int | None
    messages: int | None
    """Number of messages; `null` for a range, which other threads may share."""
    tokens: int | None
    """Tokens that the window shows, where they are known for these messages alone."""
    original_tokens: int | None
    """Tokens of a message that is shown in part."""
    version: int | None
    """Version of the summary that covers the messages."""
    agent_id: str | None
    """Agent that replied."""


class CallWindowView(CallView):
    """What a call saw."""

    budget: int
    """Tokens that its conversations might fill."""
    system_tokens: int
    """Tokens of instructions and tools."""
    strategy_reason: str | None
    """Why `auto` chose the strategy; `null` if it was set."""
    optimization_applied: bool
    """Whether the window left anything out."""
    recall: bool
    """Whether the call offered the tool `recall_message`."""
    parts: list[SpanView]
    """In the order of the window."""

    @classmethod
    def of(cls, stored: StoredCall) -> Self:
        plan = stored.call.plan
        return cls(
            **_figures(stored),
            budget=plan.budget,
            system_tokens=plan.system_tokens,
            strategy_reason=plan.strategy_reason or None,
            optimization_applied=plan.left_out,
            recall=plan.recall,
            parts=[SpanView.model_validate(one) for one in spans(plan)],
        )


def _figures(stored: StoredCall) -> dict[str, object]:
    call = stored.call
    return {
        "call": call.key,
        "agent_id": call.agent.agent_id,
        "turn": call.turn,
        "model": call.model,
        "at": stored.at.isoformat(),
        "hold_id": stored.hold_id,
        "strategy": call.plan.strategy,
        "prompt_tokens": call.plan.prompt_tokens,
        "tokens_saved": max(0, call.plan.whole_tokens - call.plan.tokens),
    }
