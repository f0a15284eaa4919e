"""An input that cannot be read is refused for good, and the refusal names the field."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.activities.runtime.inputs import decoding
from purser.activities.runtime.safety import SafeErrors
from purser.budget.errors import InvalidRequest
from purser.workflows.contract import (
    AgentClosing,
    AgentOutcome,
    AgentRef,
    AgentStatus,
    HoldInput,
)
from tests.support.world import BUILD_ID

ASK = {"tenant": "acme", "key": "k1", "path": ["session:s1"], "tokens": 100}
CLOSING = {
    "agent": {"tenant": "acme", "task_id": "t1", "agent_id": "a1"},
    "outcome": {"agent_id": "a1", "status": "completed"},
    "tool_keys": ["tool/s1/1/0"],
}
ENDED = AgentClosing(
    AgentRef("acme", "t1", "a1"), AgentOutcome("a1", AgentStatus.COMPLETED), tool_keys=("tool/s1/1/0",)
)


class Echo:
    """Activities that return what they got."""

    @activity.defn
    async def hold(self, request: HoldInput) -> Any:
        """Returns its input."""
        return request

    @activity.defn
    async def close_agent(self, request: AgentClosing) -> Any:
        """Returns its input."""
        return request


hold: Callable[..., Awaitable[Any]] = decoding(Echo().hold)
close_agent: Callable[..., Awaitable[Any]] = decoding(Echo().close_agent)


async def test_json_becomes_what_the_activity_declares() -> None:
    assert await hold(ASK) == HoldInput("acme", "k1", ("session:s1",), 100)
    assert await close_agent(CLOSING) == ENDED


async def test_a_field_of_a_later_version_is_ignored() -> None:
    assert await hold(ASK | {"colour": "red"}) == HoldInput("acme", "k1", ("session:s1",), 100)


async def test_inside_the_process_an_input_is_passed_on() -> None:
    request = HoldInput("acme", "k1", ("session:s1",), 100)
    assert await hold(request) is request


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokens": "100"}, "tokens of activity hold is not valid: input should be a valid integer"),
        ({"tokens": 1.5}, "tokens of activity hold is not valid"),
        ({"tokens": True}, "tokens of activity hold is not valid"),
        ({"tokens": None}, "tokens of activity hold is not valid"),
        ({"tokens": 2**63}, "tokens of activity hold cannot be stored"),
        ({"patient": 1}, "patient of activity hold is not valid"),
        ({"path": "session:s1"}, "path of activity hold is not valid"),
        ({"path": ["session:s1", 5]}, "path.1 of activity hold is not valid"),
        ({"key": "k\0"}, "key of activity hold cannot be stored: leave out NUL"),
        ({"path": ["session:\ud800"]}, "path.0 of activity hold cannot be stored"),
    ],
)
async def test_a_value_that_cannot_be_read_is_refused_by_its_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await hold(ASK | change)
    assert said in str(refused.value)


async def test_a_missing_field_is_named_also_in_an_object_inside() -> None:
    with pytest.raises(InvalidRequest, match=r"^tenant of activity hold is missing: add it; key of activity hold is"):
        await hold({"path": ["session:s1"], "tokens": 1})
    with pytest.raises(InvalidRequest, match=r"^agent\.task_id of activity close_agent is missing"):
        await close_agent(CLOSING | {"agent": {"tenant": "acme", "agent_id": "a1"}})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "0 arguments"), ((ASK, ASK), "2 arguments"), ((None,), "null"), (("text",), "str"), (([ASK],), "list")],
)
async def test_anything_but_one_object_is_refused(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InvalidRequest, match=f"activity hold got {said}: give it one object"):
        await hold(*arguments)


async def test_values_are_not_repeated() -> None:
    with pytest.raises(InvalidRequest) as refused:
        await hold(ASK | {"tokens": "canary-55", "key": ["canary-55"]})
    assert "canary" not in str(refused.value)


@workflow.defn
class Sends:
    """Gives the activity `hold` any arguments."""

    @workflow.run
    async def run(self, arguments: list[Any]) -> Any:
        """Returns what the activity got."""
        return await workflow.execute_activity("hold", args=arguments, start_to_close_timeout=timedelta(seconds=20))


@pytest.mark.parametrize("arguments", [[ASK | {"tokens": "100"}], [ASK, ASK], [], [None]])
async def test_temporal_does_not_try_it_again(temporal_client: Client, task_queue: str, arguments: list[Any]) -> None:
    async with Worker(
        temporal_client,
        task_queue=task_queue,
        workflows=[Sends],
        activities=[hold],
        interceptors=[SafeErrors()],
        workflow_runner=UnsandboxedWorkflowRunner(),
        build_id=BUILD_ID,
    ):

        async def sent(arguments: list[Any]) -> Any:
            return await temporal_client.execute_workflow(
                Sends.run, arguments, id=task_queue, task_queue=task_queue, execution_timeout=timedelta(seconds=20)
            )

        assert (await sent([ASK]))["tokens"] == 100
        with pytest.raises(WorkflowFailureError) as failed:
            await sent(arguments)
    refused = failed.value.cause.__cause__
    assert isinstance(refused, ApplicationError)
    assert (refused.type, refused.non_retryable) == ("InvalidRequest", True)
    assert "activity hold" in refused.message
