"""Purser's own failures, and answers that no provider should give: what they cost, and which requests are retried."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.service import RPCError

from purser.activities.runtime.registry import Activity, all_activities
from purser.budget.errors import LedgerUnavailable
from purser.compose.demo.provider import Fault, FaultKind
from purser.workflows.contract import ActivityName, AgentClosing, TaskClosing, TaskRef
from tests.support.servers.raw_server import endless, raw_server, replies
from tests.support.world import LEASE_S, World, eventually, named


@pytest.mark.parametrize(
    ("model", "reason"),
    [("openai/gpt-4o", "authentication"), ("oobabooga/m", "provider_not_allowed")],
    ids=["no key", "a provider that is not allowed"],
)
async def test_a_request_that_cannot_leave_starts_no_attempt(
    system: World, model: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    task = await system.run(system.agent("a", model=model, api_base=None))
    assert (task["status"], task["agents"]["a"]["reason"]) == ("failed", reason)
    assert await system.pool.fetchval("select count(*) from attempts") == 0
    assert await system.spent(f"task:{task['task_id']}") == 0
    await system.audited()


@pytest.mark.parametrize("said", ["word " * 500, "word " * 100], ids=["few long chunks", "the same again and again"])
async def test_a_reply_longer_than_any_asked_for_is_charged_and_not_tried_again(system: World, said: str) -> None:
    delta = {"choices": [{"index": 0, "delta": {"content": said}}]}
    async with raw_server(endless(b"data: " + json.dumps(delta).encode() + b"\n\n")) as server:
        task = await system.run(system.agent("a", api_base=server.api_base))
    assert (task["status"], task["agents"]["a"]["reason"]) == ("failed", "reply_too_large")
    assert len(server.requests) == 1
    usage = task["agents"]["a"]["usage"]
    assert usage["estimated"]
    assert usage["output"] > 1_000, "what was produced is charged"
    await system.audited()


async def test_what_fails_inside_a_workflow_task_is_done_by_a_regular_activity(idle: World) -> None:
    real = {named(one): one for one in all_activities(idle.dependencies)}
    failed = []

    def fails_at_once(name: ActivityName, takes: type) -> Activity:
        async def failing(argument: Any) -> Any:
            if activity.info().is_local:
                failed.append(name)
                raise LedgerUnavailable("away")
            return await real[name](argument)

        failing.__annotations__["argument"] = takes
        return activity.defn(name=name)(failing)

    tools = [
        fails_at_once(ActivityName.OPEN_TASK, TaskRef),
        fails_at_once(ActivityName.CLOSE_AGENT, AgentClosing),
        fails_at_once(ActivityName.CLOSE_TASK, TaskClosing),
    ]
    async with idle.worker(*tools):
        task = await idle.run(idle.agent("a", "Done."))
    assert failed == [ActivityName.OPEN_TASK, ActivityName.CLOSE_AGENT, ActivityName.CLOSE_TASK]
    assert (task["status"], task["agents"]["a"]["reply"]) == ("completed", "Done.")
    await idle.audited()


async def test_a_provider_cannot_delay_an_agent_for_years(system: World) -> None:
    later = replies(b"{}", "application/json", "429 Too Many Requests", "retry-after: 999999999\r\n")
    async with raw_server(later) as server:
        task_id = await system.submit(system.agent("a", api_base=server.api_base))
        again = await eventually(lambda: put_off_until(system, task_id))
        assert again - datetime.now(UTC) <= timedelta(minutes=10)
        await system.workflow(task_id).cancel()
        await system.end(task_id)


async def test_a_hold_outlives_the_pause_that_its_provider_asks_for(system: World) -> None:
    system.provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, retry_after_ms=10 * LEASE_S * 1_000))
    task_id = await system.submit(system.agent("a"))
    again = await eventually(lambda: put_off_until(system, task_id))
    assert await system.pool.fetchval("select expires_at from holds where state = 'held'") > again
    await system.workflow(task_id).cancel()
    await system.end(task_id)
    await system.audited()


async def put_off_until(world: World, task_id: str) -> datetime | None:
    """When the second request of an agent may leave; `None` before the first one has failed."""
    try:
        described = await world.workflow(task_id, "a").describe()
    except RPCError:
        return None  # not started yet
    for pending in described.raw_description.pending_activities:
        if pending.HasField("next_attempt_schedule_time") and pending.attempt > 1:
            return pending.next_attempt_schedule_time.ToDatetime(UTC)
    return None
