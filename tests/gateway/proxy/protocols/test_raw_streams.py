"""Streams with what providers do send and the demo's provider does not."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from purser.context.tokens import count_text
from purser.gateway.access.roles import Role
from purser.gateway.proxy.protocols.openai import ChatDialect
from tests.gateway.conftest import RunningGateway
from tests.gateway.proxy.conftest import HELLO, RawProvider

MODEL = "gpt-4o"
WORDS = [f"word{number} " for number in range(60)]
BODIES: dict[str, dict[str, Any]] = {
    "/openai/v1/chat/completions": {"messages": HELLO, "max_tokens": 400},
    "/openai/v1/responses": {"input": "hello there", "max_output_tokens": 400},
    "/anthropic/v1/messages": {"messages": HELLO, "max_tokens": 400},
}
CHAT = "/openai/v1/chat/completions"


def line(**fields: Any) -> bytes:
    return b"data: " + json.dumps({"id": "1"} | fields).encode() + b"\n\n"


def delta(finish: str | None = None, /, **parts: str) -> bytes:
    return line(choices=[{"index": 0, "delta": parts, "finish_reason": finish}])


def usage(prompt: int, output: int) -> bytes:
    return line(choices=[], usage={"prompt_tokens": prompt, "completion_tokens": output})


async def client(gateway: RunningGateway, provider: RawProvider) -> httpx.AsyncClient:
    http = await gateway.client(Role.AGENT)
    http.headers.update({"Purser-Session": "s1", "Purser-Api-Base": provider.api_base})
    return http


async def spent(gateway: RunningGateway) -> int:
    """Tokens of the session that are spent, once its call has ended."""
    admin = await gateway.client(Role.ADMIN)
    async with asyncio.timeout(60):
        while True:
            tokens = (await admin.get("/v1/budgets/session:s1")).json()["tokens"]
            if tokens["spent"] and not tokens["held"]:
                return int(tokens["spent"])
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("part", ["content", "reasoning_content", "refusal"])
async def test_a_client_that_leaves_pays_what_it_got_whatever_usage_was_reported_before(
    gateway: RunningGateway, raw_provider: RawProvider, part: str
) -> None:
    raw_provider.body = usage(9, 1) + b"".join(delta(**{part: word}) for word in WORDS)
    raw_provider.ends = False
    http = await client(gateway, raw_provider)
    asked = {"model": MODEL, "stream": True} | BODIES[CHAT]
    async with http.stream("POST", CHAT, json=asked) as answer:
        async for text in answer.aiter_lines():
            if WORDS[-1] in text:
                break
    assert await spent(gateway) == 9 + count_text("".join(WORDS), MODEL).tokens


async def test_a_stream_that_breaks_off_after_its_first_usage_is_charged_what_has_arrived(
    gateway: RunningGateway, raw_provider: RawProvider
) -> None:
    raw_provider.body = usage(9, 1) + b"".join(delta(content=word) for word in WORDS)
    http = await client(gateway, raw_provider)
    answer = await http.post(CHAT, json={"model": MODEL, "stream": True} | BODIES[CHAT])
    assert "provider_incomplete_reply" in answer.text
    assert await spent(gateway) == 9 + count_text("".join(WORDS), MODEL).tokens


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("part", ["content", "reasoning_content"])
@pytest.mark.parametrize("path", list(BODIES))
async def test_halves_of_a_surrogate_pair_in_two_pieces_pass(
    gateway: RunningGateway, raw_provider: RawProvider, path: str, part: str, stream: bool
) -> None:
    raw_provider.body = b"".join(
        (delta(**{part: "ok \ud83d"}), delta(**{part: "\ude00"}), delta(content="x"), delta("stop"), usage(3, 4))
    )
    http = await client(gateway, raw_provider)
    answer = await http.post(path, json={"model": MODEL, "stream": stream} | BODIES[path])
    assert answer.status_code == 200, answer.text
    assert "error" not in answer.text.replace('"error": null', "")
    assert await spent(gateway) == 7
    if not stream:
        assert "ok \U0001f600" in json.dumps(answer.json(), ensure_ascii=False)


@pytest.mark.parametrize("path", list(BODIES))
async def test_reasoning_that_is_no_text_does_not_end_the_reply(
    gateway: RunningGateway, raw_provider: RawProvider, path: str
) -> None:
    thought = {"reasoning_content": {"summary": "hm"}, "content": "Good day."}
    raw_provider.body = line(choices=[{"index": 0, "delta": thought}]) + delta("stop") + usage(3, 4)
    http = await client(gateway, raw_provider)
    answer = await http.post(path, json={"model": MODEL, "stream": True} | BODIES[path])
    assert "Good day." in answer.text
    assert "provider_" not in answer.text
    assert await spent(gateway) == 7


@pytest.mark.parametrize(
    ("sent", "status"), [(b"529 Overloaded", 529), (b"600 Unheard of", 502), (b"407 Proxy Needs a Key", 502)]
)
async def test_a_status_that_no_server_can_send_or_that_is_about_its_proxy_becomes_502(
    gateway: RunningGateway, raw_provider: RawProvider, sent: bytes, status: int
) -> None:
    raw_provider.status = sent
    http = await client(gateway, raw_provider)
    answer = await http.post(CHAT, json={"model": MODEL} | BODIES[CHAT])
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, "api_error")


async def test_a_reply_that_cannot_be_written_is_an_error_in_the_words_of_the_protocol(
    gateway: RunningGateway, raw_provider: RawProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChatDialect, "whole", lambda *_: {"no": {"json"}})
    raw_provider.body = delta("stop", content="x") + usage(3, 4)
    http = await client(gateway, raw_provider)
    answer = await http.post(CHAT, json={"model": MODEL} | BODIES[CHAT])
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "api_error")
    assert answer.headers["purser-hold-id"]
