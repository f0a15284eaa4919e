"""Answers to clients that stop reading or are gone."""

import asyncio
from typing import Any, ClassVar, cast

import pytest
from starlette.types import Message

from purser.activities.models.partial_replies import PartialReply
from purser.budget.usage import Usage
from purser.gateway.proxy import answer
from purser.gateway.proxy.answer import ChatAnswer
from purser.gateway.proxy.chat_call import ChatCall, OnChoice
from purser.gateway.proxy.held_call import Charged
from purser.gateway.proxy.openai import ChatBody, ChatDialect, error_of
from purser.gateway.services import Services
from tests.gateway.proxy.conftest import HELLO


class Replied:
    """A call without a gate, whose model says one word."""

    held: Any = type("Held", (), {"answer": None, "steps": (), "model": "gpt-4o"})
    cap = 50
    headers: ClassVar[dict[str, str]] = {}

    async def admit(self) -> None:
        """Needs no hold."""

    async def run(self, partial: PartialReply, on_choice: OnChoice) -> Charged:
        """Replies."""
        partial.add("Good day.", (), "stop")
        await on_choice({"index": 0, "delta": {"content": "Good day."}, "finish_reason": "stop"})
        return Charged(Usage(input=3, output=4), 0)


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def answer_of(*, stream: bool) -> ChatAnswer:
    body = ChatBody.model_validate({"model": "gpt-4o", "messages": HELLO, "stream": stream})
    use = cast(Services, type("Use", (), {"public_url": ""}))
    return ChatAnswer(cast(ChatCall, Replied()), ChatDialect(body), error_of, use)


async def test_a_client_that_stops_reading_before_the_end_of_a_stream_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "SEND_TIMEOUT_S", 0.05)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if not message.get("more_body", True):
            await asyncio.Event().wait()

    async with asyncio.timeout(60):
        await answer_of(stream=True)({"type": "http"}, never, send)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_nothing_follows_a_whole_answer_that_could_not_be_sent() -> None:
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            raise OSError("the client is gone")

    await answer_of(stream=False)({"type": "http"}, never, send)
    assert sent == ["http.response.start", "http.response.body"]
