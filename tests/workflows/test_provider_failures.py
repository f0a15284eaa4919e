"""Failures between Purser and a provider, and their cost: the ledger agrees with the provider's own log."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from temporalio import activity

from purser.activities.models.provider import ModelProvider, Timeouts
from purser.activities.runtime.registry import all_activities
from purser.activities.runtime.stores import Stores
from purser.budget.postgres.ledger.ledger import Ledger
from purser.compose.demo.provider import Fault, FaultKind, Rule, Served, Usage, charged_tokens
from purser.compose.stack.ports import free_port
from purser.workflows.contract import ActivityName, CallInput, CallResult
from tests.support.world import TENANT, World, calls, eventually, named


def fault(kind: FaultKind, **more: Any) -> Fault:
    return Fault(kind=kind, **more)


async def attempts(world: World) -> list[tuple[str, int]]:
    """State and charge of every attempt, in order."""
    rows = await world.pool.fetch("select state, tokens from attempts order by hold_id, attempt")
    return [(row["state"], row["tokens"]) for row in rows]


def request_ids(served: tuple[Served, ...]) -> list[str]:
    return [str(one.arrival.request_id) for one in served]


async def test_a_rate_limit_costs_nothing_and_is_tried_again_when_the_provider_says(system: World) -> None:
    system.provider.control.add_fault(fault(FaultKind.RATE_LIMITED, retry_after_ms=1_500))
    task = await system.run(system.agent("a"))
    first, second = system.provider.served()
    assert task["status"] == "completed"
    assert seconds_between(first, second) >= 1.5
    assert await attempts(system) == [("reported", 0), ("reported", second.charged_tokens)]
    hold_id = await system.pool.fetchval("select hold_id from attempts where attempt = 1")
    assert request_ids((first, second)) == [f"{hold_id}-{attempt}" for attempt in (1, 2)]
    await system.audited()


async def test_a_task_shows_why_a_call_is_tried_again(system: World) -> None:
    system.provider.control.add_fault(fault(FaultKind.RATE_LIMITED, retry_after_ms=600_000))
    task_id = await system.submit(system.agent("a"))
    task = await system.until(task_id, lambda task: task["agents"]["a"]["failure"])
    failure = task["agents"]["a"]["failure"]
    assert (failure["attempt"], failure["reason"]) == (1, "rate_limited")
    assert failure["at"] > task["submitted_at"]
    await system.workflow(task_id).cancel()
    assert (await system.end(task_id))["agents"]["a"]["failure"] is None


@pytest.mark.parametrize(
    "broken",
    [
        fault(FaultKind.SERVER_ERROR),
        fault(FaultKind.DROP),
        fault(FaultKind.DROP, after_chunks=1),
        fault(FaultKind.HANG),
        fault(FaultKind.HANG, after_chunks=1),
    ],
    ids=["500", "drop", "drop in the stream", "hang", "hang in the stream"],
)
async def test_what_may_have_cost_something_is_presumed_at_its_estimate(system: World, broken: Fault) -> None:
    system.provider.control.add_fault(broken)
    task = await system.run(system.agent("a", "word " * 50))
    second = system.provider.served()[1]
    assert task["status"] == "completed"
    estimate = int(await system.pool.fetchval("select tokens from calls"))
    assert await attempts(system) == [("presumed", estimate), ("reported", second.charged_tokens)]
    assert task["agents"]["a"]["usage"]["unsplit"] == estimate
    await system.audited()


async def test_a_refused_connection_costs_nothing(idle: World) -> None:
    idle.dependencies = idle.with_settings(max_attempts=2)
    async with idle.worker():
        task = await idle.run(idle.agent("a", api_base=f"http://127.0.0.1:{free_port()}/v1"))
    assert (task["status"], task["agents"]["a"]["reason"]) == ("failed", "unreachable")
    assert await attempts(idle) == [("reported", 0)] * 2
    await idle.audited()


async def test_a_provider_that_never_answers_fails_the_agent_after_the_last_attempt(idle: World) -> None:
    idle.dependencies = idle.with_settings(max_attempts=3)
    idle.provider.control.add_fault(fault(FaultKind.RATE_LIMITED, times=None, retry_after_ms=10))
    async with idle.worker():
        task = await idle.run(idle.agent("a"))
    assert (task["status"], task["agents"]["a"]["reason"]) == ("failed", "rate_limited")
    assert await attempts(idle) == [("reported", 0)] * 3
    await idle.audited()


async def test_a_reply_that_cannot_be_stored_is_not_paid_for_without_end(own_idle: World) -> None:
    await own_idle.pool.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'full'; end $$;"
        "create trigger refuse before insert on messages for each row"
        " when (new.role = 'assistant') execute function refuse()"
    )
    own_idle.dependencies = own_idle.with_settings(max_attempts=2)
    async with own_idle.worker():
        task = await own_idle.run(own_idle.agent("a"))
    assert (task["status"], task["agents"]["a"]["reason"]) == ("failed", "reply_not_stored")
    assert len(own_idle.provider.served()) == 2
    assert [state for state, _ in await attempts(own_idle)] == ["presumed", "presumed", "reported"]
    await own_idle.audited()


async def test_a_client_error_is_not_tried_again(system: World) -> None:
    task = await system.run(system.agent("a", api_base=f"{system.provider.address}/nowhere"))
    assert (task["status"], task["agents"]["a"]["reason"]) == ("failed", "model_not_found")
    assert await attempts(system) == [("reported", 0)]
    await system.audited()


async def test_usage_that_the_provider_does_not_report_is_estimated_and_marked(system: World) -> None:
    system.provider.control.add_rule(Rule(report_usage=False))
    task = await system.run(system.agent("a", "Five words are said here."))
    usage, [served] = task["agents"]["a"]["usage"], system.provider.served()
    assert usage["estimated"]
    assert served.end is not None
    assert (usage["input"], usage["output"]) == (served.arrival.prompt_tokens, served.end.produced_tokens)


async def test_usage_above_the_hold_is_charged_in_full_as_overrun(system: World) -> None:
    system.provider.control.add_rule(Rule(usage=Usage(prompt_tokens=5_000, completion_tokens=5_000)))
    task = await system.run(system.agent("a"))
    assert await system.spent(f"task:{task['task_id']}") == 10_000
    assert task["agents"]["a"]["overrun"] > 9_000
    await system.audited()


async def test_a_top_up_that_does_not_fit_gives_the_hold_back_and_the_gate_decides_anew(system: World) -> None:
    system.provider.control.add_fault(fault(FaultKind.SERVER_ERROR))
    task = await system.run(system.agent("a"), budget={"task": {"limit_tokens": 150, "mode": "hard"}})
    assert (task["status"], task["agents"]["a"]["reason"]) == ("refused", "limit")
    assert len(system.provider.served()) == 1
    await system.audited()


async def test_a_hold_that_expired_before_the_call_is_admitted_anew(idle: World) -> None:
    await idle.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 500]])
    async with idle.worker():
        task_id = await idle.submit(idle.agent("a"), session_id="slow")
        expire = "select ledger_expire('0', 10, clock_timestamp() + interval '1 hour')"
        assert await eventually(lambda: idle.pool.fetchval(expire))
        task = await idle.end(task_id)
    assert task["status"] == "completed"
    assert await idle.pool.fetchval("select count(*) from holds where state = 'expired'") == 1
    assert len(idle.provider.served()) == 1
    await idle.audited()


async def test_a_call_longer_than_its_lease_keeps_its_hold(idle: World) -> None:
    short = replace(idle.ledger.settings, lease_s=2, grace_s=0)
    idle.dependencies = replace(
        idle.with_settings(lease_ms=2_000),
        stores=Stores(ledger=Ledger(idle.pool, short), redaction=()),
        quick=Stores(ledger=Ledger(idle.dependencies.quick.pool, short), redaction=()),
        provider=ModelProvider({}, Timeouts(silence_s=20)),
    )
    idle.provider.control.add_fault(fault(FaultKind.SLOW, delay_ms=5_000))
    async with idle.worker():
        task_id = await idle.submit(idle.agent("a"))
        while (await idle.tasks.get(TENANT, task_id))["ended_at"] is None:
            await idle.ledger.sweep()
            await asyncio.sleep(0.1)
    assert await idle.pool.fetchval("select state from holds") == "settled"
    assert len(idle.provider.served()) == 1


async def test_a_reply_whose_acknowledgement_was_lost_is_neither_asked_for_nor_charged_twice(idle: World) -> None:
    [real] = [one for one in all_activities(idle.dependencies) if named(one) == ActivityName.CALL_MODEL]

    @activity.defn(name=ActivityName.CALL_MODEL)
    async def loses_its_first_answer(request: CallInput) -> CallResult:
        result: CallResult = await real(request)
        if activity.info().attempt == 1:
            raise ConnectionError
        return result

    async with idle.worker(loses_its_first_answer):
        task = await idle.run(idle.agent("a", calls("nothing"), "Done."))
    served = idle.provider.served()
    assert (len(served), task["agents"]["a"]["turns"]) == (2, 2)
    assert await idle.spent(f"task:{task['task_id']}") == charged_tokens(served)
    await idle.audited()


async def test_a_worker_that_stops_during_a_call_leaves_its_hold_to_the_next_one(idle: World) -> None:
    idle.provider.control.add_rule(Rule(chunks=5))
    idle.provider.control.hold(after_chunks=2)
    async with idle.worker(grace=timedelta(0)):
        task_id = await idle.submit(idle.agent("a", "word " * 50))
        await idle.provider.control.wait_held()
    assert await idle.open_holds() == 1
    async with idle.worker():
        task = await idle.end(task_id)
    first, second = idle.provider.served()
    assert first.end is not None
    cut_off = first.arrival.prompt_tokens + first.end.produced_tokens
    assert await attempts(idle) == [("reported", cut_off), ("reported", second.charged_tokens)]
    assert task["agents"]["a"]["holds"] == 1
    await idle.audited()


def seconds_between(one: Served, other: Served) -> float:
    began, again = (datetime.fromisoformat(each.arrived_at) for each in (one, other))
    return (again - began).total_seconds()
