"""Follows the event stream from the oldest event on, and resumes after a disconnect."""

# ruff: noqa: T201

import json
import os
import time
from typing import Any

import httpx

position = 0  # store it where it survives a restart
headers = {"Authorization": f"Bearer {os.environ['PURSER_API_KEY']}"}


def handle(kind: str, event: dict[str, Any]) -> None:
    print(kind, event["scope"], event["data"])


while True:
    try:
        url = f"{os.environ['PURSER_URL']}/v1/events"
        with httpx.stream("GET", url, headers=headers | {"Last-Event-ID": str(position)}, timeout=30) as stream:
            stream.raise_for_status()
            fields: dict[str, str] = {}
            for line in stream.iter_lines():
                name, _, value = line.partition(": ")
                if line and name:
                    fields[name] = value
                elif fields.get("event") == "gap":
                    print("some events are gone:", fields.pop("data"))
                    fields.clear()
                elif "data" in fields:
                    handle(fields["event"], json.loads(fields["data"]))
                    position = int(fields["id"])
                    fields = {}
    except httpx.TransportError:
        pass  # the gateway restarts, or the network is down
    except httpx.HTTPStatusError as error:
        if error.response.status_code < 500 and error.response.status_code != 429:
            raise  # the key or the request is not valid
    time.sleep(2)
