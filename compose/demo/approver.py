"""Approvals in the demo: decided by a key at this terminal, elsewhere, or automatically after a timeout."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from purser.compose.cli.tables import number
from purser.compose.demo.api import Api
from purser.compose.demo.command import purser
from purser.compose.demo.figures import short_name
from purser.compose.demo.keyboard import pressed_keys
from purser.compose.errors import RequestFailed

INDENT = 9
"""Columns left of a request, as wide as the time in front of other lines."""
POLL_S = 0.3
ROUND = 1_000
"""Grants are what is missing, rounded up to a multiple of this many tokens."""
CHOICES = {"a": "approve", "d": "deny"}


@dataclass(frozen=True)
class Approver:
    """Shows approval requests at the terminal and decides them."""

    api: Api
    """The API, called with the approver's key."""
    console: Console
    data: Path
    """The demo's directory, through which other commands reach it (`--data`)."""
    interactive: bool
    """Whether a person can press a key."""

    @property
    def timeout_s(self) -> int:
        """Seconds after which a request is approved automatically."""
        return 30 if self.interactive else 2

    async def wait_for_decision(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Shows a request and returns it once it is decided, by a key here or by anyone elsewhere."""
        path, clock = f"/v1/approvals/{request['approval_id']}", asyncio.get_running_loop().time
        give_up = clock() + self.timeout_s
        with ExitStack() as stack:
            keys = stack.enter_context(pressed_keys()) if self.interactive else None
            self._show(request)
            while (current := await self.api.get(path))["state"] == "pending":
                if choice := await _choice(keys):
                    await self._decide(path, {"decision": choice}, request)
                elif clock() > give_up:
                    note = f"by itself after {self.timeout_s} s"
                    await self._decide(path, {"decision": "approve", "note": note}, request)
        return dict(current)

    async def _decide(self, path: str, decision: dict[str, object], request: Mapping[str, Any]) -> None:
        if decision["decision"] == "approve":
            decision["grant_tokens"] = _grant(request)
        try:
            await self.api.post(f"{path}/decision", {"decision_id": str(uuid.uuid4()), **decision})
        except RequestFailed as failed:
            # Another approver was faster.
            if failed.problem.get("status") != 409:
                raise

    def _show(self, request: Mapping[str, Any]) -> None:
        for line in self._lines(request):
            self.console.print(Padding(line, (0, 0, 0, INDENT)))
        if self.interactive:
            # Not wrapped, so that it can be copied.
            self.console.print(" " * INDENT + f"  {self._command(request)}", soft_wrap=True, markup=False)
            self.console.print()

    def _lines(self, request: Mapping[str, Any]) -> Iterator[str]:
        waiter, tokens = request["waiters"][0], request["tokens"]
        grant = _grant(request)
        yield ""
        yield "[bold yellow]A person has to decide[/]"
        yield (
            f"[cyan]{escape(waiter['agent_id'])}[/] asks for a call of up to {number(waiter['tokens'])} tokens. "
            f"{short_name(request['scope'])} has spent {number(tokens['spent'])} of {number(request['limit_tokens'])}, "
            f"so {number(request['asked']['tokens'])} are missing."
        )
        submitter = escape(waiter["submitter"] or "an unnamed caller")
        yield f"The task was submitted by {submitter}. Nothing is held while it waits."
        if self.interactive:
            yield (
                f"Press [bold]a[/] to grant {number(grant)} tokens or [bold]d[/] to deny; in {self.timeout_s} s they "
                "are granted anyway. From another terminal:"
            )
        else:
            yield f"No one is at this terminal: {number(grant)} tokens are granted in {self.timeout_s} s."
            yield ""

    def _command(self, request: Mapping[str, Any]) -> str:
        words = f"approvals approve {request['approval_id']} --tokens {_grant(request)} --data {self.data}"
        return f"{purser()} {words}"


def _grant(request: Mapping[str, Any]) -> int:
    return -(-int(request["asked"]["tokens"]) // ROUND) * ROUND


async def _choice(keys: "asyncio.Queue[str] | None") -> str | None:
    """The decision of the next key pressed within `POLL_S`, if it is a key of `CHOICES`."""
    if keys is None:
        await asyncio.sleep(POLL_S)
        return None
    try:
        return CHOICES.get(await asyncio.wait_for(keys.get(), POLL_S))
    except TimeoutError:
        return None
