"""Scripts of the provider: rules for what a model answers, and faults.

Everything here is pure. A script is read from JSON and given to the provider at start or through its control endpoint.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from purser.compose.demo.provider.errors import ScriptError, reason
from purser.compose.demo.provider.wire import ToolCall, Usage


@dataclass(frozen=True)
class RequestInfo:
    """What is known of a request when it arrives, without its prompt."""

    model: str
    """The model it names; empty if the request could not be read."""
    recording: str | None
    """The recording in its path."""
    agent: str | None
    """The agent in its path."""
    request_id: str | None
    """Header `X-Client-Request-Id`; Purser sends `{hold_id}-{attempt}`."""
    text: str = field(repr=False)
    """Text of the last message."""

    @property
    def attempt(self) -> int | None:
        """The attempt that the request id ends with."""
        last = (self.request_id or "").rpartition("-")[2]
        return int(last) if last.isdecimal() else None

    @property
    def conversation(self) -> str:
        """Key of the prompt cache: recording, agent and model. Requests without a recording share one per model."""
        return "/".join((self.recording or "", self.agent or "", self.model))


class Scripted(BaseModel):
    """Base of script values: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Match(Scripted):
    """Selects the requests that match every field that is set."""

    model: str | None = None
    """The model is exactly this."""
    text: str | None = None
    """The last message contains this."""
    recording: str | None = None
    """The path names this recording."""
    agent: str | None = None
    """The path names this agent."""
    request_id: str | None = None
    """The request id begins with this."""
    attempt: int | None = None
    """The request id ends with this attempt."""

    def accepts(self, info: RequestInfo) -> bool:
        """Whether a request matches."""
        return (
            self.model in (None, info.model)
            and self.recording in (None, info.recording)
            and self.agent in (None, info.agent)
            and self.attempt in (None, info.attempt)
            and (self.text is None or self.text in info.text)
            and (self.request_id is None or (info.request_id or "").startswith(self.request_id))
        )


class Reply(Scripted):
    """A reply of a model: text, tool calls, or both."""

    content: str | None = None
    """The text."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls, in order."""


class Rule(Scripted):
    """How matching requests are answered."""

    match: Match = Match()
    """The requests that the rule answers."""
    reply: Reply | None = None
    """The reply; None: that of the recording or the default, at the pace of this rule."""
    chunks: int | None = Field(default=None, ge=1)
    """Number of chunks, at most one per token; by default one per 16 tokens."""
    chunk_delay_ms: int = Field(default=0, ge=0)
    """Delay before each chunk. An answer that is not streamed takes as long in total."""
    usage: Usage | None = None
    """Usage to report instead of the counted one."""
    report_usage: bool = True
    """Whether answers report their usage."""


class FaultKind(StrEnum):
    """Ways in which a provider fails or delays an answer."""

    RATE_LIMITED = "rate_limited"
    """Status 429 with Retry-After."""
    SERVER_ERROR = "server_error"
    """Status 500."""
    UNAVAILABLE = "unavailable"
    """Status 503."""
    HANG = "hang"
    """Send nothing (more) until the client disconnects."""
    DROP = "drop"
    """Close the connection."""
    SLOW = "slow"
    """Wait once, then continue."""
    HOLD = "hold"
    """Wait until a test continues it."""


STATUSES = {FaultKind.RATE_LIMITED: 429, FaultKind.SERVER_ERROR: 500, FaultKind.UNAVAILABLE: 503}


class Fault(Scripted):
    """A fault for matching requests. A request gets at most one, the first that matches."""

    kind: FaultKind
    """What happens."""
    match: Match = Match()
    """The requests that it affects."""
    times: int | None = Field(default=1, ge=1)
    """How many requests it affects; None: all."""
    after_chunks: int | None = Field(default=None, ge=0)
    """After how many chunks of content it occurs, at the latest after the last one; None: before the answer."""
    retry_after_ms: int = Field(default=1000, ge=0)
    """Delay that a 429 asks the client to wait."""
    delay_ms: int = Field(default=1000, ge=0)
    """How long `slow` waits."""

    @property
    def status(self) -> int | None:
        """The error status that is sent instead of an answer, or None."""
        return STATUSES.get(self.kind)

    @model_validator(mode="after")
    def _status_comes_first(self) -> Self:
        if self.status is not None and self.after_chunks is not None:
            raise ValueError(f"{self.kind.value!r} is a status and cannot come after chunks; leave after_chunks out")
        return self


class Script(Scripted):
    """Rules and faults, each tried in order."""

    rules: tuple[Rule, ...] = ()
    """How requests are answered; the first that matches wins."""
    faults: tuple[Fault, ...] = ()
    """What fails; the first that matches and is not used up wins."""


def read_script(path: Path) -> Script:
    """A script from a JSON file.

    Raises:
        ScriptError: the file cannot be read or is not a valid script.
    """
    try:
        return Script.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ScriptError(f"script {str(path)!r} is not valid: {reason(error)}") from error


def default_reply(user_text: str) -> Reply:
    """A short reply derived from the last user message; the same text always gets the same reply."""
    words = user_text.split()
    return Reply(content=f"You said {len(words)} words, beginning with: {' '.join(words[:12])}")
