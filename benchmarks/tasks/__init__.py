"""What a task of one plain turn costs: its time from the request to its end, its histories, and how many end a second.

A gateway and a worker run in one process with their own Postgres and Temporal; the provider answers at once, so that
what is measured is the way. Beside it, on the same Temporal, run workflows that do nothing. The figures are valid only
if every task completed, the ledger charged what the provider served, and the audit is clean.
"""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from purser.benchmarks.background import background_process
from purser.benchmarks.closed_loops import Measured, call_in_loops
from purser.benchmarks.http.system import System, system
from purser.benchmarks.outcome import Outcome, Table
from purser.benchmarks.proxy.provider import PROMPT, REPLY, run_provider
from purser.benchmarks.tasks.baselines import QUEUE, EmptyPair, FiveActivities, baseline_worker
from purser.benchmarks.tasks.histories import History, history_of
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.workflows.contract import AgentRef, TaskRef

SECONDS = 10.0
IN_FLIGHT = (1, 8, 32)
WARM_UP = 5
"""Tasks and workflows that run before anything is measured."""
NOT_STARTED_S = 0.005
"""Pause before the workflow of a task is looked for again."""


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


class Tasks:
    """Submits tasks of one agent and one model call over HTTP, and follows them in Temporal."""

    def __init__(self, http: aiohttp.ClientSession, client: Client, api_base: str) -> None:
        self._http = http
        self._client = client
        self._agent = {"id": "a", "model": "openai/gpt-4o", "instructions": "Answer.", "api_base": api_base}
        self._numbers = count()
        self.last = ""

    async def run(self) -> str:
        """Runs one task in a session of its own; returns its status at the end."""
        self.last = name = f"bench-{next(self._numbers)}"
        task = {"session_id": name, "task_id": name, "input": "Hello.", "agents": [self._agent]}
        async with self._http.post("/v1/tasks", json=task) as answer:
            answer.raise_for_status()
        handle = self._client.get_workflow_handle(TaskRef(name).workflow_id)
        while True:
            try:
                return str((await handle.result())["status"])
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                await asyncio.sleep(NOT_STARTED_S)


def run(data: Path | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of each line.
    """
    return asyncio.run(measure(seconds, IN_FLIGHT))


async def measure(seconds: float, in_flight: Sequence[int]) -> Outcome:
    """Measures workflows that do nothing, and tasks with so many in flight."""
    with background_process(run_provider) as provider:
        address = f"http://127.0.0.1:{await asyncio.to_thread(provider.recv)}"
        async with system("up", PURSER_ALLOWED_API_BASES=address) as running:
            client = await Client.connect(running.temporal)
            headers = {"Authorization": f"Bearer {running.key}"}
            async with aiohttp.ClientSession(running.url, headers=headers) as http, baseline_worker(client):
                tasks = Tasks(http, client, f"{address}/v1")
                await asyncio.gather(*(tasks.run() for _ in range(WARM_UP)))
                empty = [await _empty(client, each, seconds) for each in (FiveActivities, EmptyPair)]
                lines = [await _line(running, tasks, each, seconds) for each in in_flight]
                histories = await _histories(client, tasks.last)
                async with http.get(f"{address}/served") as answer:
                    served = (await answer.json())["calls"] * (PROMPT + REPLY)
                async with http.get("/v1/usage", params={"by": "day"}) as answer:
                    charged = sum(day["charged_tokens"] for day in (await answer.json())["items"])
            async with await create_pool(running.dsn, size=1) as pool:
                gate = {
                    "every task completed": all(set(line.measured.answers) == {"completed"} for line in lines),
                    "the ledger charged what was served": charged == served,
                    "the ledger agrees with itself": (await audit(pool)).ok,
                }
    return _outcome(lines, [*empty, *histories], gate, seconds)


async def _empty(client: Client, workflow: type[FiveActivities | EmptyPair], seconds: float) -> dict[str, Any]:
    """Figures of a workflow that does nothing, run again and again, one at a time."""
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
    before = running.cpu_seconds()
    measured = await call_in_loops(tasks.run, callers=in_flight, seconds=seconds)
    after = running.cpu_seconds()
    parts = ("gateway", "postgres")
    ran = len(measured.took)
    return Line(in_flight, measured, {name: round((after[name] - before[name]) / ran * 1_000, 1) for name in parts})


async def _histories(client: Client, task_id: str) -> list[dict[str, Any]]:
    """Figures of the two workflows of one task."""
    task = TaskRef(task_id)
    ids = {"AgentTask": task.workflow_id, "AgentRun": AgentRef(task.tenant, task_id, "a").workflow_id}
    found = {name: await history_of(client, workflow_id) for name, workflow_id in ids.items()}
    return [_figures(name, history, round(history.seconds * 1_000, 2), None) for name, history in found.items()]


def _figures(name: str, history: History, p50_ms: float, p99_ms: float | None) -> dict[str, Any]:
    return {
        "workflow": name, "p50_ms": p50_ms, "p99_ms": p99_ms, "events": history.events, "bytes": history.size_bytes,
    }  # fmt: skip


def _outcome(lines: Sequence[Line], workflows: list[dict[str, Any]], gate: dict[str, bool], seconds: float) -> Outcome:
    found = [line.figures() for line in lines]
    return Outcome(
        gate_passed=all(gate.values()),
        results={"lines": found, "workflows": workflows, "gate": gate},
        settings={"seconds": seconds},
        tables=[
            Table("tasks of one plain turn", tuple(found[0]), [tuple(line.values()) for line in found]),
            Table("workflows", tuple(workflows[0]), [tuple(each.values()) for each in workflows]),
            Table("gate", ("what", "holds"), [(name, "yes" if holds else "no") for name, holds in gate.items()]),
        ],
    )
