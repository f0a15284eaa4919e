"""Optimizer: makes a conversation fit a limit in one call, for code that stores its own messages.

Messages that fit next to a reply are returned unchanged. Others are cut by the preset `optimizer`:
`context.strategies.choice` selects the strategy and `build_window` applies it. A failing summarizer raises no error.
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
    AnyMessage,
    Recommendation,
    available,
    check_tool_safety,
    messages_of,
    recommend,
    whole_number,
)
from purser.context.windows.listing import known_preference
from purser.wire.limits import USUAL_MODEL

PRESET = "optimizer"
MAX_TOKENS = 4_096
"""Default limit in tokens."""
SUMMARY_TIMEOUT_S = 30.0
"""Timeout of an async summarizer."""

Stats = dict[str, Any]
"""Statistics of an optimization. It always has the keys `optimization_applied`, `messages_removed`, `tokens_saved`,
`strategy_chosen` (`none` if nothing was done), `strategy_reason`, `summary_generated`, `clipped`, `tokens` and
`bound_tokens`."""


class Optimizer:
    """Makes conversations fit a limit, and counts how often each was summarized."""

    def __init__(self, summaries: MutableMapping[str, int] | None = None, *, model: str = USUAL_MODEL) -> None:
        """Args:
        summaries: number of summaries by conversation id; in memory by default, or persistent, such as a `shelve`.
        model: the model whose tokenizer counts.
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
        """Makes messages fit a limit, with 2,000 tokens reserved for the reply.

        If the reserve leaves less than the required messages take, the limit itself is the bound, and the stats say so.

        Args:
            messages: the conversation: `Message`s, or dictionaries in the format of the OpenAI API.
            max_tokens: the limit.
            summarize: summarizes a text; a second parameter, if any, receives the number of characters to use.
                Without it, or if it fails, messages are truncated.
            conversation_id: key under which summaries are counted, 3 at most; without it they are not counted.
            preference: `fast`, `balanced` or `quality`.
            knowledge_context, web_context: texts that the caller adds to the request; they are counted.
            planned_tools: number of tool calls to leave room for.

        Returns:
            The messages, of which unchanged ones are returned as passed, and stats.

        Raises:
            WindowTooSmall: the required messages exceed the limit.
            InvalidMessage, InvalidSettings: a message, the limit, the preference or the summarizer is not valid.
        """
        read = messages_of(messages)
        overhead = sum(count_text(text, self._model).tokens for text in (knowledge_context, web_context))
        overhead += TOOL_RESERVE * whole_number("planned_tools", planned_tools, least=0)
        tokens = overhead + count_request([message.to_openai() for message in read], [], self._model).tokens
        room, preference = available(max_tokens), known_preference(preference)
        writer = Writer(summarize, self._model) if summarize is not None else None
        if not read or tokens <= room:
            return [_openai(one) for one in messages], _untouched(tokens, room)
        summaries = self._summaries.get(conversation_id, 0) if conversation_id else 0
        window, bound = self._cut(read, max_tokens, overhead, writer, preference, summaries)
        stats = _stats(window, writer, bound, room) | {"tokens": window.tokens + overhead}
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
        """Runs `optimize` off the event loop, with an async summarizer that may take 30 s."""
        loop, ask = asyncio.get_running_loop(), None if summarize is None else of_two(summarize)

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
        """Reports what `optimize` would do; it changes nothing and does not count as a summary."""
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
        overhead: int,
        writer: Writer | None,
        preference: Preference,
        summaries: int,
    ) -> tuple[Window, int]:
        """The window and its bound: the limit without the reserve, or the whole limit if required messages need it."""
        room = available(max_tokens)
        for bound in (room, max_tokens) if room else (max_tokens,):
            budget = bound - overhead
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
                parts = {**error.parts, "knowledge, web context and planned tools": overhead}
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
        stats["strategy_reason"] += f"; next to the reply there are {room:,} tokens, so the limit itself is the bound"
    if writer and writer.fault:
        stats["strategy_reason"] += f"; no summary ({writer.fault}), emergency truncation"
    return stats


def _openai(message: AnyMessage) -> dict[str, Any]:
    return message.to_openai() if isinstance(message, Message) else dict(message)


_default = Optimizer()

optimize = _default.optimize
"""`Optimizer.optimize` of an optimizer shared by the whole process; its counts last as long as the process."""
optimize_async = _default.optimize_async
"""`Optimizer.optimize_async` of the shared optimizer."""
prepare_optimized_messages = optimize


def optimize_chat_context(
    messages: Sequence[AnyMessage],
    max_tokens: int = MAX_TOKENS,
    summarize_func: Callable[..., str] | None = None,
    conversation_id: str | None = None,
    user_preference: Preference | str = Preference.BALANCED,
) -> tuple[list[dict[str, Any]], Stats]:
    """`optimize` with alternative parameter names."""
    return optimize(messages, max_tokens, summarize_func, conversation_id, user_preference)


get_optimization_recommendation = _default.recommend
"""`Optimizer.recommend` of the shared optimizer."""
check_context_safety = check_tool_safety
"""Another name of `check_tool_safety`."""


class ContextOptimizer:
    """An optimizer with a limit and a summarizer."""

    def __init__(
        self,
        max_tokens: int = MAX_TOKENS,
        summarize_func: Callable[..., str] | None = None,
        *,
        model: str = USUAL_MODEL,
    ) -> None:
        """Args:
        max_tokens: the limit, of which 2,000 tokens are reserved for the reply.
        summarize_func: summarizes a text, as for `Optimizer.optimize`.
        model: the model whose tokenizer counts.
        """
        self._optimizer = Optimizer(model=model)
        self._max_tokens = max_tokens
        self._summarize = summarize_func

    def optimize_context(
        self,
        messages: Sequence[AnyMessage],
        conversation_id: str | None = None,
        user_preference: Preference | str = Preference.BALANCED,
    ) -> tuple[list[dict[str, Any]], Stats]:
        """Makes messages fit the limit, as `Optimizer.optimize`."""
        return self._optimizer.optimize(messages, self._max_tokens, self._summarize, conversation_id, user_preference)


class ChatContextHelper:
    """The functions of this module by the names that chat applications use."""

    optimize_chat_context = staticmethod(optimize_chat_context)
    prepare_optimized_messages = staticmethod(prepare_optimized_messages)
    get_optimization_recommendation = staticmethod(get_optimization_recommendation)
    check_context_safety = staticmethod(check_context_safety)
