"""Background work of processes, on a real Postgres and a real Temporal."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path as Directory
from unittest.mock import AsyncMock

import asyncpg
import pytest
from structlog.testing import capture_logs
from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.activities.runtime.stores import Stores
from purser.budget.approvals import ApprovalState
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.outbox import Outbox, put
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope
from purser.compose.processes import dispatcher as module
from purser.compose.processes.dispatcher import Dispatcher, run_background
from purser.compose.stack.temporal import EmbeddedTemporal
from purser.workflows.contract import START, ApprovalDecided, TaskRef
from tests.support.actors import TESTER

SECRET = "canary-6f1d"


@workflow.defn
class Waiting:
    """Collects the signals it receives, and returns them once it is released."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.free = False

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: self.free)
        return self.received

    @workflow.signal
    def approval_decided(self, decided: ApprovalDecided) -> None:
        self.received.append(f"{decided.approval_id} {decided.state}")

    @workflow.signal
    def go(self) -> None:
        self.free = True


@workflow.defn(name="AgentTask")
class Task:
    """Replaces the real workflow: these tests check only that it starts, and with which input."""

    @workflow.run
    async def run(self, task: TaskRef) -> str:
        return f"{task.tenant} {task.task_id}"


@pytest.fixture
async def worker(temporal_client: Client, task_queue: str) -> AsyncIterator[None]:
    async with Worker(
        temporal_client, task_queue=task_queue, workflows=[Waiting, Task], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        yield


@pytest.fixture
def dispatcher(pool: Pool, temporal_client: Client, task_queue: str) -> Dispatcher:
    return Dispatcher(Outbox(pool), temporal_client, task_queue)


async def post(pool: Pool, workflow_id: str, signal: str, **payload: str) -> None:
    async with pool.acquire() as connection:
        await put(connection, "acme", workflow_id, signal, payload)


async def unsent(pool: Pool) -> int:
    count: int = await pool.fetchval("select count(*) from outbox where sent_at is null")
    return count


async def until(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not await result(reached):
            await asyncio.sleep(0.02)


async def result(reached: Callable[[], object]) -> object:
    found = reached()
    return await found if asyncio.iscoroutine(found) else found


@asynccontextmanager
async def background(
    pool: Pool, dispatcher: Dispatcher, every_s: float, settings: LedgerSettings | None = None
) -> AsyncIterator[None]:
    stop, stores = asyncio.Event(), Stores(ledger=Ledger(pool, settings or LedgerSettings()), redaction=())
    running = asyncio.create_task(run_background(stores, dispatcher, stop, every_s))
    try:
        yield
    finally:
        stop.set()
        await running


# --- the outbox ------------------------------------------------------------------------------------------------------


async def test_a_signal_reaches_its_workflow_in_the_words_of_the_contract(
    pool: Pool, dispatcher: Dispatcher, temporal_client: Client, task_queue: str, worker: None
) -> None:
    handle = await temporal_client.start_workflow(Waiting.run, id=f"w-{uuid.uuid4()}", task_queue=task_queue)
    await post(pool, handle.id, "approval_decided", approval_id="r1", state="approved")
    await dispatcher.dispatch()
    await handle.signal(Waiting.go)
    assert await handle.result() == ["r1 approved"]
    assert await unsent(pool) == 0


async def test_two_dispatchers_send_each_message_once(
    pool: Pool, dispatcher: Dispatcher, temporal_client: Client, task_queue: str, worker: None
) -> None:
    handle = await temporal_client.start_workflow(Waiting.run, id=f"w-{uuid.uuid4()}", task_queue=task_queue)
    for n in range(30):
        await post(pool, handle.id, "approval_decided", approval_id=f"r{n}", state="approved")
    await asyncio.gather(dispatcher.dispatch(), Dispatcher(Outbox(pool), temporal_client, task_queue).dispatch())
    await handle.signal(Waiting.go)
    # Without the claim both would send all of them.
    assert sorted(await handle.result()) == sorted(f"r{n} approved" for n in range(30))


async def test_a_message_for_a_workflow_that_is_gone_is_done(
    pool: Pool, dispatcher: Dispatcher, temporal_client: Client, task_queue: str, worker: None
) -> None:
    handle = await temporal_client.start_workflow(Waiting.run, id=f"w-{uuid.uuid4()}", task_queue=task_queue)
    await handle.signal(Waiting.go)
    await handle.result()
    await post(pool, handle.id, "approval_decided", approval_id="r1", state="approved")
    await post(pool, f"never-{uuid.uuid4()}", "approval_decided", approval_id="r1", state="approved")
    await dispatcher.dispatch()
    # Otherwise they would be retried forever.
    assert await unsent(pool) == 0


async def test_a_server_that_does_not_know_our_namespace_is_not_a_workflow_that_is_gone(
    pool: Pool, temporal_address: str, task_queue: str
) -> None:
    elsewhere = await Client.connect(temporal_address, namespace=f"missing-{uuid.uuid4()}", lazy=True)
    await post(pool, "w", "approval_decided", approval_id="r1", state="approved")
    with capture_logs() as lines:
        await Dispatcher(Outbox(pool), elsewhere, task_queue).dispatch()
    # Both are NOT_FOUND: counting it as sent would leave the agent asleep until its deadline.
    assert await unsent(pool) == 1
    assert [line["status"] for line in lines] == ["NOT_FOUND"]


async def test_the_order_to_start_a_task_starts_it_once_however_often_it_comes(
    pool: Pool, dispatcher: Dispatcher, temporal_client: Client, worker: None
) -> None:
    workflow_id = f"task-{uuid.uuid4()}"
    for _ in range(2):
        await post(pool, workflow_id, START, task_id="t1", tenant="acme")
    await dispatcher.dispatch()
    handle = temporal_client.get_workflow_handle(workflow_id)
    assert await handle.result() == "acme t1"
    first = (await handle.describe()).run_id
    # Also after it has ended: a lost acknowledgement must not run a task twice.
    await post(pool, workflow_id, START, task_id="t1", tenant="acme")
    await dispatcher.dispatch()
    described = await handle.describe()
    assert (described.run_id, described.status) == (first, WorkflowExecutionStatus.COMPLETED)
    assert await unsent(pool) == 0


# --- the loops -------------------------------------------------------------------------------------------------------


async def test_a_poke_sends_at_once(
    pool: Pool, dispatcher: Dispatcher, temporal_client: Client, task_queue: str, worker: None
) -> None:
    async with background(pool, dispatcher, every_s=3_600):
        await asyncio.sleep(0.1)
        workflow_id = f"task-{uuid.uuid4()}"
        await post(pool, workflow_id, START, task_id="t1", tenant="acme")
        dispatcher.poke()
        await until(lambda: _none_left(pool))
        assert await temporal_client.get_workflow_handle(workflow_id).result() == "acme t1"


async def test_deadlines_and_leases_end_and_workflows_are_woken_by_any_number_of_processes(
    pool: Pool, dispatcher: Dispatcher, temporal_client: Client, task_queue: str, worker: None
) -> None:
    settings = LedgerSettings(lease_s=1, grace_s=0)
    scope, ledger = Scope.parse("session:s1"), Ledger(pool, settings)
    rules = {"limit_tokens": 100, "mode": "approval", "approval": {"deadline_s": 1}}
    await Policies(pool, settings).set("default", scope, PolicyPatch.parse(rules), by=TESTER)
    abandoned = await ledger.hold("default", HoldRequest("abandoned", Path((scope,)), Amount(10)))
    await ledger.hold("default", HoldRequest("k1", Path((scope,)), Amount(500)))
    handle = await temporal_client.start_workflow(Waiting.run, id=f"w-{uuid.uuid4()}", task_queue=task_queue)
    approvals = Approvals(pool, settings)
    ticket = await approvals.request(
        "default", key="k1", scope=scope, path=Path((scope,)), ask=Amount(500), workflow_id=handle.id
    )

    async def ended() -> bool:
        hold = await pool.fetchval("select state from holds where hold_id = $1", int(abandoned.hold_id or 0))
        request = await approvals.get("default", ticket.approval_id)
        return hold == "expired" and request.state is ApprovalState.EXPIRED

    other = Dispatcher(Outbox(pool), temporal_client, task_queue)
    async with background(pool, dispatcher, 0.1, settings), background(pool, other, 0.1, settings):
        await until(ended)
        await until(lambda: _none_left(pool))
    await handle.signal(Waiting.go)
    assert await handle.result() == [f"{ticket.approval_id} expired"]


async def test_a_backlog_is_ended_at_once_and_not_a_part_of_it_every_few_seconds(
    pool: Pool, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEPT", 10)
    settings, count = LedgerSettings(), module.SWEPT + 3
    ledger, policies, approvals = Ledger(pool, settings), Policies(pool, settings), Approvals(pool, settings)
    for number in range(count):
        scope = Scope.parse(f"session:s{number}")
        await policies.set("default", scope, PolicyPatch.parse({"limit_tokens": 10, "mode": "approval"}), by=TESTER)
        await ledger.hold("default", HoldRequest(f"open-{number}", Path((scope,)), Amount(10)))
        await ledger.hold("default", HoldRequest(f"short-{number}", Path((scope,)), Amount(500)))
        await approvals.request("default", key=f"short-{number}", scope=scope, path=Path((scope,)), ask=Amount(500))
    past = "now() - interval '1 day'"
    await pool.execute(f"update holds set expires_at = {past} where state = 'held'")
    await pool.execute(f"update approvals set deadline = {past}")
    await pool.execute(
        f"select ledger_grant(b.tenant, b.scope_id, b.window_start, 1, 0, {past}, null, null, 'x', now())"
        " from balances b"
    )

    async def left() -> list[int]:
        counts: list[int] = await pool.fetchval(
            "select array[(select count(*) from holds where state = 'held'),"
            " (select count(*) from grants where ended_at is null),"
            " (select count(*) from approvals where state = 'pending')]"
        )
        return counts

    async def none_left() -> bool:
        return await left() == [0, 0, 0]

    assert await left() == [count] * 3
    async with background(pool, dispatcher, every_s=3_600, settings=settings):
        await until(none_left)


async def test_a_process_that_stops_leaves_the_rest_of_a_backlog(dispatcher: Dispatcher) -> None:
    stop, stores = asyncio.Event(), AsyncMock()

    async def endless(limit: int) -> int:
        await asyncio.sleep(0)
        if stores.ledger.sweep.await_count == 3:
            stop.set()
        return limit

    stores.ledger.sweep.side_effect = endless
    stores.approvals.expire_due.return_value = 0
    async with asyncio.timeout(30):
        await run_background(stores, dispatcher, stop, 3_600)
    assert stores.ledger.sweep.await_count == 3
    # The others have had their turn meanwhile.
    assert stores.reminders.send_due.await_count == stores.approvals.expire_due.await_count == 1


async def test_it_survives_an_unreachable_database_and_logs_nothing_secret(
    dsn: str, pool: Pool, dispatcher: Dispatcher, temporal_client: Client, worker: None
) -> None:
    workflow_id = f"task-{uuid.uuid4()}"
    name = dsn.split("?")[0].rsplit("/", 1)[1]
    admin = await asyncpg.connect(dsn.replace(f"/{name}?", "/postgres?"))
    try:
        with capture_logs() as lines:
            async with background(pool, dispatcher, every_s=0.05):
                await admin.execute(f'alter database "{name}" allow_connections false')
                await admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
                await until(lambda: {line["step"] for line in lines} == {"sweep", "approvals", "reminders", "outbox"})
                await admin.execute(f'alter database "{name}" allow_connections true')
                await until(lambda: _post_when_back(pool, workflow_id))
                dispatcher.poke()
                await until(lambda: _none_left(pool))
    finally:
        await admin.close()
    assert await temporal_client.get_workflow_handle(workflow_id).result() == f"{SECRET} t1"
    assert SECRET not in str(lines)


@pytest.mark.stack
async def test_it_survives_temporal_being_away(pool: Pool, tmp_path: Directory, task_queue: str) -> None:
    server = EmbeddedTemporal(tmp_path, durable=True)
    client = await Client.connect(await server.start())
    dispatcher = Dispatcher(Outbox(pool), client, task_queue)
    workflow_id = f"task-{uuid.uuid4()}"
    try:
        with capture_logs() as lines:
            async with background(pool, dispatcher, every_s=0.2):
                await asyncio.to_thread(server.stop)
                await post(pool, workflow_id, START, task_id="t1", tenant=SECRET)
                dispatcher.poke()
                await until(lambda: lines)
                assert await unsent(pool) == 1
                await server.start()
                await until(lambda: _none_left(pool))
        described = await client.get_workflow_handle(workflow_id).describe(rpc_timeout=timedelta(seconds=5))
        assert described.status is WorkflowExecutionStatus.RUNNING
        assert SECRET not in str(lines)
    finally:
        await asyncio.to_thread(server.stop)


async def _none_left(pool: Pool) -> bool:
    return await unsent(pool) == 0


async def _post_when_back(pool: Pool, workflow_id: str) -> bool:
    try:
        await post(pool, workflow_id, START, task_id="t1", tenant=SECRET)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, RPCError):
        return False
    return True
