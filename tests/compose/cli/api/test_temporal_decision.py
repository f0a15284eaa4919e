"""`--via temporal` on a real Temporal: which workflow gets the decision."""

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.budget.errors import InvalidRequest
from purser.compose.cli.api.temporal_decision import decide
from purser.compose.settings import Settings
from purser.workflows.contract import ApprovalDecision, DecisionResult, Message, TaskRef

KEY = {"key_id": "k1", "tenant": "default", "name": "ana"}
APPROVE = {"decision_id": "d1", "decision": "approve"}


@workflow.defn
class Task:
    """Replaces the real workflow: it answers every decision, until it has answered one."""

    def __init__(self) -> None:
        self.decided = False

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: self.decided)

    @workflow.update(name=Message.DECIDE_APPROVAL)
    async def decide(self, decision: ApprovalDecision) -> DecisionResult:
        self.decided = True
        return DecisionResult(decision.approval_id, "approved")


def request(*tasks: str) -> Mapping[str, Any]:
    return {"approval_id": "r1", "waiters": [{"task_id": task_id} for task_id in tasks]}


async def test_a_decision_goes_to_the_first_waiting_task_that_has_a_workflow(
    temporal_client: Client, temporal_address: str, task_queue: str
) -> None:
    settings = Settings(temporal_address=temporal_address, api_key="secret")
    never, task_id = str(uuid.uuid4()), str(uuid.uuid4())
    async with Worker(
        temporal_client, task_queue=task_queue, workflows=[Task], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        task = await temporal_client.start_workflow(Task.run, id=TaskRef(task_id).workflow_id, task_queue=task_queue)
        done = await asyncio.to_thread(decide, settings, request("", never, task_id), KEY, APPROVE)
        assert done == {"state": "approved", "decisions_needed": 0}
        await task.result()
    for waiting in ((), ("",), (never, task_id)):
        with pytest.raises(InvalidRequest, match="leave out --via temporal"):
            await asyncio.to_thread(decide, settings, request(*waiting), KEY, APPROVE)
