"""A start that cannot be read fails at once, and the failure names the field."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from purser.compose.processes.worker import make_worker
from purser.workflows.contract import Message, WorkflowName

AGENT = {"tenant": "acme", "task_id": "t1", "agent_id": "a"}
TASK, RUN, COMPRESS = WorkflowName.AGENT_TASK, WorkflowName.AGENT_RUN, WorkflowName.COMPRESS_SESSION
STARTS: list[tuple[WorkflowName, list[Any], str]] = [
    (TASK, [], "got 0 arguments: give it one TaskRef"),
    (TASK, [{"task_id": "t1"}, {}], "got 2 arguments"),
    (TASK, [None], "NoneType"),
    (TASK, ["t1"], "str"),
    (TASK, [{}], "'task_id'"),
    (TASK, [{"taskId": "t1"}], "'task_id'"),
    (TASK, [{"task_id": 5}], "field task_id"),
    (TASK, [{"task_id": "t1", "tenant": None}], "field tenant"),
    (RUN, [{}], "'agent' and 'max_turns'"),
    (RUN, [{"agent": AGENT, "max_turns": "3"}], "field max_turns"),
    (RUN, [{"agent": {"tenant": "acme"}, "max_turns": 3}], "'task_id' and 'agent_id'"),
    (COMPRESS, [], "got 0 arguments: give it one CompressSessionInput"),
    (COMPRESS, [{"tenant": "acme"}], "'session_id'"),
    (COMPRESS, [{"tenant": "acme", "session_id": 7}], "field session_id"),
    (COMPRESS, [{"tenant": "acme", "session_id": "s1", "budget_tokens": "many"}], "field budget_tokens"),
]


@pytest.mark.parametrize("signal", [None, Message.PAUSE], ids=["a start", "a signal with a start"])
async def test_an_input_that_cannot_be_read_fails_its_workflow(
    temporal_client: Client, task_queue: str, signal: Message | None
) -> None:
    async def refused(kind: WorkflowName, arguments: list[Any]) -> ApplicationError:
        with pytest.raises(WorkflowFailureError) as failed:
            await temporal_client.execute_workflow(
                kind,
                args=arguments,
                id=str(uuid.uuid4()),
                task_queue=task_queue,
                start_signal=signal,
                execution_timeout=timedelta(seconds=30),
            )
        assert isinstance(failed.value.cause, ApplicationError)
        return failed.value.cause

    async with make_worker(temporal_client, task_queue, [], timedelta()):
        failures = await asyncio.gather(*(refused(kind, arguments) for kind, arguments, _ in STARTS))
    for (kind, arguments, said), failure in zip(STARTS, failures, strict=True):
        assert (failure.type, failure.non_retryable) == ("InvalidRequest", True), arguments
        assert f"workflow {kind}" in failure.message
        assert said in failure.message, arguments
