"""Updates of an open page, and its handling of acts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from markupsafe import Markup

from purser.budget.errors import NotFound
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.serving.open_pages import MAX_UNFOLLOWED, OpenPage, OpenPages
from purser.gateway.dashboard.serving.screen import MAX_EVENTS, Screen
from purser.gateway.errors import GatewayStopping


@pytest.fixture
async def page() -> AsyncIterator[OpenPage]:
    page = OpenPages().open("session-1")
    yield page
    page.close()


async def received(screen: Screen, after: int, count: int) -> list[tuple[str, object]]:
    """The next updates that a browser receives, as (kind, last value of the data)."""
    async with aclosing(screen.updates(after)) as updates:
        return [(one.kind, next(reversed(one.data.values()))) for one in [await anext(updates) for _ in range(count)]]


async def test_a_slow_browser_gets_the_newest_markup_of_each_part_in_the_order_of_the_changes() -> None:
    screen = Screen()
    one, other = screen.region(), screen.region()
    for text in ("a", "b", "c"):
        one.show(Markup(text))
        other.show(Markup(text))
    one.show(Markup("c"))  # unchanged: no update
    screen.title("d")
    assert await received(screen, 0, 3) == [("region", "c"), ("region", "c"), ("title", "d")]
    assert screen.number == 7


async def test_one_time_updates_are_sent_once_and_the_oldest_are_dropped_without_a_listener() -> None:
    screen = Screen()
    for number in range(MAX_EVENTS + 5):
        screen.address(f"/{number}")
    assert await received(screen, 0, MAX_EVENTS) == [("address", f"/{number}") for number in range(5, MAX_EVENTS + 5)]
    screen.address("/last")
    assert await received(screen, MAX_EVENTS + 5, 1) == [("address", "/last")]


async def test_acts_are_handled_one_after_the_other_while_the_page_receives_updates(page: OpenPage) -> None:
    done: list[str] = []
    go_on = asyncio.Event()

    async def handle(act: Act) -> None:
        page.screen.title(act.name)
        if act.name == "slow":
            await go_on.wait()
        done.append(act.name)

    region = page.screen.region().on_act(handle)
    acts = [asyncio.create_task(page.act(region.part_id, Act(name))) for name in ("slow", "fast")]
    assert await received(page.screen, 0, 1) == [("title", "slow")]
    assert done == []
    go_on.set()
    await asyncio.gather(*acts)
    assert done == ["slow", "fast"]


async def test_a_failed_act_is_reported_and_the_next_one_is_handled(page: OpenPage) -> None:
    async def handle(act: Act) -> None:
        if act.name == "bad":
            raise KeyError(act.name)
        page.screen.title(act.name)

    region = page.screen.region().on_act(handle)
    for name in ("bad", "good"):
        await page.act(region.part_id, Act(name))
    assert [kind for kind, _ in await received(page.screen, 0, 2)] == ["toast", "title"]


async def test_everything_that_runs_for_a_page_ends_with_it(page: OpenPage) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    page.spawn(work())
    await began.wait()
    page.screen.title("x")
    updates = page.screen.updates(0)
    await anext(updates)
    page.close()
    await ended.wait()
    assert [one async for one in updates] == []


async def test_of_the_pages_that_no_browser_follows_a_session_retains_the_newest() -> None:
    pages = OpenPages()
    other, followed = pages.open("session-2"), pages.open("session-1")
    with followed.streaming():
        opened = [pages.open("session-1") for _ in range(MAX_UNFOLLOWED + 2)]
        for page in opened[:2]:
            with pytest.raises(NotFound):
                pages.find(page.page_id, "session-1")
        for page in (followed, *opened[2:]):
            assert pages.find(page.page_id, "session-1") is page
    assert pages.find(other.page_id, "session-2") is other


async def test_a_stopping_gateway_says_so_instead_of_denying_the_pages_it_closed() -> None:
    pages, stop = OpenPages(), asyncio.Event()
    page = pages.open("session-1")
    stop.set()
    await pages.close_after(stop)
    with pytest.raises(GatewayStopping):
        pages.find(page.page_id, "session-1")
