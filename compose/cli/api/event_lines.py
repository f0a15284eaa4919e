"""Reading the event stream of a gateway, across its restarts."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

from purser.compose.cli.api.client import Gateway
from purser.compose.errors import RequestFailed, Unreachable
from purser.wire.events import POSITION

QUIET_S = 1.0
"""Seconds without a byte of the open stream after which everything stored has been read."""
PATIENCE_S = 60.0
"""Seconds without a byte after which a followed stream is opened again: the gateway sends one at least every 15 s."""
RETRY_S = 1.0


def read_events(
    api: Gateway, filters: Mapping[str, Any], after: int | None, *, follow: bool
) -> Iterator[dict[str, Any]]:
    """Yield events: `id`, `kind`, `at`, `scope`, `data`.

    Args:
        api: the gateway.
        filters: query parameters of `/v1/events`; those that are None are left out.
        after: id of the event after which to begin; None: with the next event.
        follow: goes on without end, resuming where a stream breaks off; else ends with what is stored.

    Raises:
        RequestFailed: the gateway refuses the stream, and not because it is starting or stopping.
        Unreachable: the gateway does not answer at first, or at all without `follow`.
    """
    opened = False
    position: int | str | None = after
    while True:
        query = dict(filters) | {"after": position}
        try:
            with api.stream("/v1/events", query, PATIENCE_S if follow else QUIET_S) as response:
                opened = True
                position = response.headers.get(POSITION, position)
                for event in _events(response.iter_lines()):
                    if event["id"] is not None:
                        position = event["id"]
                        yield event
        except httpx.ReadTimeout:
            pass
        except (Unreachable, RequestFailed) as error:
            if not (follow and opened and error.is_transient):
                raise
        if not follow:
            return
        time.sleep(RETRY_S)


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "data" in fields:
            yield _event(fields)
            fields = {}


def _event(fields: Mapping[str, str]) -> dict[str, Any]:
    found = json.loads(fields["data"])
    position = int(fields["id"]) if "id" in fields else None
    return {"id": position, "kind": fields.get("event"), "at": found.get("at"), "scope": found.get("scope")} | {
        "data": found.get("data", {})
    }
