"""Recorded conversations: the next reply is determined by the prompt alone.

A reply counts as given when the prompt contains it: its tool call ids, or the exact text of a reply without tool calls.
The next reply is the one after the last given. So a retry of the same prompt gets the same reply, whatever other
requests came in between, and compressed messages or those of other agents in the prompt do not shift it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from purser.compose.demo.provider.errors import RecordingError, reason
from purser.compose.demo.provider.script import Reply, Scripted
from purser.compose.demo.provider.wire import Message


class ToolResult(Scripted):
    """What a tool returned in the recorded conversation."""

    tool_call_id: str
    """The call that it answers."""
    name: str
    """Name of the tool."""
    content: str
    """The result, as text."""


class Recording(Scripted):
    """What the agents of one conversation said, in order, and what their tools returned."""

    name: str = Field(pattern=r"^[A-Za-z0-9._~-]{1,128}$")
    """Name of the recording, as in the provider's paths."""
    agents: dict[str, Annotated[tuple[Reply, ...], Field(min_length=1)]]
    """The replies of each agent, by its id; at least one each."""
    tools: dict[str, ToolResult] = Field(default_factory=dict)
    """The results of tool calls, by the id of the call, which is unique in the recording."""

    def reply(self, agent: str | None, messages: Sequence[Message]) -> Reply:
        """The next reply of an agent; past the end, the last reply again.

        Args:
            agent: id of the agent; None: the only agent of the recording.
            messages: the prompt.

        Raises:
            RecordingError: the recording has no such agent.
        """
        if agent is None and len(self.agents) == 1:
            agent = next(iter(self.agents))
        if agent is None or agent not in self.agents:
            raise RecordingError(
                f"recording {self.name!r} has no agent {agent!r}; call /r/{self.name}/AGENT/v1 with one of its agents"
            )
        replies = self.agents[agent]
        calls = {call.id for message in messages for call in message.tool_calls or ()}
        texts = {message.text for message in messages if message.role == "assistant"}
        given = [index for index, reply in enumerate(replies[:-1]) if _is_given(reply, calls, texts)]
        return replies[given[-1] + 1 if given else 0]


def _is_given(reply: Reply, calls: set[str], texts: set[str]) -> bool:
    if reply.tool_calls:
        return all(call.id in calls for call in reply.tool_calls)
    return reply.content in texts


def read_recordings(folder: Path) -> dict[str, Recording]:
    """All recordings of a folder, by name.

    Raises:
        RecordingError: a file is not a recording, or the folder does not exist.
    """
    if not folder.is_dir():
        raise RecordingError(f"the folder of recordings does not exist: {str(folder)!r}")
    recordings = [_read(path) for path in sorted(folder.glob("*.json"))]
    return {recording.name: recording for recording in recordings}


def _read(path: Path) -> Recording:
    try:
        return Recording.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise RecordingError(f"recording {str(path)!r} is not valid: {reason(error)}") from error
