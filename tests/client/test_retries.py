"""Requests that get no answer are repeated, and take effect once."""

import asyncio
import traceback
from typing import Any

import httpx
import pytest

from purser.gateway.access.roles import Role
from purser_client import (
    AsyncPurser,
    Patience,
    Problem,
    Purser,
    PurserError,
    TimedOut,
    Unanswered,
    Unauthenticated,
    Unreadable,
)
from purser_client.types import Problem as ProblemView
from tests.client.conftest import MODEL, PATH, World
from tests.client.relay import relaying
from tests.support.servers.raw_server import raw_server, replies


@pytest.mark.parametrize("lost", ["/v1/holds ", "/attempts", "/settle"])
async def test_a_call_whose_answers_are_lost_is_held_and_charged_once(world: World, lost: str) -> None:
    async with relaying(world.gateway.url) as relay:
        purser = await world.client(Role.AGENT, relay.url)
        relay.losing, relay.times = lost, 2
        async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
            await call.start()
            await call.settle({"input_tokens": 5, "output_tokens": 7})
        await purser.close()
    assert len(relay.lost) == 2
    assert await world.figures() == (12, 0)
    assert await world.gateway.pool.fetchval("select count(*) from holds") == 1


@pytest.mark.parametrize("way", ["awaited", "plain", "interrupted"])
async def test_a_call_that_never_learns_that_it_has_started_costs_nothing(world: World, way: str) -> None:
    """It is not sent: the gateway has started its attempt, and every answer that says so is lost."""
    async with relaying(world.gateway.url) as relay:
        relay.losing, relay.times = "/attempts", 3
        key, patience = await world.key(), Patience(timeout_s=60, retries=2)
        terms: Any = {"model": MODEL, "input_tokens": 5, "max_output_tokens": 50}

        def work() -> None:
            with Purser(relay.url, key, patience=patience) as plain, plain.call(PATH, **terms) as call:
                if way == "interrupted":
                    relay.times = 0
                    plain._http.event_hooks["response"].append(_interrupt)
                call.start()

        if way == "awaited":
            with pytest.raises(Unanswered):
                async with AsyncPurser(relay.url, key, patience=patience) as purser, purser.call(PATH, **terms) as call:
                    await call.start()
        else:
            with pytest.raises(Unanswered if way == "plain" else KeyboardInterrupt):
                await asyncio.to_thread(work)
    assert await world.figures() == (0, 0)


def _interrupt(response: httpx.Response) -> None:
    if response.request.url.path.endswith("/attempts"):
        raise KeyboardInterrupt


async def test_a_further_attempt_without_an_answer_charges_the_one_before(world: World) -> None:
    async with relaying(world.gateway.url) as relay:
        purser = AsyncPurser(relay.url, await world.key(), patience=Patience(timeout_s=60, retries=0))

        async def work() -> None:
            async with purser, purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
                await call.start()
                relay.losing, relay.times = "/attempts", 1
                await call.start()

        with pytest.raises(Unanswered):
            await work()
    assert await world.figures() == (55, 0)


async def test_a_cost_that_was_not_settled_is_not_that_of_a_further_attempt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    purser = await world.client()
    send = purser.send
    lost: list[Any] = []

    async def once_away(operation: Any) -> Any:
        if operation.name == "holds_settle" and not lost:
            lost.append(operation)
            raise Unanswered("away")
        return await send(operation)

    monkeypatch.setattr(purser, "send", once_away)
    async with purser.call(PATH, nano_usd=900, input_tokens=1, max_output_tokens=1) as call:
        await call.start()
        with pytest.raises(Unanswered):
            await call.settle({"total": 1}, nano_usd=700)
        await call.start()
        call.arrived({"usage": {"input": 1, "output": 1}})
    assert call.charged is not None
    assert call.charged.charged.nano_usd == 900


async def test_an_addition_whose_answer_is_lost_is_added_once(world: World) -> None:
    async with relaying(world.gateway.url) as relay:
        purser = await world.client(Role.AGENT, relay.url)
        held = await purser.holds.ask(PATH, 100)
        relay.losing, relay.times = "/extend", 2
        extended = await purser.holds.extend(held.hold_id or "", tokens=50)
        await purser.close()
    assert len(relay.lost) == 2
    assert extended.tokens == 150
    assert await world.figures() == (0, 150)


async def test_one_connection_serves_many_requests(world: World) -> None:
    async with relaying(world.gateway.url) as relay:
        purser = await world.client(Role.AGENT, relay.url)
        for _ in range(5):
            async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
                await call.start()
                await call.settle({"total": 1})
        await purser.close()
    assert relay.connections == 1


def test_a_gateway_that_is_away_is_named_with_what_to_check() -> None:
    with (
        Purser("http://127.0.0.1:9", "none", patience=Patience(retries=1)) as purser,
        pytest.raises(Unanswered, match=r"http://127\.0\.0\.1:9 cannot be reached .*check the address"),
    ):
        purser.budgets.list()


