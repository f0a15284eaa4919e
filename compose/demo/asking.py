"""The approval in the demo: whoever decides first, decides; where nobody is there, it decides by itself."""

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
"""Columns left of a request, as wide as the time beside other lines."""
POLL_S = 0.3
ROUND = 1_000
"""People grant round amounts: what is missing, rounded up to this many tokens."""
CHOICES = {"a": "approve", "d": "deny"}


@dataclass(frozen=True)
class Desk:
    """Where requests are shown and decided."""

    api: Api
    """With the key of the person who decides."""
    console: Console
    data: Path
    """Directory that other commands find the demo by."""
    someone: bool
    """Whether a person is there to press a key."""

    @property
    def patience_s(self) -> int:
        """How long a request is left to people."""
        return 30 if self.someone else 2

    async def decided(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Shows a request and returns it as soon as it is decided, by a key here or by anybody elsewhere."""
        path, clock = f"/v1/approvals/{request['approval_id']}", asyncio.get_running_loop().time
        give_up = clock() + self.patience_s
        with ExitStack() as stack:
            keys = stack.enter_context(pressed_keys()) if self.someone else None
            self._show(request)
            while (standing := await self.api.get(path))["state"] == "pending":
                if choice := await _choice(keys):
                    await self._decide(path, {"decision": choice}, request)
                elif clock() > give_up:
                    note = f"by itself after {self.patience_s} s"
                    await self._decide(path, {"decision": "approve", "note": note}, request)
        return dict(standing)

    async def _decide(self, path: str, decision: dict[str, object], request: Mapping[str, Any]) -> None:
        if decision["decision"] == "approve":
            decision["grant_tokens"] = _grant(request)
        try:
            await self.api.post(f"{path}/decision", {"decision_id": str(uuid.uuid4()), **decision})
        except RequestFailed as failed:
            # Somebody else was faster.
            if failed.problem.get("status") != 409:
                raise

    def _show(self, request: Mapping[str, Any]) -> None:
        for line in self._lines(request):
            self.console.print(Padding(line, (0, 0, 0, INDENT)))
        if self.someone:
            # In one piece, to be copied.
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
        yield f"The task was submitted by {escape(waiter['submitter'] or 'nobody')}. Nothing is held while it waits."
        if self.someone:
            yield (
                f"Press [bold]a[/] to grant {number(grant)} tokens or [bold]d[/] to deny; in {self.patience_s} s they "
                "are granted anyway. From another terminal:"
            )
        else:
            yield f"Nobody is at this terminal: {number(grant)} tokens are granted in {self.patience_s} s."
            yield ""

    def _command(self, request: Mapping[str, Any]) -> str:
        words = f"approvals approve {request['approval_id']} --tokens {_grant(request)} --data {self.data}"
        return f"{purser()} {words}"


def _grant(request: Mapping[str, Any]) -> int:
    return -(-int(request["asked"]["tokens"]) // ROUND) * ROUND


async def _choice(keys: "asyncio.Queue[str] | None") -> str | None:
    """The next choice that is pressed, if one is."""
    if keys is None:
        await asyncio.sleep(POLL_S)
        return None
    try:
        return CHOICES.get(await asyncio.wait_for(keys.get(), POLL_S))
    except TimeoutError:
        return None
