"""The background jobs of a gateway."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from temporalio.client import Client

from purser.budget.postgres.connections.pools import create_pool
from purser.compose.processes import gateway as process
from purser.compose.processes import retention
from purser.compose.settings import Settings
from purser.workflows.contract import TaskRef
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.ledger import Books
from tests.support.world import eventually


async def test_a_gateway_ends_a_terminated_task_by_itself(
    gateway: RunningGateway, admin: httpx.AsyncClient, temporal_client: Client, task_queue: str
) -> None:
    agents = [{"id": "a", "model": "priced-model", "instructions": "Be brief."}]
    file = {"session_id": "s1", "task_id": task_queue, "input": "Go.", "agents": agents}
    assert (await admin.post("/v1/tasks", json=file)).status_code == 202
    workflow = temporal_client.get_workflow_handle(TaskRef(task_queue).workflow_id)
    await eventually(lambda: gateway.pool.fetchval("select not exists (select from outbox where sent_at is null)"))
    await workflow.terminate()
    await gateway.pool.execute("update tasks set checked_at = now() - interval '2 minutes'")
    assert await eventually(lambda: gateway.pool.fetchval("select reason from tasks where ended_at is not null")) == (
        "workflow_terminated"
    )


async def test_a_gateway_deletes_old_ranges_of_the_ledger_if_it_is_told_to(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CHECKPOINT_EVERY_S", 0.05)
    monkeypatch.setattr(retention, "EVERY_S", 0.05)
    async with await create_pool(settings.dsn or "", size=2) as pool:
        books = Books.on(pool)
        books.at(datetime.now(UTC) - timedelta(days=63))
        await books.spend("old", 10)
    async with running_gateway(settings.model_copy(update={"ledger_retention_days": 62})) as gateway:
        assert await eventually(lambda: gateway.pool.fetchval("select exists (select from closings)"))
        assert await gateway.pool.fetchval("select count(*) from journal") == 0


async def test_a_gateway_closes_ranges_of_entries_and_runs_the_audit_that_is_due(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CHECKPOINT_EVERY_S", 0.05)
    async with running_gateway(settings.model_copy(update={"audit_every_s": 86_400})) as gateway:
        agent = await gateway.client()
        held = await agent.post("/v1/holds", json={"key": "k", "path": ["session:s1"], "tokens": 600})
        assert held.json()["hold_id"]
        assert await eventually(lambda: gateway.pool.fetchval("select sum(events) from checkpoints"))
        audit = "select by || ' ' || differences from audit_result where ended_at is not null"
        assert await eventually(lambda: gateway.pool.fetchval(audit)) == "purser 0"
