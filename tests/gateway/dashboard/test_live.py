"""Live parts of an open page: they follow events, and none delays its page."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import cast

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import EventKind
from purser.gateway.dashboard import live as module
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.serving.open_pages import OpenPages
from purser.gateway.dashboard.visit import Visit
from tests.gateway.events.test_feed import put_events, running
from tests.support.ledger import TENANT

HOUR_S = 3_600


class SignedIn(SimpleNamespace):
    """The visit of a person who stays signed in."""

    async def caller_now(self) -> str:
        return "ada"


@pytest.fixture
async def live(pool: Pool) -> AsyncIterator[Live]:
    page = OpenPages().open("session-1")
    async with running(pool) as feed:
        services = SimpleNamespace(feed=feed)
        yield Live(cast(Visit, SignedIn(path="/", tenant=TENANT, page=page, screen=page.screen, services=services)))
        page.close()


async def test_an_event_is_shown_without_waiting_for_the_next_interval(live: Live, pool: Pool) -> None:
    refreshed = 0

    async def refresh() -> None:
        nonlocal refreshed
        refreshed += 1

    await live.follow([EventKind.APPROVAL], refresh, every_s=HOUR_S)
    assert refreshed == 1
    async with asyncio.timeout(30):
        while refreshed == 1:  # the part may not listen yet
            await put_events(pool, 1, kind=EventKind.APPROVAL)
            await asyncio.sleep(0.05)


async def test_a_part_that_takes_long_does_not_delay_its_page_and_follows(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_WITHIN_S", 0.05)
    go_on, shown = asyncio.Event(), asyncio.Event()

    async def refresh() -> None:
        await go_on.wait()
        shown.set()

    async with asyncio.timeout(30):
        await live.follow([EventKind.TASK], refresh, every_s=HOUR_S)
        assert not shown.is_set()
        go_on.set()
        await shown.wait()
