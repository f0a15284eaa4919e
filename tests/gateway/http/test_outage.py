"""Postgres or Temporal unavailable: nothing is admitted, and the response names the cause and when to retry."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK, free_port
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from tests.gateway.conftest import RunningGateway, running_gateway

HOLD = {"key": "k1", "path": ["session:s1"], "tokens": 10}
TASK = {
    "session_id": "s1",
    "input": "Hello.",
    "agents": [{"id": "a", "model": "m", "instructions": "Answer."}],
}


@pytest.mark.usefixtures("own_gateway")
class TestWithoutPostgres:
    @pytest.fixture
    async def dsn(self, stoppable_postgres: EmbeddedPostgres) -> str:
        return await stoppable_postgres.start()

    async def test_every_request_is_503_with_retry_after_and_works_again_later(
        self, gateway: RunningGateway, admin: httpx.AsyncClient, stoppable_postgres: EmbeddedPostgres
    ) -> None:
        assert (await admin.post("/v1/holds", json=HOLD)).json()["verdict"] == "allow"
        await asyncio.to_thread(stoppable_postgres.stop)
        for request in (
            admin.post("/v1/holds", json=HOLD | {"key": "k2"}),
            admin.post("/v1/holds/1/settle", json={"attempt": 1, "usage": {"total": 1}}),
            admin.get("/v1/budgets/session:s1"),
            admin.post("/v1/tasks", json=TASK),
        ):
            away = await request
            assert (away.status_code, away.headers["retry-after"]) == (503, "1")
            problem = away.json()
            assert (problem["type"], problem["retryable"]) == ("urn:purser:ledger-unavailable", True)
            assert problem["retry_after_ms"] == 1_000
        unavailable = 'purser_ledger_unavailable_total{caller="http"} 4.0'
        assert unavailable in (await admin.get(gateway.metrics_url)).text
        assert (await admin.get("/healthz")).status_code == 200
        ready = await admin.get("/readyz")
        assert (ready.status_code, ready.json()["detail"]) == (503, "missing: postgres, pool")
        await stoppable_postgres.start()
        async with asyncio.timeout(20):
            while (answer := await admin.post("/v1/holds", json=HOLD | {"key": "k2"})).status_code == 503:
                await asyncio.sleep(0.1)
        assert answer.json()["verdict"] == "allow"
        assert (await admin.get("/v1/budgets/session:s1")).json()["tokens"]["held"] == 20
        async with asyncio.timeout(20):
            while (await admin.get("/readyz")).status_code != 200:  # it looks once a second
                await asyncio.sleep(0.1)

    @pytest.mark.stack
    async def test_a_postgres_whose_commits_wait_for_a_standby_that_is_gone_is_named(
        self, gateway: RunningGateway, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("purser.compose.processes.readiness.COMMIT_WAIT_S", 0.1)
        await gateway.pool.execute("alter system set synchronous_standby_names = 'gone'")
        await gateway.pool.execute("select pg_reload_conf()")
        holding = asyncio.create_task(admin.post("/v1/holds", json=HOLD))
        async with asyncio.timeout(30):
            while (ready := await admin.get("/readyz")).status_code == 200:
                await asyncio.sleep(0.1)
        assert ready.json()["detail"] == "missing: postgres"
        await gateway.pool.execute("alter system reset synchronous_standby_names")
        await gateway.pool.execute("select pg_reload_conf()")
        assert (await holding).json()["verdict"] == "allow"
        async with asyncio.timeout(20):
            while (await admin.get("/readyz")).status_code != 200:
                await asyncio.sleep(0.1)


@pytest.mark.stack
class TestBeforeTemporal:
    async def test_a_gateway_starts_holds_and_takes_tasks_which_start_once_temporal_does(
        self, settings: Settings, tmp_path: Path, task_queue: str
    ) -> None:
        port, task_id = free_port(), f"t-{task_queue[5:]}"
        server = EmbeddedTemporal(tmp_path, port=port)
        settings = settings.model_copy(update={"temporal_address": f"{LOOPBACK}:{port}"})
        async with running_gateway(settings) as gateway:
            admin = await gateway.client()
            assert (await admin.post("/v1/holds", json=HOLD)).json()["verdict"] == "allow"
            assert (await admin.post("/v1/tasks", json=TASK | {"task_id": task_id})).status_code == 202
            answer = await admin.post(f"/v1/tasks/{task_id}/pause", timeout=30)
            assert (answer.status_code, answer.json()["type"]) == (503, "urn:purser:temporal-unavailable")
            ready = await admin.get("/readyz")
            assert (ready.status_code, ready.json()["detail"]) == (503, "missing: temporal")
            try:
                client = await Client.connect(await server.start())
                workflow = client.get_workflow_handle(f"task-default/{task_id}")
                async with asyncio.timeout(60):
                    while not await exists(workflow):
                        await asyncio.sleep(0.2)
                    while (await admin.get("/readyz")).status_code != 200:
                        await asyncio.sleep(0.2)
            finally:
                await asyncio.to_thread(server.stop)


@pytest.mark.stack
@pytest.mark.usefixtures("own_gateway")
class TestWithoutTemporal:
    @pytest.fixture
    async def temporal(self, tmp_path: Path) -> Any:
        server = EmbeddedTemporal(tmp_path)
        yield server
        server.stop()

    @pytest.fixture
    async def settings(self, settings: Settings, temporal: EmbeddedTemporal) -> Settings:
        return settings.model_copy(update={"temporal_address": await temporal.start()})

    async def test_holds_go_on_a_task_is_taken_and_steering_says_to_come_back(
        self, gateway: RunningGateway, admin: httpx.AsyncClient, temporal: EmbeddedTemporal, task_queue: str
    ) -> None:
        task_id = f"t-{task_queue[5:]}"
        await asyncio.to_thread(temporal.stop)
        assert (await admin.post("/v1/holds", json=HOLD)).json()["verdict"] == "allow"
        assert (await admin.post("/v1/tasks", json=TASK | {"task_id": task_id})).status_code == 202
        answer = await admin.post(f"/v1/tasks/{task_id}/pause", timeout=30)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:purser:temporal-unavailable")
        ready = await admin.get("/readyz")
        assert (ready.status_code, ready.json()["detail"]) == (503, "missing: temporal")


async def exists(workflow: WorkflowHandle[Any, Any]) -> bool:
    """Whether Temporal knows a workflow."""
    try:
        await workflow.describe()
    except RPCError:
        return False
    return True
