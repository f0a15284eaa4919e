"""The run of the demo from start to report."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from temporalio.client import Client

from purser.activities.runtime.background import first_of
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.demo.api import Api, api
from purser.compose.demo.approver import Approver
from purser.compose.demo.content import PACE, conversation, recording, task_file
from purser.compose.demo.figures import Figures, collect, compressions
from purser.compose.demo.progress import Progress, changes, compression_line
from purser.compose.demo.provider import Provider, charged_tokens, serve_provider
from purser.compose.demo.stack import running_stack, stack_settings, temporary_directory
from purser.compose.demo.tools import tool_worker
from purser.compose.prices import price_book
from purser.compose.processes.gateway import DEFAULT_TENANT
from purser.compose.processes.up_file import Running
from purser.compose.settings import Settings
from purser.compose.telemetry.logging import configure_logging
from purser.compose.temporal import connect
from purser.context.postgres.conversation.conversations import Conversations
from purser.gateway.access.roles import Role
from purser.wire.enums import LIVE_TASKS

POLL_S = 0.2
APPROVER = "on-call"
"""Name of the approver's key."""


@dataclass(frozen=True)
class Options:
    """The options of `purser demo`."""

    model: str | None
    """A real model to call, instead of the provider that ships with Purser."""
    keep: bool
    """Whether everything stays running after the report."""
    interactive: bool
    """Whether a person sees the progress and can press keys."""


OnFigures = Callable[[Figures, Path], None]


async def run_demo(options: Options, console: Console, on_figures: OnFigures, stop: asyncio.Event) -> None:
    """Runs the demo and reports its figures; `stop` ends it early. In any case nothing of it remains afterwards.

    Args:
        options: the options of the command.
        console: where progress is written.
        on_figures: called at the end with the figures and the data directory, while everything still runs.
        stop: set to end it.
    """
    running = asyncio.create_task(_run(options, Progress(console), on_figures))
    await first_of(asyncio.wait([running]), stop.wait())
    if not running.done():
        with suppress(OSError):  # the terminal is closed
            console.print("Stopping …")
        running.cancel()
        await asyncio.wait((running,))
    if not running.cancelled():
        running.result()


async def _run(options: Options, progress: Progress, on_figures: OnFigures) -> None:
    with temporary_directory() as data:
        async with _provider(options) as provider:
            settings = stack_settings(data, provider=provider.address if provider else None)
            configure_logging(settings)
            progress.write(f"Starting Postgres, Temporal, worker and gateway in {data}")
            async with (
                running_stack(settings) as running,
                await create_pool(running.postgres, size=2) as pool,
                httpx.AsyncClient() as client,
                tool_worker(await _temporal(settings, running), pool, client),
            ):
                progress.write(f"Purser is at {running.gateway}")
                figures = await _Run(options, progress, settings, running, pool, provider).perform()
                on_figures(figures, data)
                if options.keep:
                    await asyncio.Event().wait()


@dataclass(frozen=True)
class _Run:
    """One run of the demo's task on a running stack."""

    options: Options
    progress: Progress
    settings: Settings
    running: Running
    pool: Pool
    provider: Provider | None

    async def perform(self) -> Figures:
        """Fills the session, runs the task, and collects its figures."""
        base = self.provider.api_base_of(recording().name, "{agent}") if self.provider else None
        submitted = task_file(api_base=base, model=self.options.model)
        await self._fill(submitted["session_id"])
        async with api(self.running.gateway, self.running.admin_key) as admin:
            key = await admin.post("/v1/keys", {"name": APPROVER, "role": Role.APPROVER})
            async with api(self.running.gateway, key["key"]) as approver_api:
                approver = Approver(
                    approver_api, self.progress.console, self.settings.data_dir, self.options.interactive
                )
                began = time.monotonic()
                task = await self._follow(admin, approver, submitted)
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
        self.progress.write(f"Session {session_id} has {len(messages)} messages: the notes of an incident")

    async def _follow(self, admin: Api, approver: Approver, submitted: Mapping[str, Any]) -> Mapping[str, Any]:
        """Submits the task and writes its progress until it ends."""
        task_id = (await admin.post("/v1/tasks", submitted))["task_id"]
        self.progress.write(f"Task {task_id} is submitted: {len(submitted['agents'])} agents")
        before: Mapping[str, Any] | None = None
        compressed = 0
        while True:
            task = await admin.get(f"/v1/tasks/{task_id}")
            summaries = await compressions(self.pool)
            for line in (*map(compression_line, summaries[compressed:]), *changes(before, task)):
                self.progress.write(line.text, line.agent_id)
            if task["status"] not in LIVE_TASKS:
                return dict(task)
            if task["status"] == "waiting_approval":
                await self._decide_requests(admin, approver)
            before, compressed = task, len(summaries)
            await asyncio.sleep(POLL_S)

    async def _decide_requests(self, admin: Api, approver: Approver) -> None:
        for request in (await admin.get("/v1/approvals", state="pending"))["items"]:
            decided = await approver.wait_for_decision(request)
            by = decided["decisions"][-1]["approver"] if decided["decisions"] else "no one"
            self.progress.write(f"The request is {decided['state']} by {by}")


async def _temporal(settings: Settings, running: Running) -> Client:
    return await connect(settings.model_copy(update={"temporal_address": running.temporal}))


@asynccontextmanager
async def _provider(options: Options) -> AsyncIterator[Provider | None]:
    """The provider that answers from the recording; `None` where a real model is named."""
    if options.model is not None:
        yield None
        return
    async with serve_provider(recordings=[recording()], script=PACE) as provider:
        yield provider
