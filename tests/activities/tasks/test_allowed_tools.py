"""The allow-list of tools: only activities and task queues that the operator allows."""

from typing import Any

import pytest

from purser.activities.errors import InvalidTask
from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.file import TaskFile
from purser.compose.demo.recordings.tasks import TOOL_ACTIVITY, TOOL_QUEUE
from purser.compose.demo.tools.records import QUESTIONS, definition
from purser.compose.settings import Settings
from purser.workflows.contract import ActivityName

USUAL = Settings()
ALLOWED = AllowedTools(USUAL.tool_activities, USUAL.tool_task_queues, "purser")


def check(allowed: AllowedTools = ALLOWED, name: str = "t", **tool: Any) -> None:
    """Checks a task whose second agent has this tool."""
    check_all({"name": name} | tool, allowed=allowed)


def check_all(*tools: dict[str, Any], allowed: AllowedTools = ALLOWED) -> None:
    """Checks a task whose second agent has these tools."""
    agents: list[dict[str, Any]] = [{"id": each, "model": "m", "instructions": "Do it."} for each in "ab"]
    agents[1]["tools"] = [{"description": "", "parameters": {}} | tool for tool in tools]
    file = {"session_id": "s", "task_id": "t", "input": "Go.", "agents": agents}
    TaskFile.parse(file, (), [allowed.faults])


def test_the_usual_prefixes_are_allowed() -> None:
    check(activity="tool_weather")
    check(name="tool_weather")
    check(activity="tool_weather", task_queue="tools-weather")
    check(activity="tool_weather", task_queue="purser")


def test_tools_of_the_demo_are_as_those_of_users() -> None:
    check(activity=TOOL_ACTIVITY, task_queue=TOOL_QUEUE)
    for name in QUESTIONS:
        check(**definition(name))


@pytest.mark.parametrize(
    "tool", [{"activity": "payroll"}, {"name": "payroll"}, {"activity": "too"}, {"activity": "my_tool_x"}]
)
def test_another_activity_is_refused_with_its_place_and_the_setting(tool: dict[str, Any]) -> None:
    with pytest.raises(InvalidTask) as refused:
        check(**tool)
    message = str(refused.value)
    assert message.startswith("$.agents[1].tools[0] runs activity ")
    assert "PURSER_TOOL_ACTIVITIES" in message
    assert "tool_*" in message


def test_every_tool_of_an_agent_is_looked_at_and_all_faults_are_named() -> None:
    with pytest.raises(InvalidTask) as refused:
        check_all({"name": "tool_a"}, {"name": "tool_b", "task_queue": "other"}, {"name": "payroll"})
    queue, activity = str(refused.value).split("; $")
    assert queue.startswith("$.agents[1].tools[1] runs on task_queue 'other'")
    assert activity.startswith(".agents[1].tools[2] runs activity 'payroll'")


@pytest.mark.parametrize("queue", ["payroll", "tools", "purser-2", "my-tools-x"])
def test_another_queue_is_refused_with_the_setting(queue: str) -> None:
    with pytest.raises(InvalidTask, match="PURSER_TOOL_TASK_QUEUES"):
        check(activity="tool_weather", task_queue=queue)


@pytest.mark.parametrize("activity", ActivityName)
def test_an_activity_of_the_workflows_is_never_a_tool(activity: str) -> None:
    with pytest.raises(InvalidTask, match="belongs to the workflows"):
        check(AllowedTools(("*",), ("*",), "purser"), activity=activity)


def test_an_operator_may_allow_everything_else() -> None:
    check(AllowedTools(("*",), ("*",), "purser"), activity="payroll", task_queue="payroll")


def test_nothing_is_allowed_where_the_list_is_empty() -> None:
    with pytest.raises(InvalidTask, match="allows none"):
        check(AllowedTools((), (), "purser"), activity="tool_weather")
