"""What a task of one plain turn costs: its time from the request to its end, its histories, and how many end a second.

A gateway and a worker run in one process with their own Postgres and Temporal; the provider answers at once, so that
what is measured is the way. Beside it, on the same Temporal, run workflows that do nothing. At the end many tasks wait
for one approval. The figures are valid only if every task completed, the ledger charged what the provider served, and
the audit is clean.
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client

from purser.benchmarks.closed_loops import Measured, call_in_loops
from purser.benchmarks.http.system import System
from purser.benchmarks.outcome import Outcome, Table, gate_table, percentile_ms
from purser.benchmarks.progress import log_step
from purser.benchmarks.tasks.baselines import QUEUE, EmptyPair, FiveActivities
from purser.benchmarks.tasks.histories import History, history_of
from purser.benchmarks.tasks.parked import Parked, park
from purser.benchmarks.tasks.running import Tasks, running_tasks
from purser.compose.signals import cancelled_once

SECONDS = 10.0
IN_FLIGHT = (1, 8, 32)
PARKED = 1_000
"""Tasks that wait for an approval at the same time."""
WARM_UP = 5
"""Tasks and workflows that run before anything is measured."""
HISTORIES = 20
"""Tasks whose workflows are looked at."""


@dataclass(frozen=True)
class Line:
    """Tasks in flight at the same time."""

    in_flight: int
    measured: Measured
    cpu_ms: dict[str, float]
    """Processor time per task of gateway and worker, and of Postgres."""

    def figures(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "in_flight": self.in_flight,
            "tasks": len(self.measured.took),
            "tasks_per_s": round(self.measured.rate, 1),
            "p50_ms": self.measured.p50_ms(),
            "p99_ms": self.measured.p99_ms(),
            **{f"{name}_cpu_ms": spent for name, spent in self.cpu_ms.items()},
        }


def run(data: Path | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of each line.
    """
    return asyncio.run(cancelled_once(measure(seconds, IN_FLIGHT, PARKED)))


async def measure(seconds: float, in_flight: Sequence[int], parked: int) -> Outcome:
    """Measures workflows that do nothing, tasks with so many in flight, and as many that wait for an approval."""
    async with running_tasks() as running:
        tasks = running.tasks
        await asyncio.gather(*(tasks.run() for _ in range(WARM_UP)))
        empty = [await _empty(running.client, each, seconds) for each in (FiveActivities, EmptyPair)]
        lines = [await _line(running.system, tasks, each, seconds) for each in in_flight]
        histories, ended = await _histories(running.client, tasks)
        log_step(f"{parked:,} tasks that wait for an approval")
        waited = await park(running, parked)
        statuses = [*(status for line in lines for status in line.measured.answers), *ended, *waited.statuses]
        gate = await running.gate(statuses)
    return _outcome(lines, [*empty, *histories], waited, gate, seconds)


async def _empty(client: Client, workflow: type[FiveActivities | EmptyPair], seconds: float) -> dict[str, Any]:
    """Figures of a workflow that does nothing, run again and again, one at a time."""
    log_step(f"workflows that do nothing: {workflow.__name__}")
    last = ""

    async def once() -> None:
        nonlocal last
        last = str(uuid.uuid4())
        await client.execute_workflow(workflow.run, id=last, task_queue=QUEUE)

    for _ in range(WARM_UP):
        await once()
    found = await call_in_loops(once, callers=1, seconds=seconds)
    return _figures(workflow.__name__, await history_of(client, last), found.p50_ms(), found.p99_ms())


async def _line(running: System, tasks: Tasks, in_flight: int, seconds: float) -> Line:
    log_step(f"{in_flight} tasks in flight")
    before = running.cpu_seconds()
    measured = await call_in_loops(tasks.run, callers=in_flight, seconds=seconds)
    after = running.cpu_seconds()
    parts = ("gateway", "postgres")
    ran = len(measured.took)
    return Line(in_flight, measured, {name: round((after[name] - before[name]) / ran * 1_000, 1) for name in parts})


async def _histories(client: Client, tasks: Tasks) -> tuple[list[dict[str, Any]], list[str]]:
    """Figures of the two workflows of tasks that run one at a time, as the empty ones do, and how the tasks ended."""
    found: defaultdict[str, list[History]] = defaultdict(list)
    ended = []
    for _ in range(HISTORIES):
        ended.append(await tasks.run())
        for name, ref in (("AgentTask", tasks.last), ("AgentRun", tasks.last_agent)):
            found[name].append(await history_of(client, ref.workflow_id))
    return [
        _figures(name, histories[-1], percentile_ms([one.seconds for one in histories], 0.50), None)
        for name, histories in found.items()
    ], ended


def _figures(name: str, history: History, p50_ms: float, p99_ms: float | None) -> dict[str, Any]:
    return {
        "workflow": name, "p50_ms": p50_ms, "p99_ms": p99_ms, "events": history.events, "bytes": history.size_bytes,
    }  # fmt: skip


def _outcome(
    lines: Sequence[Line], workflows: list[dict[str, Any]], parked: Parked, gate: dict[str, bool], seconds: float
) -> Outcome:
    found = [line.figures() for line in lines]
    return Outcome(
        gate_passed=all(gate.values()),
        results={"lines": found, "workflows": workflows, "parked": parked.figures(), "gate": gate},
        settings={"seconds": seconds},
        tables=[
            Table("tasks of one plain turn", tuple(found[0]), [tuple(line.values()) for line in found]),
            Table("workflows", tuple(workflows[0]), [tuple(each.values()) for each in workflows]),
            Table("tasks that wait for one approval", tuple(parked.figures()), [tuple(parked.figures().values())]),
            gate_table(gate),
        ],
    )
