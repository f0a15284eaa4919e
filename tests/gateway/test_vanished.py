"""What steering says of a task whose workflow was terminated."""

import httpx
from temporalio.client import Client

from tests.support.world import eventually
from workflows.contract import TaskRef


async def test_a_terminated_task_is_ended_by_whoever_steers_it_and_its_session_can_go(
    admin: httpx.AsyncClient, temporal_client: Client, task_queue: str
) -> None:
    agents = [{"id": "a", "model": "priced-model", "instructions": "Be brief."}]
    for task_id, step, status in ((f"{task_queue}-1", "pause", 409), (f"{task_queue}-2", "cancel", 202)):
        file = {"session_id": "s1", "task_id": task_id, "input": "Go.", "agents": agents}
        assert (await admin.post("/v1/tasks", json=file)).status_code == 202
        workflow = temporal_client.get_workflow_handle(TaskRef(task_id).workflow_id)

        async def terminated() -> bool:
            try:
                await workflow.terminate()  # noqa: B023
            except Exception:
                return False
            return True

        await eventually(terminated)
        answer = await admin.post(f"/v1/tasks/{task_id}/{step}")
        assert answer.status_code == status, answer.text
        shown = (await admin.get(f"/v1/tasks/{task_id}")).json()
        assert (shown["status"], shown["reason"]) == ("cancelled", "workflow_terminated")
    assert (await admin.delete("/v1/sessions/s1")).status_code == 200
