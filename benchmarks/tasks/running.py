"""A gateway with a worker, a provider that answers at once, and tasks of one plain turn that run on them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

import aiohttp
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from purser.benchmarks.background import background_process
from purser.benchmarks.http.system import System, system
from purser.benchmarks.limiters.load import TOKENS
from purser.benchmarks.limiters.provider import run_provider
from purser.benchmarks.tasks.baselines import baseline_worker
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.workflows.contract import AgentRef, TaskRef

NOT_STARTED_S = 0.005
"""Pause before the workflow of a task is looked for again."""


class Tasks:
    """Submits tasks of one agent and one model call over HTTP, and follows them in Temporal."""

    def __init__(self, http: aiohttp.ClientSession, client: Client, api_base: str) -> None:
        self._http = http
        self._client = client
        self._agent = {"id": "a", "model": "openai/gpt-4o", "instructions": "Answer.", "api_base": api_base}
        self._numbers = count()
        self.last = TaskRef("")

    @property
    def last_agent(self) -> AgentRef:
        """The agent of the task that began last."""
        return AgentRef(self.last.tenant, self.last.task_id, "a")

    async def run(self) -> str:
        """Runs one task in a session of its own; returns its status at the end."""
        return await self.ended(await self.submit())

    async def submit(self, session: str | None = None) -> TaskRef:
        """Submits a task; `None`: in a session of its own."""
        name = f"bench-{next(self._numbers)}"
        self.last = TaskRef(name)
        task = {"session_id": session or name, "task_id": name, "input": "Hello.", "agents": [self._agent]}
        async with self._http.post("/v1/tasks", json=task) as answer:
            answer.raise_for_status()
        return self.last

    async def ended(self, ref: TaskRef) -> str:
        """Waits for the end of a task; returns its status."""
        handle = self._client.get_workflow_handle(ref.workflow_id)
        while True:
            try:
                return str((await handle.result())["status"])
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                await asyncio.sleep(NOT_STARTED_S)


@dataclass(frozen=True)
class Running:
    """All that runs, with a worker for the workflows that do nothing."""

    system: System
    client: Client
    tasks: Tasks
    http: aiohttp.ClientSession
    """To the gateway, as an admin."""
    _provider: str

    async def gate(self, statuses: Iterable[object]) -> dict[str, bool]:
        """Whether tasks that ended so ran correctly. Nothing else may have run."""
        async with self.http.get(f"{self._provider}/served") as answer:
            served = (await answer.json())["calls"] * TOKENS
        async with self.http.get("/v1/usage", params={"by": "day"}) as answer:
            charged = sum(day["charged_tokens"] for day in (await answer.json())["items"])
        async with await create_pool(self.system.dsn, size=1) as pool:
            return {
                "every task completed": set(statuses) == {"completed"},
                "the ledger charged what was served": charged == served,
                "the ledger agrees with itself": (await audit(pool)).ok,
            }


@asynccontextmanager
async def running_tasks() -> AsyncIterator[Running]:
    """Starts everything; stops and removes it at the end."""
    with background_process(run_provider) as provider:
        address = f"http://127.0.0.1:{await asyncio.to_thread(provider.recv)}"
        async with system("up", PURSER_ALLOWED_API_BASES=address) as running:
            client = await Client.connect(running.temporal)
            headers = {"Authorization": f"Bearer {running.key}"}
            async with aiohttp.ClientSession(running.url, headers=headers) as http, baseline_worker(client):
                yield Running(running, client, Tasks(http, client, f"{address}/v1"), http, address)
