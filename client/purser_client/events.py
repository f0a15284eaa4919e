"""The stream of events: reading it, and resuming where it broke off."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from purser_client.operations.arguments import given
from purser_client.wire.events import POSITION

SILENCE_S = 45.0
"""Seconds without a line after which the stream is taken up anew; a gateway sends a heartbeat every ten."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event."""

    id: str
    """Position of the event: resume `after` it. Empty for a `gap`."""
    kind: str
    """Such as `threshold`, `approval`, `task`; `gap`: events before this one are gone."""
    at: datetime | None
    scope: str | None
    data: dict[str, Any]


@dataclass(slots=True)
class Reader:
    """Reads the lines of a stream, and remembers where to resume."""

    kinds: Sequence[str] = ()
    scopes: Sequence[str] = ()
    after: str | None = None
    """Position of the last event that was handed out, or at which the stream began."""
    retry_s: float = 2.0
    """Seconds before the stream is taken up anew."""
    _fields: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> dict[str, Any]:
        """Parameters of the next request."""
        return given(kind=list(self.kinds) or None, scope=list(self.scopes) or None)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the next request."""
        return {"Accept": "text/event-stream"} | ({} if self.after is None else {"Last-Event-ID": self.after})

    def begin(self, headers: Mapping[str, str]) -> None:
        """Begins a stream with these headers; forgets the half of an event that a broken one has left."""
        self.after = headers.get(POSITION, self.after)
        self._fields.clear()

    def read(self, line: str) -> Iterator[Event]:
        """The event that this line ends, if any."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line and name == "retry" and value.isdigit():
            self.retry_s = int(value) / 1_000
        elif line and name:
            self._fields[name] = f"{self._fields[name]}\n{value}" if name == "data" and name in self._fields else value
        elif not line:
            fields, self._fields = self._fields, {}
            if "data" in fields:
                self.after = fields.get("id", self.after)
                yield _event(fields)


def _event(fields: dict[str, str]) -> Event:
    body: dict[str, Any] = json.loads(fields["data"])
    if "at" not in body:
        return Event(fields.get("id", ""), fields.get("event", "message"), None, None, body)
    at = datetime.fromisoformat(body["at"])
    return Event(fields.get("id", ""), fields.get("event", "message"), at, body.get("scope"), body.get("data", {}))
