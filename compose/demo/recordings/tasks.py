"""A recorded conversation as a task that Purser runs and a recording that the provider answers from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from purser.compose.demo.provider.recorded import Recording, ToolResult
from purser.compose.demo.provider.script import Reply

Row = Mapping[str, Any]
"""One line of a data set."""

MODEL = "openai/gpt-4o"
TOOL_ACTIVITY = "tool_recorded"
"""The activity that looks a result up where the provider serves it."""
TOOL_QUEUE = "tools-demo"
"""Where its worker works."""


@dataclass(frozen=True)
class RecordedAgent:
    """One agent of a recorded conversation."""

    id: str
    """Its id, unique in the task."""
    instructions: str
    """Its system prompt."""
    replies: tuple[Reply, ...]
    """What it said, in order; one turn each."""


@dataclass(frozen=True)
class RecordedTask:
    """A task file, and the recording that answers it."""

    task: dict[str, Any]
    """The task, as `purser run` reads it."""
    recording: Recording = field(repr=False)
    """What the provider answers, named like the task."""
    left_out: int
    """Agents of the conversation that were left out because it has too many."""


def chain(
    row: Row,
    text: str,
    agents: Sequence[RecordedAgent],
    provider: str,
    *,
    tools: Sequence[str] = (),
    results: Mapping[str, ToolResult] | None = None,
    left_out: int = 0,
) -> RecordedTask:
    """A task whose agents answer one after the other.

    Args:
        row: the line of the data set; its id names task, session and recording.
        text: the task's input.
        agents: who answers, in order.
        provider: address of the provider, without a path.
        tools: names of the tools that the agents may call.
        results: what the tools returned, by the id of the call.
        left_out: agents that were left out.
    """
    name = row["id"]
    definitions = [_tool(tool) for tool in tools]
    task = {
        "session_id": name,
        "task_id": name,
        "input": text,
        "agents": [
            {
                "id": agent.id,
                "model": MODEL,
                "instructions": agent.instructions,
                "depends_on": [before.id for before in agents[index - 1 : index]],
                "max_turns": len(agent.replies),
                "tools": definitions,
                "api_base": f"{provider}/r/{name}/{agent.id}/v1",
            }
            for index, agent in enumerate(agents)
        ],
    }
    recording = Recording(name=name, agents={agent.id: agent.replies for agent in agents}, tools=dict(results or {}))
    return RecordedTask(task, recording, left_out)


def _tool(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"The tool {name!r} of a recorded conversation.",
        "parameters": {"type": "object", "additionalProperties": True},
        "activity": TOOL_ACTIVITY,
        "task_queue": TOOL_QUEUE,
    }
