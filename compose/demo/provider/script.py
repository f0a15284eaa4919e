"""What a model answers, and what goes wrong on the way: rules and faults, as values.

Everything here is pure. A script is read from JSON, given to the provider at start or through its control door.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from purser.compose.demo.provider.errors import ScriptError, reason
from purser.compose.demo.provider.wire import ToolCall, Usage


@dataclass(frozen=True)
class Asked:
    """What is known of a request when it arrives, without its prompt."""

    model: str
    """The model it names; empty if the request could not be read."""
    recording: str | None
    """The recording of its path."""
    agent: str | None
    """The agent of its path."""
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
        """What shares a prompt cache: the agent of a recording, else everything that asks the same model."""
        return "/".join((self.recording or "", self.agent or "", self.model))


class Scripted(BaseModel):
    """A value of a script: immutable, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Match(Scripted):
    """Which requests are meant: all that fit every field that is set."""

    model: str | None = None
    """Exactly this model."""
    text: str | None = None
    """The last message contains this."""
    recording: str | None = None
    """The path chooses this recording."""
    agent: str | None = None
    """The path names this agent."""
    request_id: str | None = None
    """The request id begins with this."""
    attempt: int | None = None
    """The request id ends with this attempt."""

    def accepts(self, asked: Asked) -> bool:
        """Whether a request is meant."""
        return (
            self.model in (None, asked.model)
            and self.recording in (None, asked.recording)
            and self.agent in (None, asked.agent)
            and self.attempt in (None, asked.attempt)
            and (self.text is None or self.text in asked.text)
            and (self.request_id is None or (asked.request_id or "").startswith(self.request_id))
        )


class Reply(Scripted):
    """What a model says: text, tool calls, or both."""

    content: str | None = None
    """The text."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls of tools, in order."""


class Rule(Scripted):
    """How matching requests are answered."""

    match: Match = Match()
    """The requests that the rule answers."""
    reply: Reply | None = None
    """What is said; None leaves that to the recording or the default, and only paces it."""
    chunks: int | None = Field(default=None, ge=1)
    """Into how many chunks the answer is cut; default one per 16 tokens. Never more than there are tokens."""
    chunk_delay_ms: int = Field(default=0, ge=0)
    """How long each chunk takes. An answer that is not streamed takes as long."""
    usage: Usage | None = None
    """Reported instead of what was counted."""
    report_usage: bool = True
    """False: the answer never tells its usage."""


class FaultKind(StrEnum):
    """What a provider can do instead of answering."""

    RATE_LIMITED = "rate_limited"
    """Status 429 with Retry-After."""
    SERVER_ERROR = "server_error"
    """Status 500."""
    UNAVAILABLE = "unavailable"
    """Status 503."""
    HANG = "hang"
    """Say nothing (more) until the client goes away."""
    DROP = "drop"
    """Close the connection."""
    SLOW = "slow"
    """Wait once, then go on."""
    HOLD = "hold"
    """Wait until a test continues it, then go on."""


STATUSES = {FaultKind.RATE_LIMITED: 429, FaultKind.SERVER_ERROR: 500, FaultKind.UNAVAILABLE: 503}


class Fault(Scripted):
    """Something that goes wrong with matching requests. One request has at most one fault, the first that fits."""

    kind: FaultKind
    """What happens."""
    match: Match = Match()
    """The requests that it happens to."""
    times: int | None = Field(default=1, ge=1)
    """How many requests it happens to; None: all."""
    after_chunks: int | None = Field(default=None, ge=0)
    """After how many chunks of content it happens, at the latest after the last one; None: before the answer."""
    retry_after_ms: int = Field(default=1000, ge=0)
    """What a 429 tells the client to wait."""
    delay_ms: int = Field(default=1000, ge=0)
    """How long `slow` waits."""

    @property
    def status(self) -> int | None:
        """The status that is sent instead of an answer, or None."""
        return STATUSES.get(self.kind)

    @model_validator(mode="after")
    def _status_comes_first(self) -> Self:
        if self.status is not None and self.after_chunks is not None:
            raise ValueError(f"{self.kind.value!r} is a status and cannot come after chunks; leave after_chunks out")
        return self


class Script(Scripted):
    """Rules and faults, each tried in order."""

    rules: tuple[Rule, ...] = ()
    """How requests are answered; the first that fits wins."""
    faults: tuple[Fault, ...] = ()
    """What goes wrong; the first that fits and is not used up wins."""


def read_script(path: Path) -> Script:
    """A script from a JSON file.

    Raises:
        ScriptError: the file cannot be read or is no script.
    """
    try:
        return Script.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ScriptError(f"script {str(path)!r} is not valid: {reason(error)}") from error


def default_reply(user_text: str) -> Reply:
    """A short answer made from the last user message, always the same for the same text."""
    words = user_text.split()
    return Reply(content=f"You said {len(words)} words, beginning with: {' '.join(words[:12])}")
