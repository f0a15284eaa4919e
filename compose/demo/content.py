"""Content of the demo: the notes of an incident, and five agents that turn them into a review.

`session.json` is the conversation before the task, `task.json` the task, `recording.json` the agents' replies where no
real provider answers.
"""

import json
from importlib import resources
from typing import Any

from purser.compose.demo.provider.recorded import Recording
from purser.compose.demo.provider.script import Match, Rule, Script
from purser.compose.demo.tools.records import definition
from purser.context.conversation.messages import Message

AGENT_TOOLS = {"timeline": ("look_up",), "impact": ("look_up", "add_up"), "cause": ("look_up", "add_up")}
PACE = Script(rules=(Rule(match=Match(agent="lead"), chunk_delay_ms=300), Rule(chunk_delay_ms=40)))
"""The pace of answers: 16 tokens per 40 ms. The first agent takes its time: meanwhile the session is compressed, so
that each run tells the same story."""


def conversation() -> list[Message]:
    """The messages of the session before the task."""
    return [Message.parse(message, index) for index, message in enumerate(_read("session.json"))]


def recording() -> Recording:
    """The replies of each agent."""
    return Recording.model_validate(_read("recording.json"))


def task_file(*, api_base: str | None, model: str | None) -> dict[str, Any]:
    """The task file.

    Args:
        api_base: address of the provider that answers from the recording, with `{agent}` for the agent's id; `None`:
            real providers answer.
        model: replaces the models of the file.
    """
    task: dict[str, Any] = _read("task.json")
    for agent in task["agents"]:
        agent["tools"] = [definition(tool) for tool in AGENT_TOOLS.get(agent["id"], ())]
        if api_base is not None:
            agent["api_base"] = api_base.format(agent=agent["id"])
        if model is not None:
            agent["model"] = model
    return task


def _read(name: str) -> Any:
    return json.loads(resources.files("purser.compose.demo").joinpath(name).read_text("utf-8"))
