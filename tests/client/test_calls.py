"""`with purser.call(...)`: held, capped, and charged as the provider served it, however the block ends."""

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import httpx
import openai
import pytest
from pydantic import BaseModel

from purser.compose.demo.provider import Fault, FaultKind, Reply, Rule
from purser.context.tokens import count_text
from purser_client import (
    ApprovalNeeded,
    AsyncPurser,
    BudgetBusy,
    BudgetRefused,
    CallEnded,
    HoldClosed,
    InvalidRequest,
    NotStarted,
    Patience,
    Purser,
    PurserError,
    Unanswered,
    UnknownUsage,
)
from purser_client.calls.course import CallCourse, Pause
from purser_client.calls.terms import Terms
from purser_client.counting import cautious
from purser_client.errors import invalid
from purser_client.operations.operation import Operation
from purser_client.types import HoldView, Problem
from tests.client.conftest import MODEL, PATH, World
from tests.support.world import eventually

HELLO: Any = [{"role": "user", "content": "hello there"}]
WORDS = " ".join(f"word{number}" for number in range(60))
EXACT = 9
"""Tokens of HELLO by the tokenizer of the provider."""
AGE = "update holds set expires_at = expires_at - interval '31 seconds'"
"""Ends the lease and the time of grace of each hold."""


def count(text: str) -> int:
    return count_text(text, MODEL).tokens


async def test_a_reply_is_charged_as_it_was_served(world: World) -> None:
    await world.limit(5_000, mode="hard")
    purser, provider = await world.client(), await world.openai()
    async with purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50) as call:
        assert (await world.figures())[1] == call.hold.tokens
        reply = await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())
        settled = await call.settle(reply)
    assert [settled.charged.tokens] == world.served_tokens()
    assert call.charged == settled
    assert await world.figures() == (settled.charged.tokens, 0)
    assert settled.charged.nano_usd
    assert settled.overrun == 0


async def test_a_thread_calls_in_the_same_way(world: World) -> None:
    purser, provider = await world.plain(), world.plain_openai()

    def work() -> int | None:
        with purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50) as call:
            reply = provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=call.start())
            call.settle(reply)
        with purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50) as streaming:
            chunks = provider.chat.completions.create(
                model=MODEL,
                messages=HELLO,
                max_tokens=streaming.start(),
                stream=True,
                stream_options={"include_usage": True},
            )
            assert len(list(streaming.stream(chunks))) > 1
        assert streaming.charged is not None
        return streaming.charged.charged.tokens

    streamed = await asyncio.to_thread(work)
    served = world.served_tokens()
    assert streamed == served[1]
    assert await world.figures() == (sum(served), 0)


async def test_only_a_part_that_fits_is_held_and_handed_out(world: World) -> None:
    await world.limit(EXACT + 20, mode="hard")
    purser, provider = await world.client(), await world.openai()
    world.provider.control.add_rule(Rule(reply=Reply(content=WORDS)))
    terms: Any = {"model": MODEL, "input_tokens": EXACT, "max_output_tokens": 100, "min_output_tokens": 10}
    async with purser.call(PATH, **terms) as call:
        cap = await call.start()
        reply = await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=cap)
        await call.settle(reply)
    assert cap == call.max_tokens == 20
    assert world.served_tokens() == [EXACT + 20]
    assert await world.figures() == (EXACT + 20, 0)


async def test_nothing_is_charged_if_nothing_was_sent(world: World) -> None:
    purser = await world.client()
    with pytest.raises(KeyError):
        async with purser.call(PATH, model=MODEL, messages=HELLO) as call:
            raise KeyError
    assert await world.figures() == (0, 0)
    assert (await purser.holds.show(call.hold.hold_id or "")).state == "released"
    with pytest.raises(NotStarted):
        async with purser.call(PATH, model=MODEL, messages=HELLO) as call:
            await call.settle({"total": 5})
    assert await world.figures() == (0, 0)


async def test_a_request_that_the_provider_refused_costs_nothing(world: World) -> None:
    purser, provider = await world.client(), await world.openai()
    world.provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, times=1))
    with pytest.raises(openai.RateLimitError):
        async with purser.call(PATH, model=MODEL, messages=HELLO) as call:
            await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())
    nowhere = openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="none", max_retries=0)
    with pytest.raises(openai.APIConnectionError):
        async with nowhere, purser.call(PATH, model=MODEL, messages=HELLO) as call:
            await nowhere.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())
    assert await world.figures() == (0, 0)