async def test_what_is_no_gateway_is_named(world: World) -> None:
    async with raw_server(replies(b"<html>", "text/html", "404 Not Found")) as other:
        stranger = await world.client(url=f"http://127.0.0.1:{other.port}")
        with pytest.raises(Unreadable, match="status 404 without a problem"):
            await stranger.budgets.list()


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "about:blank", "title": "Bad Request", "status": "bad", "detail": null}',
        b"[" * 100_000,
    ],
)
async def test_a_problem_of_another_server_is_none_of_a_gateway(body: bytes) -> None:
    answer = replies(body, "application/problem+json", "400 Bad Request")
    async with raw_server(answer) as other, AsyncPurser(f"http://127.0.0.1:{other.port}", "none") as purser:
        with pytest.raises(Unreadable, match="status 400 without a problem"):
            await purser.budgets.list()


async def test_an_answer_that_cannot_be_decoded_is_named() -> None:
    async with raw_server(replies(b"no gzip", "text/event-stream", more="content-encoding: gzip\r\n")) as other:
        address = f"http://127.0.0.1:{other.port}"
        async with AsyncPurser(address, "none") as purser:
            with pytest.raises(Unreadable, match="cannot be decoded"):
                await purser.budgets.list()
            with pytest.raises(Unreadable, match="cannot be decoded"):
                await anext(purser.events())
        with Purser(address, "none") as plain:
            with pytest.raises(Unreadable, match="cannot be decoded"):
                await asyncio.to_thread(plain.budgets.list)
            with pytest.raises(Unreadable, match="cannot be decoded"):
                await asyncio.to_thread(lambda: next(plain.events()))


async def test_the_error_of_an_answer_of_another_version_repeats_none_of_its_text() -> None:
    async with raw_server(replies(b'{"messages": ["what she said"]}', "application/json")) as other:
        purser = Purser(f"http://127.0.0.1:{other.port}", "none")
        with purser, pytest.raises(Unreadable, match="an answer of another version") as refused:
            await asyncio.to_thread(purser.sessions.messages, "s1")
    assert "what she said" not in "".join(traceback.format_exception(refused.value))


async def test_a_wrong_key_is_not_tried_again(world: World) -> None:
    async with relaying(world.gateway.url) as relay:
        purser = await world.client(url=relay.url)
        purser._http.headers["Authorization"] = "Bearer wrong"
        with pytest.raises(Unauthenticated) as refused:
            await purser.budgets.list()
        await purser.close()
    assert refused.value.status == 401
    assert refused.value.remedy in str(refused.value)


async def test_what_a_load_balancer_answers_for_the_gateway_is_no_answer(world: World) -> None:
    async with raw_server(replies(b"<html>", "text/html", "502 Bad Gateway")) as between:
        purser = Purser(f"http://127.0.0.1:{between.port}", "none", patience=Patience(retries=2))
        with purser, pytest.raises(Unanswered, match="status 502 from a server in between"):
            await asyncio.to_thread(purser.budgets.list)
    assert len(between.requests) == 3


@pytest.mark.parametrize(
    ("error", "repeated", "pauses"),
    [
        (Unanswered(), 0, True),
        (TimedOut(), 3, True),
        (Unanswered(), 4, False),
        (Unreadable(), 0, False),
        ("retryable", 0, True),
        ("final", 0, False),
        ("much later", 0, False),
    ],
)
def test_patience(error: PurserError | str, repeated: int, pauses: bool) -> None:
    if isinstance(error, str):
        asked = 60_000 if error == "much later" else 1_500
        fields = {"type": "x", "title": "x", "status": 429, "detail": "x", "retry_after_ms": asked}
        error = Problem(ProblemView.model_validate(fields | {"retryable": error != "final"}))
    pause = Patience().pause(error, repeated)
    assert (pause is not None) == pauses
    assert pause is None or pause >= (1.5 if isinstance(error, Problem) else 0.1)


@pytest.mark.parametrize("detail", ["path is empty", "path is empty."])
def test_detail_and_remedy_are_two_sentences(detail: str) -> None:
    fields = {"type": "x", "title": "x", "status": 422, "detail": detail}
    assert str(Problem(ProblemView.model_validate(fields | {"remedy": "Name it."}))) == "path is empty. Name it."
    assert str(Problem(ProblemView.model_validate(fields))) == detail


async def test_a_key_goes_on_where_its_hold_is(world: World) -> None:
    purser = await world.client()
    terms: Any = {"model": MODEL, "input_tokens": 5, "max_output_tokens": 20, "key": "k2"}
    lost = purser.call(PATH, **terms)
    await lost.__aenter__()
    await lost.start()
    assert lost._keeper is not None
    lost._keeper.cancel()  # as the end of its process would
    async with purser.call(PATH, **terms) as call:
        await call.start()
        await call.settle({"total": 7})
    assert call.hold.hold_id == lost.hold.hold_id
    assert await world.figures() == (25 + 7, 0)
