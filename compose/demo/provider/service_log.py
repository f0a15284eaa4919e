"""The provider's own log of requests, independent of Purser so that both can be compared.

Append-only JSON lines, flushed one by one: a line when a request arrives and one when it ends. Prompts appear as
SHA-256 only, unless the log is configured to include text.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter

from purser.compose.demo.provider.wire import Usage


class Outcome(StrEnum):
    """How a request ended."""

    ANSWERED = "answered"
    """The whole answer was sent."""
    REFUSED = "refused"
    """An error status was sent."""
    DROPPED = "dropped"
    """The provider closed the connection."""
    CLIENT_GONE = "client_gone"
    """The client closed the connection."""
    STOPPED = "stopped"
    """The provider was stopped before the answer was complete."""


@dataclass(frozen=True)
class Arrival:
    """What is known of a request before it is answered."""

    model: str
    """Requested model; empty if the request could not be read."""
    recording: str | None
    """Recording in the path."""
    agent: str | None
    """Agent in the path."""
    request_id: str | None
    """Header `X-Client-Request-Id`; Purser sends `{hold_id}-{attempt}`."""
    messages: int
    """Number of messages in the prompt."""
    prompt_tokens: int
    """Tokens of the prompt."""
    prompt_sha256: str
    """Digest of the prompt, messages and tools."""
    stream: bool
    """Whether the client requested a stream."""
    tool_choice: str | dict[str, Any] | None = None
    """Which tools the request lets the model call; None if it does not say."""
    text: str | None = field(default=None, repr=False)
    """The prompt as JSON; only if the log is configured to include text."""


@dataclass(frozen=True)
class End:
    """How a request ended."""

    outcome: Outcome
    """The outcome."""
    status: int | None = None
    """Status that was sent; None if none was."""
    finish_reason: str | None = None
    """Finish reason that was sent; None if the answer was interrupted before."""
    produced_tokens: int = 0
    """Completion tokens that were actually sent or, if the answer is not streamed, produced."""
    usage: Usage | None = None
    """Usage that was actually sent; None if the client received none."""
    fault: str | None = None
    """Kind of the fault that affected the request."""

    @property
    def client_gone(self) -> bool:
        """Whether the client disconnected before the end."""
        return self.outcome is Outcome.CLIENT_GONE


@dataclass(frozen=True)
class Served:
    """One request, from arrival to end."""

    seq: int
    """Its number, from 1 in order of arrival."""
    arrived_at: str
    """When it arrived, ISO 8601 in UTC."""
    arrival: Arrival
    """The request."""
    end: End | None = None
    """How it ended; None while it is in flight."""

    @property
    def charged_tokens(self) -> int:
        """Total tokens reported to the client; 0 if none were reported."""
        return self.end.usage.total_tokens if self.end is not None and self.end.usage is not None else 0

    def record(self) -> dict[str, Any]:
        """The request as JSON."""
        return _json(self) | {"charged_tokens": self.charged_tokens}


_ADAPTERS: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in (Arrival, End, Served)}


class ServiceLog:
    """The log in memory and, with a path, in a new file.

    Raises:
        FileExistsError: the file exists; its sequence numbers would be confused with those of this log.
    """

    def __init__(self, path: Path | None = None, *, keep_text: bool = False) -> None:
        self.keep_text = keep_text
        """Whether arrivals include their prompt."""
        self._served: dict[int, Served] = {}
        self._ended = asyncio.Event()
        self._file: IO[str] | None = None if path is None else path.open("x", encoding="utf-8")

    def arrived(self, arrival: Arrival) -> int:
        """Records that a request arrived; returns its number."""
        served = Served(len(self._served) + 1, _now(), arrival)
        self._served[served.seq] = served
        self._write({"event": "arrived", "seq": served.seq, "at": served.arrived_at, **_json(arrival)})
        return served.seq

    def ended(self, seq: int, end: End) -> None:
        """Records how a request ended."""
        self._served[seq] = replace(self._served[seq], end=end)
        self._write({"event": "ended", "seq": seq, "at": _now(), **_json(end)})
        self._ended.set()

    async def end_of(self, seq: int) -> End:
        """Waits until a request has ended; returns how."""
        while (end := self._served[seq].end) is None:
            self._ended.clear()
            await self._ended.wait()
        return end

    def served(self) -> tuple[Served, ...]:
        """Every request so far, in order of arrival."""
        return tuple(self._served.values())

    def close(self) -> None:
        """Closes the file; requests remain readable from memory."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, record: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._file.flush()


def read_log(path: Path) -> tuple[Served, ...]:
    """The requests of a log file that one provider wrote, in order of arrival; an incomplete last line is ignored."""
    served: dict[int, Served] = {}
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        record = json.loads(line)
        event, seq, at = record.pop("event"), record.pop("seq"), record.pop("at")
        if event == "arrived":
            served[seq] = Served(seq, at, _ADAPTERS[Arrival].validate_python(record))
        else:
            served[seq] = replace(served[seq], end=_ADAPTERS[End].validate_python(record))
    return tuple(served.values())


def charged_tokens(
    served: Iterable[Served], *, request_id: str | None = None, recording: str | None = None, agent: str | None = None
) -> int:
    """Sum of the reported totals of all matching requests.

    Args:
        served: the requests.
        request_id: prefix of the request id, such as a hold id.
        recording: recording in the path.
        agent: agent in the path.
    """
    return sum(
        one.charged_tokens
        for one in served
        if recording in (None, one.arrival.recording)
        and agent in (None, one.arrival.agent)
        and (request_id is None or (one.arrival.request_id or "").startswith(request_id))
    )


def _json(value: Arrival | End | Served) -> dict[str, Any]:
    record: dict[str, Any] = _ADAPTERS[type(value)].dump_python(value, mode="json")
    return record


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