async def test_a_request_that_may_have_cost_something_is_charged_its_estimate(world: World) -> None:
    purser, provider = await world.client(), await world.openai()
    world.provider.control.add_fault(Fault(kind=FaultKind.DROP, times=1))
    with pytest.raises(openai.APIConnectionError):
        async with purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50) as call:
            await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())
    assert await world.figures() == (call.hold.tokens, 0)


class _Answer(BaseModel):
    number: int


async def test_a_reply_that_was_cut_and_cannot_be_parsed_is_charged_as_it_was_served(world: World) -> None:
    purser, provider = await world.client(), await world.openai()
    world.provider.control.add_rule(Rule(reply=Reply(content=WORDS)))

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=20) as call:
            await provider.chat.completions.parse(
                model=MODEL, messages=HELLO, max_tokens=await call.start(), response_format=_Answer
            )

    with pytest.raises(openai.LengthFinishReasonError):
        await work()
    assert world.served_tokens() == [EXACT + 20]
    assert await world.figures() == (EXACT + 20, 0)


async def test_a_further_attempt_charges_the_one_that_never_reported(world: World) -> None:
    purser, provider = await world.client(), await world.openai()
    world.provider.control.add_fault(Fault(kind=FaultKind.DROP, times=1))
    async with purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50) as call:
        with pytest.raises(openai.APIConnectionError):
            await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())
        reply = await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())
        await call.settle(reply)
    assert reply.usage is not None
    assert await world.figures() == (call.hold.tokens + reply.usage.total_tokens, 0)


async def test_a_cancelled_block_is_charged_what_was_streamed(world: World) -> None:
    world.provider.control.add_rule(Rule(reply=Reply(content=WORDS), chunks=60, chunk_delay_ms=20))
    purser, provider = AsyncPurser(world.gateway.url, await world.key(), count=count), await world.openai()
    seen: list[str] = []
    arrived = asyncio.Event()

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=EXACT, max_output_tokens=400) as call:
            chunks = await provider.chat.completions.create(
                model=MODEL, messages=HELLO, max_tokens=await call.start(), stream=True
            )
            async for chunk in call.stream(chunks):
                seen.append(chunk.choices[0].delta.content or "")
                if len(seen) == 10:
                    arrived.set()

    async with purser:
        working = asyncio.create_task(work())
        await arrived.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
    charged, held = await world.figures()
    [served] = world.provider.served()
    end = await world.provider.log.end_of(served.seq)
    assert held == 0
    assert charged == EXACT + count("".join(seen))
    assert EXACT < charged <= EXACT + end.produced_tokens


async def test_a_cancelled_request_without_a_reply_is_charged_its_estimate(world: World) -> None:
    world.provider.control.add_fault(Fault(kind=FaultKind.HANG, times=1))
    purser, provider = await world.client(), await world.openai()

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=EXACT, max_output_tokens=40) as call:
            await provider.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=await call.start())

    working = asyncio.create_task(work())
    await eventually(lambda: _arrived(world))
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await world.figures() == (EXACT + 40, 0)


async def _arrived(world: World) -> bool:
    return bool(world.provider.served())


async def test_the_lease_of_a_running_call_is_kept_alive(world: World) -> None:
    purser, plain = await world.client(), await world.plain()

    async def renewed(call: Any, began: Any) -> bool:
        return bool((await purser.holds.show(call.hold.hold_id)).expires_at > began)

    async with purser.call(PATH, model=MODEL, messages=HELLO, lease_s=3) as call:
        await eventually(lambda: renewed(call, call.hold.expires_at))
    sync = await asyncio.to_thread(plain.call(PATH, model=MODEL, messages=HELLO, lease_s=3).__enter__)
    await eventually(lambda: renewed(sync, sync.hold.expires_at))
    await asyncio.to_thread(sync.__exit__, None, None, None)
    assert await world.figures() == (0, 0)


async def test_a_call_whose_process_dies_is_charged_when_its_lease_ends(world: World) -> None:
    purser = await world.client()
    lost = purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50, lease_s=1)
    await lost.__aenter__()
    await lost.start()
    assert lost._keeper is not None
    lost._keeper.cancel()  # as the end of its process would
    await world.gateway.pool.execute(AGE)

    async def ended() -> bool:
        return (await purser.holds.show(lost.hold.hold_id or "")).state == "expired"

    await eventually(ended)
    assert await world.figures() == (lost.hold.tokens, 0)


