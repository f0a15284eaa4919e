"""The provider's own log of requests."""

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from purser.compose.demo.provider import (
    Fault,
    FaultKind,
    Outcome,
    Provider,
    Reply,
    Rule,
    charged_tokens,
    read_log,
    serve_provider,
)
from tests.support.servers.clients import plain_client

CANARY = "canary-7c1f"


def lines(log_file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log_file.read_text().splitlines()]


async def ask(provider: Provider, recording: str, agent: str, request_id: str, text: str = CANARY) -> int:
    base = provider.api_base_of(recording, agent)
    async with AsyncOpenAI(base_url=base, api_key="any", max_retries=0, timeout=60) as client:
        answer = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": text}],
            extra_headers={"X-Client-Request-Id": request_id},
        )
    assert answer.usage is not None
    return answer.usage.total_tokens


async def test_every_request_has_a_line_when_it_arrives_and_one_when_it_ends(
    provider: Provider, log_file: Path
) -> None:
    provider.control.hold()
    asking = asyncio.create_task(ask(provider, "r1", "a1", "h1-1"))
    async with asyncio.timeout(60):
        await provider.control.wait_held()
    assert [line["event"] for line in lines(log_file)] == ["arrived"]
    provider.control.continue_held()
    await asking
    arrived, ended = lines(log_file)
    assert arrived["seq"] == ended["seq"] == 1
    assert (arrived["recording"], arrived["agent"], arrived["request_id"]) == ("r1", "a1", "h1-1")
    assert (arrived["model"], arrived["messages"], len(arrived["prompt_sha256"])) == ("m", 1, 64)
    assert (ended["outcome"], ended["status"], ended["finish_reason"]) == ("answered", 200, "stop")
    assert ended["produced_tokens"] == ended["usage"]["completion_tokens"]


async def test_charges_are_summed_by_hold_and_by_agent(provider: Provider) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.DROP))
    with pytest.raises(openai.APIConnectionError):
        await ask(provider, "r1", "a1", "h1-1")
    retried = await ask(provider, "r1", "a1", "h1-2")
    other = await ask(provider, "r1", "a2", "h2-1", "a longer question than before")
    elsewhere = await ask(provider, "r2", "a1", "h3-1")
    served = provider.served()
    assert charged_tokens(served) == retried + other + elsewhere
    assert charged_tokens(served, request_id="h1") == retried
    assert charged_tokens(served, recording="r1", agent="a1") == retried
    assert charged_tokens(served, agent="a1") == retried + elsewhere
    assert charged_tokens(served, recording="r1") == retried + other


async def test_the_same_prompt_has_the_same_digest(provider: Provider) -> None:
    for text in ("one", "one", "two"):
        await ask(provider, "r1", "a1", "h1-1", text)
    first, second, third = (one.arrival.prompt_sha256 for one in provider.served())
    assert first == second != third


async def test_the_file_and_the_memory_agree(provider: Provider, log_file: Path) -> None:
    provider.control.add_rule(Rule(reply=Reply(content="a b c d"), chunks=4))
    provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR))
    provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=2))
    for _ in range(2):
        with pytest.raises(openai.APIError):
            await ask(provider, "r1", "a1", "h1-1")
    await ask(provider, "r1", "a1", "h1-3")
    assert read_log(log_file) == provider.served()
    assert [one.end and one.end.outcome for one in read_log(log_file)] == [
        Outcome.REFUSED,
        Outcome.DROPPED,
        Outcome.ANSWERED,
    ]


async def test_a_line_that_was_being_written_when_the_provider_died_is_ignored(
    provider: Provider, log_file: Path
) -> None:
    await ask(provider, "r1", "a1", "h1-1")
    with log_file.open("a") as file:
        file.write('{"event": "arrived", "seq": 2, "at": "20')
    assert read_log(log_file) == provider.served()


async def test_text_stays_out_of_the_log(provider: Provider, log_file: Path) -> None:
    await ask(provider, "r1", "a1", "h1-1", CANARY)
    assert CANARY not in json.dumps(lines(log_file))
    assert CANARY not in repr(provider.served())


async def test_text_is_logged_on_request(tmp_path: Path) -> None:
    path = tmp_path / "with-text.jsonl"
    async with serve_provider(log=path, keep_text=True) as provider, plain_client() as http:
        chat = {"model": "m", "messages": [{"role": "user", "content": CANARY}]}
        await http.post(f"{provider.api_base}/chat/completions", json=chat)
    assert CANARY in path.read_text()


@pytest.mark.parametrize("choice", [None, "none", {"type": "function", "function": {"name": "look_up"}}])
async def test_the_choice_of_tools_is_logged(provider: Provider, log_file: Path, choice: Any) -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with plain_client() as http:
        await http.post(
            f"{provider.api_base}/chat/completions", json=chat | ({"tool_choice": choice} if choice else {})
        )
    [logged] = read_log(log_file)
    assert logged.arrival.tool_choice == choice
    assert logged == provider.served()[0]


async def test_a_log_never_continues_the_file_of_another(provider: Provider, log_file: Path) -> None:
    with pytest.raises(FileExistsError):
        async with serve_provider(log=log_file):
            pass
    assert provider.served() == read_log(log_file) == ()
