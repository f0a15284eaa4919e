"""The demo from beginning to end."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from temporalio.client import Client

from purser.activities.background import first_of
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.demo.api import Api, api
from purser.compose.demo.asking import Desk
from purser.compose.demo.content import PACE, conversation, recording, task_file
from purser.compose.demo.figures import Figures, collect, compressions
from purser.compose.demo.house import house, house_settings, temporary_directory
from purser.compose.demo.progress import Teller, news, told
from purser.compose.demo.provider import Provider, charged_tokens, serve_provider
from purser.compose.demo.tools import tool_worker
from purser.compose.prices import price_book
from purser.compose.processes.gateway import DEFAULT_TENANT
from purser.compose.processes.up_file import Running
from purser.compose.settings import Settings
from purser.compose.telemetry.logging import configure_logging
from purser.compose.temporal import connect
from purser.context.postgres.conversation.conversations import Conversations
from purser.gateway.access.roles import Role

POLL_S = 0.2
LIVE = ("running", "paused", "waiting_approval")
APPROVER = "on-call"
"""Name of the key that decides."""


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    model: str | None
    """A real model, instead of the provider that comes with Purser."""
    keep: bool
    """Leave everything running after the report."""
    someone: bool
    """Whether a person sees the progress and can press keys."""


Report = Callable[[Figures, Path], None]


async def play(options: Options, console: Console, report: Report, stop: asyncio.Event) -> None:
    """Plays the demo and reports; `stop` ends it early. Whatever happens, nothing of it is left afterwards.

    Args:
        options: what the user asked for.
        console: for progress.
        report: called with the figures at the end, while everything still runs.
        stop: set to end it.
    """
    playing = asyncio.create_task(_play(options, Teller(console), report))
    await first_of(asyncio.wait([playing]), stop.wait())
    if not playing.done():
        console.print("Stopping …")
        playing.cancel()
        await asyncio.wait((playing,))
    if not playing.cancelled():
        playing.result()


async def _play(options: Options, teller: Teller, report: Report) -> None:
    with temporary_directory() as data:
        async with _provider(options) as provider:
            settings = house_settings(data, provider=provider.address if provider else None)
            configure_logging(settings)
            teller.say(f"Starting Postgres, Temporal, worker and gateway in {data}")
            async with (
                house(settings) as running,
                await create_pool(running.postgres, size=2) as pool,
                httpx.AsyncClient() as client,
                tool_worker(await _temporal(settings, running), pool, client),
            ):
                teller.say(f"Purser is at {running.gateway}")
                figures = await _Stage(options, teller, settings, running, pool, provider).perform()
                report(figures, data)
                if options.keep:
                    await asyncio.Event().wait()


@dataclass(frozen=True)
class _Stage:
    """Where the task runs."""

    options: Options
    teller: Teller
    settings: Settings
    running: Running
    pool: Pool
    provider: Provider | None

    async def perform(self) -> Figures:
        """Fills the session, runs the task, and collects what it did."""
        base = self.provider.api_base_of(recording().name, "{agent}") if self.provider else None
        submitted = task_file(api_base=base, model=self.options.model)
        await self._fill(submitted["session_id"])
        async with api(self.running.gateway, self.running.admin_key) as admin:
            person = await admin.post("/v1/keys", {"name": APPROVER, "role": Role.APPROVER})
            async with api(self.running.gateway, person["key"]) as deciding:
                desk = Desk(deciding, self.teller.console, self.settings.data_dir, self.options.someone)
                began = time.monotonic()
                task = await self._follow(admin, desk, submitted)
                seconds = time.monotonic() - began
            approvals = (await admin.get("/v1/approvals"))["items"]
        return await collect(
            self.pool,
            price_book(self.settings),
            submitted,
            task,
            approvals,
            seconds=seconds,
            provider_tokens=charged_tokens(self.provider.served()) if self.provider else None,
        )

    async def _fill(self, session_id: str) -> None:
        messages = conversation()
        await Conversations(self.pool).append(DEFAULT_TENANT, session_id, messages, origin="demo")
        self.teller.say(f"Session {session_id} has {len(messages)} messages: the notes of an incident")

    async def _follow(self, admin: Api, desk: Desk, submitted: Mapping[str, Any]) -> Mapping[str, Any]:
        """Submits the task and tells of it until it ends."""
        task_id = (await admin.post("/v1/tasks", submitted))["task_id"]
        self.teller.say(f"Task {task_id} is submitted: {len(submitted['agents'])} agents")
        before: Mapping[str, Any] | None = None
        compressed = 0
        while True:
            task = await admin.get(f"/v1/tasks/{task_id}")
            summaries = await compressions(self.pool)
            for line in (*map(told, summaries[compressed:]), *news(before, task)):
                self.teller.say(line.text, line.who)
            if task["status"] not in LIVE:
                return dict(task)
            if task["status"] == "waiting_approval":
                await self._ask(admin, desk)
            before, compressed = task, len(summaries)
            await asyncio.sleep(POLL_S)

    async def _ask(self, admin: Api, desk: Desk) -> None:
        for request in (await admin.get("/v1/approvals", state="pending"))["items"]:
            decided = await desk.decided(request)
            by = decided["decisions"][-1]["approver"] if decided["decisions"] else "nobody"
            self.teller.say(f"The request is {decided['state']} by {by}")


async def _temporal(settings: Settings, running: Running) -> Client:
    return await connect(settings.model_copy(update={"temporal_address": running.temporal}))


@asynccontextmanager
async def _provider(options: Options) -> AsyncIterator[Provider | None]:
    """The provider that answers from the recording, unless a real one does."""
    if options.model is not None:
        yield None
        return
    async with serve_provider(recordings=[recording()], script=PACE) as provider:
        yield provider