async def test_a_refusal_is_raised_with_its_figures_and_remedy(world: World) -> None:
    await world.limit(10, mode="hard")
    purser = await world.client()
    with pytest.raises(BudgetRefused, match="session:s1 may spend 10 tokens") as refused:
        async with purser.call(PATH, model=MODEL, messages=HELLO):
            raise AssertionError("it was admitted")
    assert refused.value.remedy
    assert refused.value.refusal is not None
    assert refused.value.refusal.limit.tokens == 10
    plain = await world.plain()
    with pytest.raises(BudgetRefused):
        await asyncio.to_thread(plain.call(PATH, model=MODEL, messages=HELLO).__enter__)


@pytest.mark.parametrize("waits", [False, True])
async def test_an_approval_is_raised_or_awaited(world: World, waits: bool) -> None:
    await world.limit(10, mode="approval")
    purser = await world.client()
    key = "call-1"
    with pytest.raises(ApprovalNeeded) as needed:
        await purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50, key=key).__aenter__()

    async def approve() -> None:
        await purser.approvals.decide(needed.value.approval_id, "approve")

    if not waits:
        await approve()
    call = purser.call(PATH, model=MODEL, messages=HELLO, max_output_tokens=50, key=key, approval_s=60 if waits else 0)
    entering = asyncio.create_task(call.__aenter__())
    if waits:
        await approve()
    async with await entering:
        assert call.hold.verdict in ("allow", "warn")


async def test_a_call_waits_for_open_calls_of_others_up_to_its_limit(world: World) -> None:
    await world.limit(100, mode="hard")
    purser = await world.client()
    terms: Any = {"model": MODEL, "input_tokens": 30, "max_output_tokens": 30}
    asks: list[httpx.Request] = []

    async def note(request: httpx.Request) -> None:
        if request.url.path == "/v1/holds":
            asks.append(request)

    async def asked_again() -> bool:
        return len(asks) >= 5

    purser._http.event_hooks["request"].append(note)
    async with purser.call(PATH, **terms):
        with pytest.raises(BudgetBusy):
            await purser.call(PATH, wait_s=0, **terms).__aenter__()
        waiting = asyncio.create_task(purser.call(PATH, wait_s=60, **terms).__aenter__())
        await eventually(asked_again)
        assert not waiting.done()
    async with await waiting as admitted:
        assert admitted.hold.tokens == 60


async def test_the_key_of_an_ended_call_is_not_used_again(world: World) -> None:
    purser = await world.client()
    async with purser.call(PATH, model=MODEL, input_tokens=5, key="k1") as call:
        await call.start()
        await call.settle({"input_tokens": 3, "output_tokens": 2})
    with pytest.raises(CallEnded, match="settled"):
        await purser.call(PATH, model=MODEL, input_tokens=5, key="k1").__aenter__()
    assert await world.figures() == (5, 0)


async def test_a_reply_without_usage_is_named_and_charged_its_estimate(world: World) -> None:
    purser = await world.client()
    async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
        await call.start()
        with pytest.raises(UnknownUsage, match="str has no usage"):
            await call.settle("only text")
    assert await world.figures() == (55, 0)


@pytest.mark.parametrize(
    "cut", [lambda call: call.start(), lambda call: call.settle({"total": 7})], ids=["start", "settle"]
)
async def test_a_cancel_while_the_gateway_answers_leaves_nothing_open(world: World, cut: Callable[[Any], Any]) -> None:
    purser = await world.client()
    sent: list[str] = []

    async def cancel(request: httpx.Request) -> None:
        if request.url.path.endswith(("/attempts", "/settle")):
            sent.append(request.url.path)
            if cut_at in request.url.path and not working.cancelling():
                working.cancel()

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
            if cut_at == "settle":
                await call.start()
            await cut(call)

    cut_at = "settle" if "settle" in str(cut.__code__.co_names) else "attempts"
    purser._http.event_hooks["request"].append(cancel)
    working = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await working
    assert sent
    assert await world.figures() == (7 if cut_at == "settle" else 0, 0)


@pytest.mark.parametrize("times", [1, 5])
async def test_a_cancel_while_the_gate_answers_leaves_no_hold(world: World, times: int) -> None:
    """Also if it is repeated until the task ends, as anyio does."""
    purser = await world.client()

    async def cancel(response: httpx.Response) -> None:
        if response.request.url.path == "/v1/holds":
            for _ in range(times):
                working.cancel()
                await asyncio.sleep(0)

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50, lease_s=600):
            raise AssertionError("it goes on")

    purser._http.event_hooks["response"].append(cancel)
    working = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await world.gateway.pool.fetchval("select count(*) from holds") == 1
    assert await world.figures() == (0, 0)


