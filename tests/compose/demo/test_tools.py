"""Tools of the demo and of recorded conversations."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client

from purser.compose.demo.provider import Match, Recording, Reply, Rule, ToolResult
from purser.compose.demo.recordings.tasks import TOOL_ACTIVITY, TOOL_QUEUE
from purser.compose.demo.tools import tool_worker
from purser.compose.demo.tools.records import AddUp, LookUp, answer, definition
from tests.support.servers.clients import plain_client
from tests.support.world import World, calls, world


@pytest.fixture
async def stack(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    """A world with a worker for these tools."""
    async with (
        world(dsn, temporal_client, task_queue) as made,
        plain_client() as client,
        made.worker(),
        tool_worker(temporal_client, made.pool, client, queue_of(made)),
    ):
        yield made


def queue_of(stack: World) -> str:
    """The task queue of these tools, unique to this world: other tests share its Temporal."""
    return f"{TOOL_QUEUE}-{stack.task_queue}"


def recorded(stack: World, calling: Reply, *results: str) -> dict[str, Any]:
    """An agent of a recording that calls a tool; the calls have these results, in order."""
    ids = [call.id for call in calling.tool_calls]
    tools = {
        one: ToolResult(tool_call_id=one, name="find", content=text) for one, text in zip(ids, results, strict=False)
    }
    name = uuid.uuid4().hex
    replies = (calling, Reply(content="Done."))
    stack.provider.control.add_recordings([Recording(name=name, agents={"a": replies}, tools=tools)])
    tool = {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}
    tool |= {"activity": TOOL_ACTIVITY, "task_queue": queue_of(stack)}
    return stack.agent() | {"api_base": stack.provider.api_base_of(name, "a"), "tools": [tool]}


async def said(stack: World, role: str) -> list[str]:
    rows = await stack.pool.fetch("select body ->> 'content' as text from messages where role = $1 order by seq", role)
    return [row["text"] for row in rows]


async def test_a_recorded_tool_returns_its_recorded_result(stack: World) -> None:
    task = await stack.run(recorded(stack, calls("find", "find"), "seat 12A", "seat 12B"))
    assert task["status"] == "completed"
    assert sorted(await said(stack, "tool")) == ["seat 12A", "seat 12B"]


async def test_a_call_that_was_not_recorded_is_an_error_for_the_model(stack: World) -> None:
    await stack.run(recorded(stack, calls("find", "find"), "seat 12A"))
    assert sorted(await said(stack, "tool")) == ["error: the tool failed (NotRecorded)", "seat 12A"]


async def test_an_agent_without_a_recording_has_no_recorded_tools(stack: World) -> None:
    agent = recorded(stack, calls("find"), "seat 12A") | {"api_base": stack.provider.api_base}
    stack.provider.control.add_rule(Rule(match=Match(text="Say something."), reply=calls("find")))
    await stack.run(agent | {"max_turns": 2})
    assert await said(stack, "tool") == ["error: the tool failed (NoRecording)"]


async def test_records_are_looked_up_and_added_up_for_the_model(stack: World) -> None:
    asks = calls("look_up", "add_up", table="double_charges", column="cents", first="14:40")
    queue = {"task_queue": queue_of(stack)}
    tools = [definition("look_up") | {"activity": "tool_add_up"} | queue, definition("add_up") | queue]
    await stack.run(stack.agent("a", asks, "Done.", tools=tools))
    assert await said(stack, "tool") == ['{"count": 2, "sum": 6175, "least": 2860, "most": 3315}'] * 2


@pytest.mark.parametrize(
    ("question", "arguments", "answered"),
    [
        (LookUp, {"table": "alerts", "first": "14:52", "last": "14:52"}, ["checkout"]),
        (LookUp, {"table": "alerts", "first": "23:00"}, []),
    ],
)
def test_rows_are_those_between_both_times(
    question: type[LookUp], arguments: dict[str, str], answered: list[str]
) -> None:
    assert [row["service"] for row in answer(question, arguments)["rows"]] == answered


@pytest.mark.parametrize(
    ("question", "arguments", "error"),
    [
        (LookUp, {"table": "people"}, "there is no table 'people': use changes, alerts"),
        (AddUp, {"table": "people", "column": "age"}, "there is no table 'people'"),
        (AddUp, {"table": "alerts", "column": "service"}, "'service' has no figures"),
        (AddUp, {"table": "alerts"}, "column: Field required"),
        (LookUp, {"table": "alerts", "colour": "red"}, "colour: Extra inputs are not permitted"),
    ],
)
def test_invalid_arguments_result_in_an_error_with_the_reason(
    question: type[LookUp], arguments: dict[str, str], error: str
) -> None:
    assert error in answer(question, arguments)["error"]


def test_a_definition_describes_the_arguments_to_the_model() -> None:
    shown = definition("add_up")
    assert shown["name"] == "add_up"
    assert shown["parameters"]["required"] == ["table", "column"]
    assert "double_charges" in shown["parameters"]["properties"]["table"]["description"]
