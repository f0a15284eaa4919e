"""Faults of tasks, each caused once: their real metrics set off the alert of their runbook, while they last."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from purser.compose.demo.provider import Rule
from purser.compose.demo.provider.wire import Usage
from purser.context.redaction import custom_detectors, patterns
from tests.gateway.metrics.test_ledger import metrics
from tests.support.ledger import Books
from tests.support.servers.alerts import Scrapes
from tests.support.world import World
from tests.workflows.test_context import SHORT, append_messages

CROWDED = {"strategy": "three_part", "trigger_ratio": 1.0, "max_tokens": 300, "primers_count": 2, "recents_count": 4}
"""A window that is too small for a long session, and is not compressed."""


async def check(
    system: World, cause: Callable[[], Awaitable[object]], folder: Path, alert: str, *, minutes: int
) -> None:
    """Causes a fault twice, lets it happen on for some minutes and then no more; requires that the alert follows it."""
    scrapes = Scrapes()
    for times in range(3):
        if times:
            await cause()
        scrapes.take(generate_latest(system.dependencies.metrics.registry))
    begun = scrapes.minute
    scrapes.again(minutes)
    last = scrapes.minute
    scrapes.rest(minutes)
    scrapes.check(folder, alert, firing=[last], silent=[0, begun, scrapes.minute])


async def test_a_provider_that_reports_other_tokens_than_are_counted(system: World, tmp_path: Path) -> None:
    system.provider.control.add_rule(Rule(usage=Usage(prompt_tokens=100, completion_tokens=10)))
    await check(system, lambda: system.run(system.agent()), tmp_path, "PurserTokenDrift", minutes=90)


async def test_windows_that_drop_messages_although_they_summarize(system: World, tmp_path: Path) -> None:
    session = uuid.uuid4().hex
    await append_messages(system, session, 30)
    await check(
        system,
        lambda: system.run(system.agent(), session_id=session, context=CROWDED),
        tmp_path, "PurserContextDropped", minutes=40,
    )  # fmt: skip


async def test_compressions_of_which_none_can_be_redacted(
    idle: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = uuid.uuid4().hex
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.1)
    stores = replace(idle.dependencies.stores, redaction=custom_detectors({"SLOW": r"(x+x+)+y"}))
    idle.dependencies = replace(idle.dependencies, stores=stores)
    await append_messages(idle, session, 60, first="x" * 5_000)
    agent = idle.agent("a", budget={"limit_tokens": 3_000, "mode": "hard"})
    async with idle.worker():
        await check(
            idle,
            lambda: idle.run(agent, session_id=session, context=SHORT),
            tmp_path, "PurserCompressionFailing", minutes=20,
        )  # fmt: skip


async def test_an_outbox_that_nobody_can_send(still: World, tmp_path: Path) -> None:
    ledger, scrapes = metrics(Books.on(still.pool)), Scrapes()
    await still.submit(still.agent())
    scrapes.take(await ledger.text(), minutes=2)
    await still.pool.execute("update outbox set created_at = created_at - interval '2 minutes'")
    scrapes.take(await ledger.text(), minutes=3)
    await still.dispatcher.dispatch()
    scrapes.take(await ledger.text())
    scrapes.check(tmp_path, "PurserOutboxStuck", firing=[4], silent=[1, 2, 5])
