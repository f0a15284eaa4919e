"""One call that makes a conversation fit, for code that keeps its own: messages in, messages and stats out.

Messages that fit beside a reply are returned as they came. Others are cut by the preset `optimizer`:
`context.strategies.choice` names the strategy and `build_window` applies it. Whatever a summarizer does, it is no error
here.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import asdict
from typing import Any

from purser.context.compression.writing import Writer, of_two
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import StrategyName
from purser.context.strategies.choice import Preference
from purser.context.tokens import count_request, count_text
from purser.context.windows import Window, build_window
from purser.context.windows.advice import (
    TOOL_RESERVE,
    USUAL_MODEL,
    AnyMessage,
    Recommendation,
    available,
    messages_of,
    recommend,
)

PRESET = "optimizer"
MAX_TOKENS = 4_096
"""Limit where the caller names none."""
SUMMARY_TIMEOUT_S = 30.0
"""How long a summarizer that is awaited may take."""

Stats = dict[str, Any]
"""What was done, always with `optimization_applied`, `messages_removed`, `tokens_saved`, `strategy_chosen` (`none`
where nothing was done), `strategy_reason`, `summary_generated`, `clipped`, `tokens` and `bound_tokens`."""


class Optimizer:
    """Makes conversations fit, and remembers how often each was summarised."""

    def __init__(self, summaries: MutableMapping[str, int] | None = None, *, model: str = USUAL_MODEL) -> None:
        """Args:
        summaries: how often, by conversation id. Without it this object remembers; one of `shelve` lasts longer.
        model: whose tokens are counted.
        """
        self._summaries: MutableMapping[str, int] = Counter() if summaries is None else summaries
        self._model = model

    def optimize(
        self,
        messages: Sequence[AnyMessage],
        max_tokens: int = MAX_TOKENS,
        summarize: Callable[..., str] | None = None,
        conversation_id: str | None = None,
        preference: Preference | str = Preference.BALANCED,
        *,
        knowledge_context: str = "",
        web_context: str = "",
        planned_tools: int = 0,
    ) -> tuple[list[dict[str, Any]], Stats]:
        """Makes messages fit a limit beside 2,000 tokens for the reply.

        Where that reserve leaves nothing, or less than what must stay, the limit itself is the bound, and stats say so.

        Args:
            messages: the conversation: `Message`s, or dictionaries as OpenAI's API takes them.
            max_tokens: the limit.
            summarize: makes a summary of a text; if it takes a second argument, that is how many characters to use.
                Without it, and where it fails, messages are truncated.
            conversation_id: by which summaries are counted, 3 at most; without it none are remembered.
            preference: `fast`, `balanced` or `quality`.
            knowledge_context, web_context: texts that the caller adds to the request himself; they are counted.
            planned_tools: calls to leave room for.

        Returns:
            The messages, those that stay as they came, and stats.

        Raises:
            WindowTooSmall: what must stay exceeds the limit.
            InvalidMessage, InvalidSettings: a message or the limit is not valid.
        """
        read = messages_of(messages)
        around = sum(count_text(text, self._model).tokens for text in (knowledge_context, web_context))
        around += TOOL_RESERVE * planned_tools
        tokens = around + count_request([message.to_openai() for message in read], [], self._model).tokens
        room = available(max_tokens)
        if not read or tokens <= room:
            return [_openai(one) for one in messages], _untouched(tokens, room)
        summaries = self._summaries.get(conversation_id, 0) if conversation_id else 0
        writer = Writer(summarize, self._model) if summarize else None
        window, bound = self._cut(read, max_tokens, around, writer, Preference(preference), summaries)
        stats = _stats(window, writer, bound, room) | {"tokens": window.tokens + around}
        if conversation_id and stats["summary_generated"]:
            self._summaries[conversation_id] = summaries + 1
        given = {id(message): one for message, one in zip(read, messages, strict=True)}
        return [_openai(given.get(id(message), message)) for message in window.messages], stats

    async def optimize_async(
        self,
        messages: Sequence[AnyMessage],
        max_tokens: int = MAX_TOKENS,
        summarize: Callable[..., Awaitable[str]] | None = None,
        conversation_id: str | None = None,
        preference: Preference | str = Preference.BALANCED,
        **others: Any,
    ) -> tuple[list[dict[str, Any]], Stats]:
        """`optimize` beside the event loop, with a summarizer that is awaited, for 30 s at most."""
        loop, ask = asyncio.get_running_loop(), of_two(summarize) if summarize else None

        def write(text: str, characters: int) -> str:
            async def written() -> str:
                async with asyncio.timeout(SUMMARY_TIMEOUT_S):
                    return await ask(text, characters) if ask else ""

            return asyncio.run_coroutine_threadsafe(written(), loop).result()

        arguments = (messages, max_tokens, write if ask else None, conversation_id, preference)
        return await asyncio.to_thread(self.optimize, *arguments, **others)

    def recommend(
        self,
        messages: Sequence[AnyMessage],
        max_tokens: int = MAX_TOKENS,
        conversation_id: str | None = None,
        preference: Preference | str = Preference.BALANCED,
        *,
        can_summarize: bool = True,
    ) -> Recommendation:
        """What `optimize` would do; changes nothing and counts as no summary."""
        return recommend(
            messages,
            max_tokens,
            preference=preference,
            summaries=self._summaries.get(conversation_id, 0) if conversation_id else 0,
            can_summarize=can_summarize,
            model=self._model,
        )

    def _cut(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        around: int,
        writer: Writer | None,
        preference: Preference,
        summaries: int,
    ) -> tuple[Window, int]:
        """The window and its bound: beside the reply, or the limit itself if what must stay does not fit there."""
        room = available(max_tokens)
        for bound in (room, max_tokens) if room else (max_tokens,):
            budget = bound - around
            try:
                window = build_window(
                    messages, budget=budget, model=self._model, preset=PRESET, preference=preference,
                    summarize=writer, summaries=summaries,
                )  # fmt: skip
                if writer and writer.fault:
                    name = StrategyName.SMART_TRUNCATION
                    window = build_window(messages, budget=budget, model=self._model, preset=PRESET, strategy=name)
                return window, bound
            except WindowTooSmall as error:
                parts = {**error.parts, "knowledge, web context and planned tools": around}
        raise WindowTooSmall(parts, budget=max_tokens)


def _untouched(tokens: int, room: int) -> Stats:
    return {
        "optimization_applied": False,
        "messages_removed": 0,
        "tokens_saved": 0,
        "strategy_chosen": "none",
        "strategy_reason": f"{tokens:,} of {room:,} tokens: nothing to do",
        "summary_generated": False,
        "clipped": (),
        "tokens": tokens,
        "bound_tokens": room,
    }


def _stats(window: Window, writer: Writer | None, bound: int, room: int) -> Stats:
    stats = asdict(window.stats) | {"bound_tokens": bound}
    if not window.stats.optimization_applied:
        stats["strategy_chosen"] = "none"
    if bound > room:
        stats["strategy_reason"] += f"; beside the reply there are {room:,} tokens, so the limit itself is the bound"
    if writer and writer.fault:
        stats["strategy_reason"] += f"; no summary ({writer.fault}), emergency truncation"
    return stats


def _openai(message: AnyMessage) -> dict[str, Any]:
    return message.to_openai() if isinstance(message, Message) else dict(message)


_default = Optimizer()

optimize = _default.optimize
"""`Optimizer.optimize` of one optimizer that the whole process shares; it forgets when the process ends."""
optimize_async = _default.optimize_async
"""The same with a summarizer that is awaited."""
prepare_optimized_messages = optimize


def optimize_chat_context(
    messages: Sequence[AnyMessage],
    max_tokens: int = MAX_TOKENS,
    summarize_func: Callable[..., str] | None = None,
    conversation_id: str | None = None,
    user_preference: Preference | str = Preference.BALANCED,
) -> tuple[list[dict[str, Any]], Stats]:
    """`optimize` under other names."""
    return optimize(messages, max_tokens, summarize_func, conversation_id, user_preference)
