"""The message that closes a window: what is left of the budget, or the request to conclude in an agent's last call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from purser.budget.gate import ScopeView, room
from purser.budget.money import typed_dollars
from purser.budget.scopes import Kind
from purser.context.tokens import PER_CONVERSATION, count_async

CONCLUDE = (
    "The budget of this task is used up, and this is your last reply. Do not call tools. Answer now with what you know "
    "so far, and say briefly what is missing."
)
"""The request of an agent's last call."""
_STEPS = 10
"""Figures are rounded down to this part of the limit, so that the line seldom changes."""
_OWNERS = {Kind.AGENT: "for you", Kind.TASK: "for the whole task"}


@dataclass(frozen=True, slots=True)
class Closing:
    """A message after all others."""

    text: str = ""
    """Empty: there is none."""
    tokens: int = 0


async def closing_of(model: str, text: str) -> Closing:
    """Returns the message that closes the window of a call, counted for its model."""
    if not text:
        return Closing()
    counted = await count_async([{"role": "user", "content": text}], (), model)
    return Closing(text, counted.tokens - PER_CONVERSATION)


def budget_line(views: Sequence[ScopeView]) -> str:
    """What is left of the limits of an agent and its task, rounded down; empty if neither has one.

    Figures of other scopes, which belong to other people as well, are never named.
    """
    shown = [
        f"{figure} {_OWNERS[one.scope.kind]}" for one in views if one.scope.kind in _OWNERS for figure in _left(one)
    ]
    return f"Budget left, at least: {'; '.join(shown)}." if shown else ""


def _left(view: ScopeView) -> Iterator[str]:
    tokens, nano = room(view)
    if tokens is not None and view.limit_tokens is not None:
        limit = view.limit_tokens + view.granted.tokens
        yield f"{_rounded(tokens, limit):,} of {limit:,} tokens"
    if nano is not None and view.limit_nano_usd is not None:
        limit = view.limit_nano_usd + view.granted.nano_usd
        yield f"${typed_dollars(_rounded(nano, limit))} of ${typed_dollars(limit)}"


def _rounded(left: int, limit: int) -> int:
    step = max(1, limit // _STEPS)
    return max(0, left) // step * step