async def test_a_further_attempt_knows_nothing_of_what_the_one_before_has_streamed(world: World) -> None:
    purser = await world.client()

    async def broken() -> AsyncIterator[str]:
        yield "one two three"
        raise httpx.ReadError("broke")

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
            await call.start()
            with pytest.raises(httpx.ReadError):
                [part async for part in call.stream(broken())]
            await call.start()
            raise httpx.ConnectError("the second is never sent")

    with pytest.raises(httpx.ConnectError):
        await work()
    assert await world.figures() == (55, 0)


async def test_a_cancel_while_a_further_attempt_does_not_fit_charges_the_first(world: World) -> None:
    await world.limit(60, mode="hard", backpressure=[])
    purser = await world.client()

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
            await call.start()
            working.cancel()
            await call.start()

    working = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await world.figures() == (55, 0)


async def test_a_cancel_while_the_block_ends_does_not_stop_its_charge(world: World) -> None:
    purser = await world.client()

    async def cancel(request: httpx.Request) -> None:
        if request.url.path.endswith("/settle"):
            working.cancel()

    async def chunks() -> AsyncIterator[str]:
        yield "one "
        yield "two"

    async def work() -> None:
        async with purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50) as call:
            await call.start()
            assert [chunk async for chunk in call.stream(chunks())] == ["one ", "two"]

    purser._http.event_hooks["request"].append(cancel)
    working = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await world.figures() == (5 + 4, 0)


