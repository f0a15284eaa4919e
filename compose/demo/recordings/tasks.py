"""A recorded conversation as a task for Purser and a recording from which the provider answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from purser.compose.demo.provider.recorded import Recording, ToolResult
from purser.compose.demo.provider.script import Reply

Row = Mapping[str, Any]
"""One line of a data set."""

MODEL = "openai/gpt-4o"
TOOL_ACTIVITY = "tool_recorded"
"""The activity that fetches a recorded result from the provider."""
TOOL_QUEUE = "tools-demo"
"""The task queue of its worker."""


@dataclass(frozen=True)
class RecordedAgent:
    """One agent of a recorded conversation."""

    id: str
    """Its id, unique in the task."""
    instructions: str
    """Its system prompt."""
    replies: tuple[Reply, ...]
    """Its replies in order, one per turn."""


@dataclass(frozen=True)
class RecordedTask:
    """A task file, and the recording that answers it."""

    task: dict[str, Any]
    """The task, as `purser run` reads it."""
    recording: Recording = field(repr=False)
    """The provider's replies, named like the task."""
    left_out: int
    """Number of agents omitted because the conversation has too many."""


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
    """A task whose agents run one after the other.

    Args:
        row: the line of the data set; its id names task, session and recording.
        text: the task's input.
        agents: the agents, in order.
        provider: address of the provider, without a path.
        tools: names of the tools that the agents may call.
        results: results of the tools, by the id of the call.
        left_out: number of omitted agents.
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
