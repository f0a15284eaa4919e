"""Control operations on a task whose workflow was terminated, or is unknown to Temporal."""

import uuid
from functools import partial
from typing import Any

import httpx
import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.compose.processes.gateway import build_services
from purser.compose.settings import Settings
from purser.compose.settings.ledger import ledger_settings
from purser.gateway.access.roles import Role
from purser.gateway.app import create_app
from purser.gateway.metrics.requests import Metrics
from purser.gateway.tasks import control as steering
from purser.workflows.contract import TaskRef
from tests.support.actors import TESTER
from tests.support.world import eventually


async def terminated(workflow: WorkflowHandle[Any, Any]) -> bool:
    try:
        await workflow.terminate()
    except RPCError:
        return False
    return True


async def gone(workflow: WorkflowHandle[Any, Any]) -> bool:
    try:
        await workflow.describe()
    except RPCError:
        return True
    return False


async def test_a_terminated_task_is_ended_on_control_and_its_session_can_be_deleted(
    admin: httpx.AsyncClient, temporal_client: Client, task_queue: str
) -> None:
    agents = [{"id": "a", "model": "priced-model", "instructions": "Be brief."}]
    for task_id, step, status in ((f"{task_queue}-1", "pause", 409), (f"{task_queue}-2", "cancel", 202)):
        file = {"session_id": "s1", "task_id": task_id, "input": "Go.", "agents": agents}
        assert (await admin.post("/v1/tasks", json=file)).status_code == 202
        workflow = temporal_client.get_workflow_handle(TaskRef(task_id).workflow_id)
        await eventually(partial(terminated, workflow))
        answer = await admin.post(f"/v1/tasks/{task_id}/{step}")
        assert answer.status_code == status, answer.text
        shown = (await admin.get(f"/v1/tasks/{task_id}")).json()
        assert (shown["status"], shown["reason"]) == ("cancelled", "workflow_terminated")
    assert (await admin.delete("/v1/sessions/s1")).status_code == 200


@pytest.mark.proof
async def test_a_task_that_temporal_lost_may_be_cancelled_at_once_and_otherwise_waits_for_it(
    admin: httpx.AsyncClient, temporal_client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, "START_BACKOFF_S", (0.0,))
    agents = [{"id": "a", "model": "priced-model", "instructions": "Be brief."}]
    file = {"session_id": "s1", "task_id": task_queue, "input": "Go.", "agents": agents}
    assert (await admin.post("/v1/tasks", json=file)).status_code == 202
    workflow = temporal_client.get_workflow_handle(TaskRef(task_queue).workflow_id)
    await eventually(partial(terminated, workflow))
    lost = WorkflowExecution(workflow_id=workflow.id)
    await temporal_client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(namespace=temporal_client.namespace, workflow_execution=lost)
    )
    await eventually(partial(gone, workflow))
    refused = await admin.post(f"/v1/tasks/{task_queue}/pause")
    assert (refused.status_code, "Temporal lost it" in refused.json()["detail"]) == (503, True), refused.text
    assert (await admin.get(f"/v1/tasks/{task_queue}")).json()["status"] == "running"
    await admin.post(f"/v1/tasks/{task_queue}/cancel")
    shown = (await admin.get(f"/v1/tasks/{task_queue}")).json()
    assert (shown["status"], shown["reason"]) == ("failed", "workflow_lost")


async def test_a_server_that_does_not_know_the_namespace_has_lost_no_task(
    pool: Pool, settings: Settings, temporal_client: Client, temporal_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, "START_BACKOFF_S", (0.0,))
    ledger = Ledger(pool, ledger_settings(settings))
    services = build_services(settings, ledger, temporal_client, lambda: None, Metrics())
    key = (await services.keys.create("default", "ada", Role.ADMIN, by=TESTER)).secret
    # The namespace disappears after the check whether the workflow has vanished.
    services.temporal = await Client.connect(temporal_address, namespace=f"missing-{uuid.uuid4()}", lazy=True)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_app(services, {})),
        base_url="http://gateway",
        headers={"authorization": f"Bearer {key}"},
    ) as admin:
        agents = [{"id": "a", "model": "priced-model", "instructions": "Be brief."}]
        file = {"session_id": "s1", "task_id": "t1", "input": "Go.", "agents": agents}
        assert (await admin.post("/v1/tasks", json=file)).status_code == 202
        refused = await admin.post("/v1/tasks/t1/pause")
    assert refused.status_code == 503
    # Of a signal whose answer is lost, nobody knows whether it arrived.
    assert refused.json()["detail"].endswith("the operation may not have been sent")
    assert "Temporal did not answer" in refused.json()["detail"]