async def test_a_lease_that_no_thread_can_keep_alive_leaves_no_hold(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = await world.plain()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def work() -> None:
        monkeypatch.setattr("threading.Thread.start", refuse)
        with pytest.raises(RuntimeError), plain.call(PATH, model=MODEL, messages=HELLO):
            raise AssertionError("it goes on")
        monkeypatch.undo()

    await asyncio.to_thread(work)
    assert await world.figures() == (0, 0)


async def test_a_report_that_is_refused_is_noted_as_a_charged_estimate(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    purser = await world.client()
    call = purser.call(PATH, model=MODEL, input_tokens=5, max_output_tokens=50)

    async def work() -> None:
        async with call:
            await call.start()
            await call.settle({"total": -1})

    with pytest.raises(InvalidRequest):
        await work()
    assert await world.figures() == (55, 0)
    assert f"hold {call.hold.hold_id} is charged its estimate: usage field 'total' is -1" in caplog.text


async def test_a_report_that_cannot_be_sent_is_charged_as_the_estimate(world: World) -> None:
    purser, plain = await world.client(), await world.plain()
    terms: Any = {"model": MODEL, "input_tokens": 5, "max_output_tokens": 50}
    cycle: dict[str, Any] = {"total": 1}
    cycle["more"] = cycle

    async def settle(usage: dict[str, Any]) -> None:
        async with purser.call(PATH, **terms) as call:
            await call.start()
            await call.settle(usage)

    def leave(usage: dict[str, Any]) -> None:
        with plain.call(PATH, **terms) as call:
            call.start()
            call.arrived({"usage": usage})

    for usage in ({"total": math.inf}, {"total": 1, "more": object()}, {"total": 1, "\ud800": 1}, cycle):
        with pytest.raises((InvalidRequest, UnknownUsage)):
            await settle(usage)
    with pytest.raises(InvalidRequest):
        await asyncio.to_thread(leave, {"total": 1, "more": object()})
    assert await world.figures() == (5 * 55, 0)
    await settle({"total": 1, "more": math.nan})
    assert await world.figures() == (5 * 55 + 1, 0)


def test_a_usage_that_cannot_be_read_is_charged_as_the_estimate() -> None:
    def fails(text: str) -> int:
        raise KeyError(text)

    held: Any = HoldView.model_construct
    course = CallCourse(Terms(path=PATH, input_tokens=5), fails, held=held(hold_id="h1", tokens=55))
    course._begin(1)
    course.streamed.add("some text")
    release = next(course.end(None))
    assert isinstance(release, Operation)
    assert release.path == "/v1/holds/h1/release"


@pytest.mark.parametrize(("limit", "least"), [(100, 15), (10, 15), (8, 13)])
def test_a_reply_need_not_be_able_to_be_longer_than_its_limit(limit: int, least: int) -> None:
    terms = Terms(path=PATH, input_tokens=5, max_output_tokens=limit, min_output_tokens=10)
    asking = next(CallCourse(terms, cautious).admit())
    assert isinstance(asking, Operation)
    assert json.loads(asking.content() or "")["min_tokens"] == least


def test_a_stream_that_cannot_be_read_is_charged_its_estimate() -> None:
    held: Any = HoldView.model_construct
    course = CallCourse(Terms(path=PATH, input_tokens=5), cautious, held=held(hold_id="h1", tokens=55))
    course._begin(1)
    course.streamed.add({"message": {"content": "some text"}, "done": False})
    release = next(course.end(httpx.ConnectError("later")))
    assert isinstance(release, Operation)
    assert release.path == "/v1/holds/h1/release"


@pytest.mark.parametrize("reply", [{"total": 7}, None], ids=["report", "stream"])
@pytest.mark.parametrize(
    ("failure", "noted"),
    [(Unanswered("away"), "is left to its lease: away"), (invalid("no", ""), "is charged its estimate: no")],
    ids=["away", "refused"],
)
def test_a_charge_that_fails_is_only_noted(
    reply: Any, failure: PurserError, noted: str, caplog: pytest.LogCaptureFixture
) -> None:
    held: Any = HoldView.model_construct
    course = CallCourse(Terms(path=PATH, input_tokens=5), cautious, held=held(hold_id="h1", tokens=55))
    course._begin(1)
    course.streamed.add("some text")
    charging = course.charge(reply)
    settle = next(charging)
    assert isinstance(settle, Operation)
    assert settle.path == "/v1/holds/h1/settle"
    with suppress(StopIteration):
        charging.throw(failure)
        charging.send(None)  # the answer to a release
    assert f"hold h1 {noted}" in caplog.text
    assert list(course.end(None)) == []


@pytest.mark.parametrize(
    "terms",
    [
        {"max_output_tokens": 0},
        {"max_output_tokens": None},
        {"max_output_tokens": "5"},
        {"min_output_tokens": 0},
        {"input_tokens": -1},
        {"input_tokens": 1.5},
        {"attempt": 0},
        {"tries": None},
        {"lease_s": math.nan},
        {"lease_s": math.inf},
        {"lease_s": 0.5},
        {"wait_s": math.nan},
        {"approval_s": "5"},
        {"messages": {"role": "user"}},
        {"tools": 5},
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused(terms: dict[str, Any]) -> None:
    purser = Purser("http://127.0.0.1:9", "none", patience=Patience(retries=0))
    [name] = terms
    with purser, pytest.raises(InvalidRequest, match=name) as refused:
        purser.call(PATH, **terms)
    assert refused.value.problem.field == name


async def test_a_delay_longer_than_the_lease_is_outlasted_under_the_hold(world: World) -> None:
    await world.limit(1_000, mode="soft", backpressure=[(0.1, 1_500)])
    purser, plain = await world.client(), await world.plain()
    renewed: list[str] = []

    async def note(request: httpx.Request) -> None:
        renewed.append(request.url.path)

    purser._http.event_hooks["request"].append(note)
    plain._http.event_hooks["request"].append(lambda request: renewed.append(request.url.path))
    call = purser.call(PATH, input_tokens=5, max_output_tokens=500, lease_s=1.5)
    await call.admit()
    extend = f"/v1/holds/{call.hold.hold_id}/extend"
    assert renewed == ["/v1/holds", extend, extend]
    await call.end()
    renewed.clear()
    sync = plain.call(PATH, input_tokens=5, max_output_tokens=500, lease_s=1.5)
    await asyncio.to_thread(sync.__enter__)
    extend = f"/v1/holds/{sync.hold.hold_id}/extend"
    assert renewed[:3] == ["/v1/holds", extend, extend]
    await asyncio.to_thread(sync.__exit__, None, None, None)


def test_a_delay_goes_on_if_a_renewal_fails_and_ends_with_the_hold() -> None:
    course = CallCourse(Terms(path=PATH, lease_s=3), cautious)
    held: Any = HoldView.model_construct
    course.held = held(hold_id="h1")
    waiting = course._outlast(10)
    assert next(waiting) == Pause(1)
    extend = waiting.send(None)
    assert isinstance(extend, Operation)
    assert extend.path == "/v1/holds/h1/extend"
    assert waiting.throw(Unanswered("away")) == Pause(1)
    waiting.send(None)
    ended = {"type": "urn:purser:hold-closed", "title": "x", "status": 409, "detail": "x"}
    with pytest.raises(HoldClosed):
        waiting.throw(HoldClosed(Problem.model_validate(ended)))
