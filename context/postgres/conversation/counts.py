"""Counting messages once, when they are stored, without holding up the event loop."""

import asyncio
from collections.abc import Sequence

from purser.context.conversation.messages import Message
from purser.context.tokens import count_message, tokenizer_of
from purser.context.tokens.counting import INLINE_CHARACTERS
from purser.context.tokens.exact import is_loaded

USUAL_MODELS = ("gpt-4o", "gpt-4")
"""One model of each vocabulary: their counts serve most models."""


def encoding_of(model: str) -> str:
    """The key of the counts that serve `model`."""
    return tokenizer_of(model).key


async def count_messages(messages: Sequence[Message], models: Sequence[str]) -> list[dict[str, int]]:
    """Tokens of each message by encoding; in a thread where the texts are long or a vocabulary has to be loaded."""
    loaded = all(is_loaded(tokenizer_of(model).vocabulary) for model in models)
    if loaded and len(models) * sum(_length(message) for message in messages) <= INLINE_CHARACTERS:
        return _count(messages, models)
    return await asyncio.to_thread(_count, messages, models)


def _count(messages: Sequence[Message], models: Sequence[str]) -> list[dict[str, int]]:
    bodies = [message.to_openai() for message in messages]
    return [{encoding_of(model): count_message(body, model).tokens for model in models} for body in bodies]


def _length(message: Message) -> int:
    return len(message.text) + sum(len(call["function"]["arguments"]) for call in message.tool_calls)
