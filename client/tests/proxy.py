"""The table that clients pass which know nothing of Purser but the address of its proxy, and a key.

A folder of a client offers the fixture `client_of`, which makes a `Road` of it from further headers, and imports these
tests. The client repeats failed requests as it does by default.
"""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from doors import WORDS, Door
from roads import HELLO, Road, call, cancel, leave
from table import OUTPUT, PROMPT

KEY = os.environ.get("PURSER_API_KEY", "")
ClientOf = Callable[..., Road]
CALLERS = 50
LIMIT = 4 * (PROMPT + OUTPUT)
"""Of many callers: for some of them at a time, and in sum for fewer than call."""
LEFT = 6
"""Streams that are left, each at a random point."""
PATIENCE = 3
"""How often each of these clients sends a request that may succeed soon."""


@pytest.fixture
def frozen_requests() -> int:
    """How often a client sends a request that no scope admits because one is frozen."""
    return 1


def address(protocol: str) -> str:
    """Where the proxy speaks a protocol, for example `openai/v1`."""
    return f"{os.environ['PURSER_URL'].rstrip('/')}/{protocol}"


def headers(door: Door, more: dict[str, str]) -> dict[str, str]:
    """Who pays, and the provider of the tests."""
    return {"Purser-Path": door.session, "Purser-Api-Base": door.api_base} | more


async def test_answer(door: Door, client_of: ClientOf) -> None:
    await door.limit(5_000)
    assert "hello" in await client_of().ask(HELLO)
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])
    assert door.proxied == 1


async def test_stream(door: Door, client_of: ClientOf) -> None:
    await door.limit(5_000)
    await door.script(rules=[{"reply": {"content": WORDS}, "chunks": 40}])
    assert "".join([piece async for piece in client_of().stream(HELLO)]) == WORDS
    [served] = await door.served()
    assert served["arrival"]["stream"]
    await door.is_charged(PROMPT + 40)
    assert door.proxied == 1


@pytest.mark.parametrize("way", ["ask", "stream"])
@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"mode": "hard"}, "may spend 10 tokens"),
        ({"mode": "approval"}, "/approvals"),
    ],
    ids=["refused", "asked"],
)
async def test_a_refusal_is_asked_for_once_and_says_why(
    door: Door, client_of: ClientOf, policy: dict[str, Any], said: str, way: str
) -> None:
    await door.limit(10, **policy)
    with pytest.raises(Exception, match=said):
        await call(client_of(), way)
    assert door.proxied == 1
    assert await door.served() == []
    await door.is_charged(0)


async def test_a_frozen_scope_admits_nothing(door: Door, client_of: ClientOf, frozen_requests: int) -> None:
    await door.limit(5_000, frozen=True)
    with pytest.raises(Exception, match="session:"):
        await client_of().ask(HELLO)
    assert door.proxied == frozen_requests
    assert await door.served() == []


async def test_a_busy_budget_is_asked_again_until_the_patience_of_the_client_ends(
    door: Door, client_of: ClientOf
) -> None:
    await door.limit(100)
    async with door.taken(90):
        with pytest.raises(Exception, match="Send the same request again"):
            await client_of(Prefer="wait=0").ask(HELLO)
    assert door.proxied == PATIENCE
    assert await door.served() == []


async def test_a_call_that_waits_for_a_person_is_one_request(door: Door, client_of: ClientOf) -> None:
    await door.limit(10, mode="approval")
    asking = asyncio.create_task(client_of(Prefer="wait=60").ask(HELLO))
    await door.approve()
    assert "hello" in await asking
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])
    assert door.proxied == 1


async def test_a_request_that_the_client_repeats_is_a_call_of_its_own(door: Door, client_of: ClientOf) -> None:
    await door.script(faults=[{"kind": "server_error"}])
    assert "hello" in await client_of().ask(HELLO)
    _, served = await door.served()
    await door.is_charged(PROMPT + OUTPUT, served["charged_tokens"])
    assert door.proxied == 2


async def test_many_callers_of_one_budget_do_not_overspend(door: Door, client_of: ClientOf) -> None:
    await door.limit(LIMIT)
    client = client_of()
    answers = await asyncio.gather(*(client.ask(HELLO) for _ in range(CALLERS)), return_exceptions=True)
    refused = [str(one) for one in answers if isinstance(one, Exception)]
    served = await door.served()
    assert len(served) == CALLERS - len(refused) >= LIMIT // (PROMPT + OUTPUT)
    assert refused
    assert all("may spend" in one or "Send the same request again" in one for one in refused)
    charged = sum(one["charged_tokens"] for one in served)
    assert charged <= LIMIT
    await door.is_charged(charged)


@pytest.mark.parametrize("end", [cancel, leave])
async def test_streams_that_are_cancelled_or_left_at_random_points(
    door: Door, client_of: ClientOf, end: Callable[[Road, int], Awaitable[None]]
) -> None:
    chance = random.Random(os.environ.get("PURSER_TEST_SEED"))
    points = [chance.randrange(1, 40) for _ in range(LEFT)]
    stalls = [{"kind": "hang", "after_chunks": point} for point in points]
    await door.script(rules=[{"reply": {"content": WORDS}, "chunks": 40}], faults=stalls)
    client = client_of()
    for point in points:
        await end(client, point)
    served = await door.served()
    assert {one["end"]["outcome"] for one in served} == {"client_gone"}
    assert [one["end"]["produced_tokens"] for one in served] == points
    await door.is_charged(*(PROMPT + point for point in points))
