"""Reading the event stream of a gateway, across its restarts."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from purser.compose.cli.api.client import Gateway
from purser.compose.errors import RequestFailed, Unreachable

QUIET_S = 1.0
"""Seconds without an event after which everything stored has been read."""
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
    while True:
        try:
            for event in _stream(api, dict(filters) | {"after": after}, PATIENCE_S if follow else QUIET_S):
                opened = True
                if event["id"] is not None:
                    after = event["id"]
                    yield event
        except httpx.ReadTimeout:
            opened = True
        except (Unreachable, RequestFailed) as error:
            if not (follow and opened and error.is_transient):
                raise
        if not follow:
            return
        time.sleep(RETRY_S)


def _stream(api: Gateway, query: Mapping[str, Any], patience_s: float) -> Iterator[dict[str, Any]]:
    with api.stream("/v1/events", query, patience_s) as lines:
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
