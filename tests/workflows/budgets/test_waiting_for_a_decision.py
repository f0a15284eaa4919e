"""How long an agent waits for a decision: past the deadline, because its result takes a while to arrive."""

from datetime import UTC, datetime

from temporalio.service import RPCError

from purser.workflows.options import DECISION_GRACE
from tests.support.world import World, eventually


async def wakes(world: World, task_id: str) -> datetime | None:
    """When the timer fires after which an agent continues without a decision; `None` while there is no timer."""
    try:
        history = await world.workflow(task_id, "a").fetch_history()
    except RPCError:
        return None  # not started yet
    for event in history.events:
        if event.HasField("timer_started_event_attributes"):
            timeout = event.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta()
            return event.event_time.ToDatetime(UTC) + timeout
    return None


async def test_an_agent_waits_for_its_decision_a_little_longer_than_until_the_deadline(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget={"agent": {"limit_tokens": 10, "mode": "approval"}})
    waits_until = await eventually(lambda: wakes(system, task_id))
    assert waits_until >= await system.pool.fetchval("select deadline from approvals") + DECISION_GRACE
    await system.workflow(task_id).cancel()
    await system.end(task_id)
