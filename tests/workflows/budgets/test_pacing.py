"""The pace of a provider: parallel tasks share it, wait without a worker, and learn of a pause from one of them."""

import asyncio
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit

from purser.activities.models.provider import ModelProvider, Timeouts
from purser.activities.pacing.limits import Pacing
from purser.activities.pacing.pace import Pace
from purser.activities.pacing.pacer import Pacer
from purser.activities.postgres.calls.pacing import PacingStore
from purser.compose.demo.provider import Fault, FaultKind
from tests.support.world import World, eventually


def paced(world: World, rpm: int) -> None:
    """Limits the requests of all models of the provider in the next worker."""
    limits = {f"{urlsplit(world.provider.api_base).netloc}/*": Pace(rpm=rpm)}
    pacer = Pacer(PacingStore(world.pool), Pacing(limits, world.dependencies.prices))
    world.dependencies = replace(world.dependencies, provider=ModelProvider({}, Timeouts(silence_s=2), pacer=pacer))


async def test_parallel_tasks_send_no_more_than_the_limit_and_the_others_wait_without_a_worker(idle: World) -> None:
    paced(idle, rpm=1)
    async with idle.worker():
        tasks = [await idle.submit(idle.agent("a"), idle.agent("b")) for _ in range(2)]
        waiting = "select count(*) = 3 from calls where slot_at > now() + interval '30 s'"
        await eventually(lambda: idle.pool.fetchval(waiting))
        await eventually(lambda: asyncio.sleep(0, idle.provider.served()))
        outlasted = (
            "select bool_and(h.expires_at > c.slot_at) from calls c join holds h using (hold_id) where slot_at > now()"
        )
        assert await eventually(lambda: idle.pool.fetchval(outlasted)), "each hold outlasts its wait"
        for task in tasks:
            await idle.workflow(task).cancel()
            assert (await idle.end(task))["status"] in ("cancelled", "partial")
        assert len(idle.provider.served()) == 1
        await idle.audited()


async def test_the_pause_that_one_request_is_told_holds_for_all_of_its_model(idle: World) -> None:
    paced(idle, rpm=600)
    idle.provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, retry_after_ms=3_000))
    async with idle.worker():
        first = await idle.submit(idle.agent("a"))
        await eventually(lambda: idle.pool.fetchval("select max(paused_until) > now() from pacing"))
        second = await idle.submit(idle.agent("b"))
        assert [(await idle.end(task))["status"] for task in (first, second)] == ["completed"] * 2
    told, *later = (datetime.fromisoformat(one.arrived_at) for one in idle.provider.served())
    assert len(later) == 2
    assert all((one - told).total_seconds() >= 3 for one in later)
    assert await idle.pool.fetchval("select max(paced_ms) > 0 from calls")
    await idle.audited()
