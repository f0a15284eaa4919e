"""Tasks that wait for one decision: the memory that they take, and how soon they continue."""

import asyncio
import time
from dataclasses import dataclass

from purser.benchmarks.outcome import percentile_ms
from purser.benchmarks.tasks.running import Running
from purser.workflows.contract import TaskRef

SESSION = "bench-parked"
GRANT = 10**9
"""Tokens: enough for all of them without a delay."""
AT_ONCE = 32
"""Requests in flight while tasks are submitted."""
LOOK_AGAIN_S = 1.0


@dataclass(frozen=True)
class Parked:
    """Tasks of one session, all of which asked for more than its budget."""

    tasks: int
    parked_s: float
    """From the first request until all of them wait."""
    memory_mb: float
    """What the process of gateway and worker grew by meanwhile."""
    first_ms: float
    """From the decision until the first of them completed."""
    p50_ms: float
    last_ms: float
    statuses: tuple[str, ...]

    def figures(self) -> dict[str, float]:
        """The figures as JSON."""
        return {name: value for name, value in vars(self).items() if name != "statuses"}


async def park(running: Running, tasks: int) -> Parked:
    """Lets tasks wait for an approval, approves, and waits for their ends."""
    limit = {"limit_tokens": 1, "mode": "approval"}
    async with running.http.put(f"/v1/budgets/session:{SESSION}", json=limit) as answer:
        answer.raise_for_status()
    before, begun = running.system.memory_mb(), time.perf_counter()
    refs = await _submit(running, tasks)
    approval = await _all_waiting(running, tasks)
    parked_s, memory_mb = time.perf_counter() - begun, running.system.memory_mb() - before
    decided = time.perf_counter()
    decision = {"decision_id": "bench", "decision": "approve", "grant_tokens": GRANT}
    async with running.http.post(f"/v1/approvals/{approval}/decision", json=decision) as answer:
        answer.raise_for_status()
    took: list[float] = []

    async def ended(ref: TaskRef) -> str:
        status = await running.tasks.ended(ref)
        took.append(time.perf_counter() - decided)
        return status

    statuses = await asyncio.gather(*map(ended, refs))
    return Parked(
        tasks=tasks,
        parked_s=round(parked_s, 1),
        memory_mb=round(memory_mb, 1),
        first_ms=round(min(took) * 1_000, 2),
        p50_ms=percentile_ms(took, 0.50),
        last_ms=round(max(took) * 1_000, 2),
        statuses=tuple(statuses),
    )


async def _submit(running: Running, tasks: int) -> list[TaskRef]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one() -> TaskRef:
        async with turns:
            return await running.tasks.submit(SESSION)

    return await asyncio.gather(*(one() for _ in range(tasks)))


async def _all_waiting(running: Running, tasks: int) -> str:
    """The id of the approval request for which so many tasks wait."""
    while True:
        async with running.http.get("/v1/approvals", params={"state": "pending"}) as answer:
            pending = (await answer.json())["items"]
        if pending and len(pending[0]["waiters"]) == tasks:
            return str(pending[0]["approval_id"])
        await asyncio.sleep(LOOK_AGAIN_S)
