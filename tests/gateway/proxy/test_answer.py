"""Answers to clients that stop reading or are gone, and those that a bug ends."""

import asyncio
from typing import Any, ClassVar, cast

import pytest
from starlette.types import Message

from purser.activities.models.partial_replies import PartialReply
from purser.budget.usage import Usage
from purser.gateway.metrics.requests import Metrics
from purser.gateway.proxy import answer
from purser.gateway.proxy.answer import ChatAnswer
from purser.gateway.proxy.chat_call import ChatCall, OnChoice
from purser.gateway.proxy.held_call import Charged
from purser.gateway.proxy.protocols.openai import ChatBody, ChatDialect, error_of
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


async def lives() -> bool:
    return False


SCOPE = {"type": "http", "state": {"key_ended": lives}}


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


class Broken(Replied):
    """A call that runs into a bug of the gateway once its model has said something."""

    async def run(self, partial: PartialReply, on_choice: OnChoice) -> Charged:
        """Fails."""
        await super().run(partial, on_choice)
        raise LookupError("a bug")


def answer_of(call: Replied, *, stream: bool, metrics: Metrics | None = None) -> ChatAnswer:
    body = ChatBody.model_validate({"model": "gpt-4o", "messages": HELLO, "stream": stream})
    use = cast(Services, type("Use", (), {"public_url": "", "metrics": metrics}))
    return ChatAnswer(cast(ChatCall, call), ChatDialect(body), error_of, use)


async def test_a_client_that_stops_reading_before_the_end_of_a_stream_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "SEND_TIMEOUT_S", 0.05)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if not message.get("more_body", True):
            await asyncio.Event().wait()

    async with asyncio.timeout(60):
        await answer_of(Replied(), stream=True)(SCOPE, never, send)
    assert sent[-1]["more_body"] is False


async def test_nothing_follows_a_whole_answer_that_could_not_be_sent() -> None:
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            raise OSError("the client is gone")

    await answer_of(Replied(), stream=False)(SCOPE, never, send)
    assert sent == ["http.response.start", "http.response.body"]


@pytest.mark.parametrize(("stream", "status"), [(False, 500), (True, 200)])
async def test_a_bug_ends_the_answer_and_is_counted_also_after_a_stream_has_begun(stream: bool, status: int) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    metrics = Metrics()
    await answer_of(Broken(), stream=stream, metrics=metrics)(SCOPE, never, send)
    assert (sent[0]["status"], sent[-1].get("more_body", False)) == (status, False)
    assert metrics.registry.get_sample_value("purser_proxy_failures_total") == 1
