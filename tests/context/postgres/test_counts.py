"""Counting stored messages: short texts at once, long ones in the thread for long texts."""

import threading
from collections.abc import Sequence

import pytest

from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.counts import USUAL_MODELS, count_messages, off_the_loop
from purser.context.tokens.counting import INLINE_CHARACTERS

LONG = "word " * (INLINE_CHARACTERS // 5 + 1)


@pytest.mark.parametrize(("text", "thread"), [("Hello.", "MainThread"), (LONG, "long-texts")], ids=["short", "long"])
async def test_long_texts_are_counted_in_a_thread_of_their_own(text: str, thread: str) -> None:
    def work(messages: Sequence[Message], models: Sequence[str]) -> str:
        return threading.current_thread().name.partition("_")[0]

    said = [Message("user", text)]
    assert all(await count_messages(said, USUAL_MODELS)), "the vocabularies are loaded from now on"
    assert await off_the_loop(work, said, USUAL_MODELS[:1]) == thread
