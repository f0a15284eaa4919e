"""The table that every adapter passes: in each cell, what is charged is what the provider's own log says.

A folder of a framework offers the fixture `road_of`, which makes a `Road` from the options of its calls, and imports
these tests. `retries` of it is how often the framework itself repeats a failed request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from doors import WORDS, Door
from roads import HELLO, Road, call, cancel, leave

from purser_client import ApprovalNeeded, BudgetBusy, BudgetRefused, Patience

OUTPUT = 60
"""The most that a reply may have in the table."""
PROMPT = 9
"""Tokens of HELLO, by the provider and by the client."""
RoadOf = Callable[..., Road]
ARRIVED = 12
"""Chunks of a stream, a token each, before it stalls."""


async def test_answer(door: Door, road_of: RoadOf) -> None:
    await door.limit(5_000)
    assert "hello" in await road_of().ask(HELLO)
    [served] = await door.served()
    assert served["charged_tokens"] > PROMPT
    await door.is_charged(served["charged_tokens"])
    assert [path.rpartition("/")[2] for path in door.sent if "holds" in path] == ["holds", "attempts", "settle"]


async def test_stream(door: Door, road_of: RoadOf) -> None:
    await door.limit(5_000)
    await door.script(rules=[{"reply": {"content": WORDS}, "chunks": 40}])
    assert "".join([piece async for piece in road_of().stream(HELLO)]) == WORDS
    [served] = await door.served()
    assert served["arrival"]["stream"]
    assert served["charged_tokens"] == PROMPT + 40
    await door.is_charged(served["charged_tokens"])


async def test_the_output_is_capped_by_the_hold(door: Door, road_of: RoadOf) -> None:
    await door.limit(PROMPT + 20)
    await door.script(rules=[{"reply": {"content": WORDS}}])
    await road_of(min_output_tokens=10).ask(HELLO)
    [served] = await door.served()
    assert served["end"]["produced_tokens"] == 20
    await door.is_charged(PROMPT + 20)


async def test_a_reply_without_usage_is_charged_its_estimate(door: Door, road_of: RoadOf) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    await road_of().ask(HELLO)
    assert [one["charged_tokens"] for one in await door.served()] == [0]
    await door.is_charged(PROMPT + OUTPUT)


async def test_a_stream_without_usage_is_charged_what_has_arrived(door: Door, road_of: RoadOf) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    assert [piece async for piece in road_of().stream(HELLO)] == ["hello"]
    await door.is_charged(PROMPT + 1)


@pytest.mark.parametrize("end", [cancel, leave])
async def test_stream_that_is_cancelled_or_left(
    door: Door,
    road_of: RoadOf,
    end: Callable[[Road, int], Awaitable[None]],
    abandoned: dict[str, Any],
    left_stream: int,
) -> None:
    await door.script(
        rules=[{"reply": {"content": WORDS}, "chunks": 40}], faults=[{"kind": "hang", "after_chunks": ARRIVED}]
    )
    await end(road_of(**abandoned), ARRIVED)
    [served] = await door.served()
    assert served["end"]["outcome"] == "client_gone"
    assert served["end"]["produced_tokens"] == ARRIVED
    await door.is_charged(PROMPT + left_stream)


async def test_cancelled_before_the_answer_is_charged_the_estimate(
    door: Door, road_of: RoadOf, abandoned: dict[str, Any]
) -> None:
    await door.script(faults=[{"kind": "hang"}])
    asking = asyncio.create_task(road_of(**abandoned).ask(HELLO))
    await door.arrived()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    [served] = await door.served()
    assert served["end"]["outcome"] == "client_gone"
    await door.is_charged(PROMPT + OUTPUT)


async def test_error_of_the_provider_that_costs_nothing(door: Door, road_of: RoadOf) -> None:
    await door.script(faults=[{"kind": "rate_limited", "retry_after_ms": 1}])
    with pytest.raises(Exception, match=r"(?i)scripted to refuse"):
        await road_of().ask(HELLO)
    [served] = await door.served()
    assert (served["end"]["status"], served["charged_tokens"]) == (429, 0)
    await door.is_charged(0)


async def test_error_of_the_provider_that_may_have_worked_is_charged_the_estimate(door: Door, road_of: RoadOf) -> None:
    await door.script(faults=[{"kind": "server_error"}])
    with pytest.raises(Exception, match=r"(?i)scripted to refuse"):
        await road_of().ask(HELLO)
    assert len(await door.served()) == 1
    await door.is_charged(PROMPT + OUTPUT)


async def test_retry_after_nothing(door: Door, road_of: RoadOf) -> None:
    await door.script(faults=[{"kind": "rate_limited", "retry_after_ms": 1}])
    assert "hello" in await road_of(retries=2).ask(HELLO)
    refused, served = await door.served()
    assert refused["end"]["status"] == 429
    await door.is_charged(served["charged_tokens"])


async def test_retry_after_a_lost_answer(door: Door, road_of: RoadOf) -> None:
    await door.script(faults=[{"kind": "drop"}])
    assert "hello" in await road_of(retries=2).ask(HELLO)
    _, served = await door.served()
    await door.is_charged(PROMPT + OUTPUT, served["charged_tokens"])


@pytest.mark.parametrize("way", ["ask", "stream"])
async def test_a_gateway_that_goes_away_while_the_model_runs_costs_no_reply(
    door: Door, road_of: RoadOf, way: str
) -> None:
    async def away(request: httpx.Request) -> None:
        if request.url.path.endswith(("/settle", "/release")):
            raise httpx.ConnectError("away")

    door.purser._http.event_hooks["request"].append(away)
    door.purser.patience = Patience(retries=0)
    assert "hello" in "".join(await call(road_of(retries=2), way))
    assert len(await door.served()) == 1
    assert await door.figures() == (0, PROMPT + OUTPUT)


@pytest.mark.parametrize("way", ["ask", "stream"])
async def test_refusal_is_one_request_to_the_gate_and_none_to_the_provider(
    door: Door, road_of: RoadOf, way: str
) -> None:
    await door.limit(10)
    door.sent.clear()
    with pytest.raises(BudgetRefused) as refused:
        await call(road_of(retries=2), way)
    assert refused.value.refusal is not None
    assert refused.value.refusal.limit.tokens == 10
    assert door.sent == ["/v1/holds"]
    assert await door.served() == []
    await door.is_charged(0)


async def test_wait(door: Door, road_of: RoadOf) -> None:
    await door.limit(100)
    async with door.taken(90):
        with pytest.raises(BudgetBusy):
            await road_of(wait_s=0).ask(HELLO)
        asking = asyncio.create_task(road_of(wait_s=60).ask(HELLO))
        await door.asked(3)
        assert await door.served() == []
    assert "hello" in await asking
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_approval(door: Door, road_of: RoadOf) -> None:
    await door.limit(10, mode="approval")
    with pytest.raises(ApprovalNeeded) as needed:
        await road_of().ask(HELLO)
    assert needed.value.approval_id
    asking = asyncio.create_task(road_of(approval_s=60).ask(HELLO))
    await door.asked(3)
    assert await door.served() == []
    await door.approve()
    assert "hello" in await asking
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_parallel_calls_do_not_overspend(door: Door, road_of: RoadOf) -> None:
    await door.limit(3 * (PROMPT + OUTPUT))
    answers = await asyncio.gather(*(road_of().ask(HELLO) for _ in range(8)), return_exceptions=True)
    said = [one for one in answers if isinstance(one, str)]
    served = await door.served()
    assert len(said) == len(served) >= 3
    assert all(isinstance(one, (BudgetBusy, BudgetRefused)) for one in answers if one not in said)
    await door.is_charged(*(one["charged_tokens"] for one in served))
