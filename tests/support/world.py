"""The environment of tasks in tests: a real worker, Temporal, Postgres and provider, with helpers to inspect them."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from temporalio.client import Client, WorkflowHandle

from purser.activities.models.provider import ModelProvider, Timeouts
from purser.activities.postgres.tasks import Tasks
from purser.activities.runtime.registry import Activity, Dependencies, all_activities
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.runtime.stores import Stores
from purser.activities.tasks.file import TaskFile
from purser.activities.tasks.signatures import sign
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Scope
from purser.compose.demo.provider import FunctionCall, Provider, Reply, ToolCall, serve_provider
from purser.compose.processes.dispatcher import Dispatcher, run_background
from purser.compose.processes.worker import LOCK_TIMEOUT_MS, make_worker
from purser.context.postgres.conversation.conversations import Conversations
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys, digest
from purser.workflows.contract import (
    AgentRef,
    ApprovalDecision,
    CompressResult,
    CompressSessionInput,
    Message,
    TaskRef,
    WorkflowName,
)
from tests.support.actors import TESTER
from tests.support.agents import recorded_agent

T = TypeVar("T")
TENANT = "acme"
WITHIN_S = 60.0
LEASE_S = 30
BUILD_ID = "tests"
"""Of workers. By default the SDK reads and hashes the code of all imported modules, for a second or more."""


@dataclass
class World:
    """One provider, one database, one task queue; workers come and go."""

    client: Client
    pool: Pool
    provider: Provider
    dependencies: Dependencies
    task_queue: str
    dispatcher: Dispatcher

    def with_settings(self, **settings: Any) -> Dependencies:
        """Returns the dependencies of the next worker with different settings."""
        return replace(self.dependencies, settings=replace(self.dependencies.settings, **settings))

    @property
    def tasks(self) -> Tasks:
        """The task store."""
        return self.dependencies.stores.tasks

    @property
    def conversations(self) -> Conversations:
        """Messages of sessions and agents."""
        return self.dependencies.stores.sessions.conversations

    @property
    def policies(self) -> Policies:
        """Stored policies."""
        return self.dependencies.stores.policies

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self.dependencies.stores.ledger

    @property
    def approvals(self) -> Approvals:
        """Approval requests."""
        return self.dependencies.stores.approvals

    def agent(self, agent_id: str = "a", *replies: str | Reply, **more: Any) -> dict[str, Any]:
        """Returns an agent whose model gives these replies turn by turn, and repeats the last one from then on."""
        return recorded_agent(self.provider, agent_id, *replies, **more)

    async def submit(self, *agents: dict[str, Any], **more: Any) -> str:
        """Submits a task and returns its id."""
        task_id = f"t-{uuid.uuid4().hex[:12]}"
        body = {"session_id": f"s-{task_id}", "task_id": task_id, "input": "Say something.", "agents": list(agents)}
        task = TaskFile.parse(body | more, [agent["api_base"] for agent in agents])
        await self.tasks.submit(TENANT, task, "someone")
        self.dispatcher.poke()
        return task.task_id

    async def run(self, *agents: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Submits a task and waits for its end; returns what its page shows."""
        return await self.end(await self.submit(*agents, **more))

    async def submit_and_pause(self, *agents: dict[str, Any]) -> str:
        """Submits a task and pauses it while its agent `a` makes its first call; returns its id."""
        self.provider.control.hold()
        task_id = await self.submit(*agents)
        await self.provider.control.wait_held()
        await self.pause(task_id)
        self.provider.control.continue_held()
        await self.until(task_id, lambda task: task["agents"]["a"]["status"] == "paused")
        return task_id

    async def pause(self, task_id: str) -> None:
        """Pauses a task, and waits until its agents know."""
        await self.workflow(task_id).signal(Message.PAUSE)
        await self.until(task_id, lambda task: task["status"] == "paused")

    async def compress(self, start: CompressSessionInput) -> CompressResult:
        """Compresses a session by its workflow."""
        async with self.worker():
            found: CompressResult = await self.client.execute_workflow(
                WorkflowName.COMPRESS_SESSION,
                start,
                id=start.workflow_id,
                task_queue=self.task_queue,
                result_type=CompressResult,
            )
        return found

    async def end(self, task_id: str) -> dict[str, Any]:
        """Waits for the end of a task; returns what its page shows."""
        return await self.until(task_id, lambda task: task["ended_at"] is not None)

    async def until(self, task_id: str, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Waits until a task's page meets a condition; returns what it shows."""

        async def look() -> dict[str, Any] | None:
            task = await self.tasks.get(TENANT, task_id)
            return task if condition(task) else None

        return await eventually(look)

    def workflow(self, task_id: str, agent_id: str = "") -> WorkflowHandle[Any, Any]:
        """Returns a handle to the workflow of a task or of one of its agents."""
        return self.client.get_workflow_handle(
            AgentRef(TENANT, task_id, agent_id).workflow_id if agent_id else TaskRef(task_id, TENANT).workflow_id
        )

    async def signed(self, approval_id: str, name: str = "boss", **fields: Any) -> ApprovalDecision:
        """Returns a decision, by default an approval, signed with a new key of this name."""
        plain = {"decision_id": uuid.uuid4().hex, "decision": "approve", "approver": name} | fields
        made = await Keys(self.pool).create(TENANT, name, Role.APPROVER, by=TESTER, replace=True)
        return sign(ApprovalDecision(approval_id, **plain), made.key.key_id, digest(made.secret))

    async def budget(self, scope: str, **patch: Any) -> None:
        """Stores a policy."""
        await self.policies.set(TENANT, Scope.parse(scope), PolicyPatch.parse(patch), by=TESTER)

    async def spent(self, scope: str) -> int:
        """Tokens spent on a scope."""
        return (await self.policies.budget(TENANT, Scope.parse(scope))).spent.tokens

    async def open_holds(self) -> int:
        """Number of open holds."""
        return int(await self.pool.fetchval("select count(*) from holds where state = 'held'"))

    async def audited(self) -> None:
        """Checks that the audit finds no difference and that nothing is held."""
        found = await audit(self.pool)
        assert found.ok, found.differences
        assert await self.open_holds() == 0

    @asynccontextmanager
    async def worker(self, *tools: Activity, grace: timedelta = timedelta(seconds=5)) -> AsyncIterator[None]:
        """Runs a worker during the block; `tools` complement Purser's activities, or replace those of the same name."""
        activities = {named(one): one for one in (*all_activities(self.dependencies), *tools)}
        async with make_worker(self.client, self.task_queue, list(activities.values()), grace):
            yield


@asynccontextmanager
async def world(dsn: str, client: Client, task_queue: str, *, background: bool = True) -> AsyncIterator[World]:
    """Creates a world without a worker; without `background` nothing sweeps or sends the outbox."""
    async with (
        await create_pool(dsn) as pool,
        await _create_quick_pool(dsn) as quick,
        world_of(pool, quick, client, task_queue, background=background) as made,
    ):
        yield made


@pytest.fixture(scope="session")
async def quick_pool(own_database: str) -> AsyncIterator[Pool]:
    """Connections to `emptied_dsn` of admissions inside workflow tasks, which stay open between tests."""
    async with await _create_quick_pool(own_database) as pool:
        yield pool


async def _create_quick_pool(dsn: str) -> Pool:
    return await create_pool(dsn, size=4, lock_timeout_ms=LOCK_TIMEOUT_MS)


@asynccontextmanager
async def world_of(
    pool: Pool, quick: Pool, client: Client, task_queue: str, *, background: bool = True
) -> AsyncIterator[World]:
    """Creates a world on connections that are open already: new ones first compile every function that they call."""
    ledger_settings = LedgerSettings(lease_s=LEASE_S, retry_after_ms=200, backpressure=())
    settings = ActivitySettings(lease_ms=LEASE_S * 1_000, retry_ms=50)
    stop = asyncio.Event()
    async with serve_provider(keep_text=True) as provider:
        dispatcher = Dispatcher(Outbox(pool), client, task_queue)
        model_provider = ModelProvider({}, Timeouts(silence_s=2))
        dependencies = Dependencies(
            stores=Stores(ledger=Ledger(pool, ledger_settings), redaction=()),
            quick=Stores(ledger=Ledger(quick, ledger_settings), redaction=()),
            settings=settings,
            prices=PriceBook.load(),
            provider=model_provider,
            poke=dispatcher.poke,
            signer_of=Keys(pool).signer,
        )
        made = World(client, pool, provider, dependencies, task_queue, dispatcher)
        if not background:
            yield made
            return
        running = asyncio.create_task(run_background(made.dependencies.stores, dispatcher, stop, 0.2))
        try:
            yield made
        finally:
            stop.set()
            dispatcher.poke()
            await running


async def eventually(look: Callable[[], Awaitable[T | None]], within_s: float = WITHIN_S) -> T:
    """Polls `look` until its result is true, and returns it."""
    seen: T | None = None
    begun = time.monotonic()
    async with asyncio.timeout(within_s):
        while not (seen := await look()):
            # Looks that come as often as at the beginning would slow down what takes long.
            await asyncio.sleep(min(0.02 + (time.monotonic() - begun) / 10, 0.2))
    return seen


def named(activity: Activity) -> str:
    """Returns the name of an activity."""
    return str(activity.__temporal_activity_definition.name)  # type: ignore[attr-defined]


def calls(*names: str, **arguments: Any) -> Reply:
    """Returns a reply that calls tools, each with the same arguments."""
    function = [FunctionCall(name=name, arguments=json.dumps(arguments)) for name in names]
    return Reply(tool_calls=tuple(ToolCall(id=f"call-{uuid.uuid4().hex[:8]}", function=one) for one in function))
