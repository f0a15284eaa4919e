"""Token counts of stored messages, computed once and without blocking the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from purser.context.conversation.messages import Message
from purser.context.tokens import tokenizer_of
from purser.context.tokens.counting import INLINE_CHARACTERS, begin_counting
from purser.context.tokens.exact import is_loaded

T = TypeVar("T")
_executor = ThreadPoolExecutor(1, thread_name_prefix="long-texts")
"""A single thread: each further computing thread makes the event loop wait longer for the GIL."""
USUAL_MODELS = ("gpt-4o", "gpt-4")
"""One model of each vocabulary; their counts are valid for most models."""


def encoding_of(model: str) -> str:
    """The key under which counts for `model` are stored."""
    return tokenizer_of(model).key


async def count_messages(messages: Sequence[Message], models: Sequence[str]) -> list[dict[str, int]]:
    """Counts the tokens of each message by encoding, off the event loop where that takes long."""
    return await off_the_loop(_count, messages, models)


async def off_the_loop(
    work: Callable[[Sequence[Message], Sequence[str]], T], messages: Sequence[Message], models: Sequence[str]
) -> T:
    """Runs `work`, which counts tokens: in a thread if the texts are long or a vocabulary has to be loaded."""
    loaded = all(is_loaded(tokenizer_of(model).vocabulary) for model in models)
    if loaded and len(models) * sum(_length(message) for message in messages) <= INLINE_CHARACTERS:
        return work(messages, models)
    return await in_background(work, messages, models)


async def in_background(work: Callable[..., T], *arguments: Any) -> T:
    """Runs `work`, which computes for long, in the thread for long texts."""
    return await asyncio.get_running_loop().run_in_executor(_executor, work, *arguments)


def _count(messages: Sequence[Message], models: Sequence[str]) -> list[dict[str, int]]:
    return begin_counting([message.to_openai() for message in messages], models)()


def _length(message: Message) -> int:
    return len(message.text) + sum(len(call["function"]["arguments"]) for call in message.tool_calls)
