"""A page answers only the browser session that opened it, not others that know its id."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from purser.compose.settings import Settings
from purser.gateway.access.browsers import CSRF_HEADER
from purser.gateway.access.roles import Role
from purser.gateway.dashboard.serving import open_pages
from tests.gateway.access.test_sign_in import anonymous, secret_of, token_for
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.world import eventually


@dataclass(frozen=True)
class Opened:
    """A page as received by a browser that runs no scripts."""

    key: str
    browser: httpx.AsyncClient
    html: str

    @property
    def path(self) -> str:
        """Path of its endpoints."""
        return f"/_purser/pages/{self._of('page')}"

    @property
    def number(self) -> int:
        """Number of the newest update that the page includes."""
        return int(self._of("number"))

    async def updates(self, after: int, browser: httpx.AsyncClient | None = None) -> AsyncGenerator[tuple[str, Any]]:
        """The updates of the page's stream, each with its kind, until it ends."""
        address, kind = f"{self.path}/events?after={after}", ""
        async with (browser or self.browser).stream("GET", address, timeout=60) as answer:
            assert answer.status_code == httpx.codes.OK, await answer.aread()
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)

    async def act(
        self, name: str, browser: httpx.AsyncClient | None = None, headers: dict[str, str] | None = None, **data: str
    ) -> httpx.Response:
        """Sends an act of a person in the list of requests."""
        region = re.search(r'<section data-part="(\w+)" data-keys', self.html)
        assert region is not None
        sender = browser or self.browser
        body = {"region": region[1], "name": name, "data": data, "fields": {}}
        proof = token_for(sender) if headers is None else headers
        return await sender.post(f"{self.path}/acts", json=body, headers=proof)

    def _of(self, name: str) -> str:
        found = re.search(rf' data-{name}="([^"]*)"', self.html)
        assert found is not None
        return found[1]


async def signed_in(gateway: RunningGateway, key: str) -> httpx.AsyncClient:
    """A browser that is signed in with a key."""
    browser = await anonymous(gateway)
    assert (await browser.post("/sign-in", json={"key": key})).is_success
    return browser


async def opened(gateway: RunningGateway, name: str = "ada") -> Opened:
    """The page of approvals, in a browser session of a new key."""
    key = secret_of(await gateway.client(Role.ADMIN, name=name))
    browser = await signed_in(gateway, key)
    answer = await browser.get("/approvals", headers={"accept": "text/html"})
    assert answer.status_code == httpx.codes.OK
    return Opened(key, browser, answer.text)


async def next_update(page: Opened, kind: str, after: int = 0) -> Any:
    """The next update of this kind that the page receives."""
    async with aclosing(page.updates(after)) as updates:
        return await anext(data async for found, data in updates if found == kind)


@pytest.fixture
async def page(gateway: RunningGateway) -> Opened:
    return await opened(gateway)


async def test_the_first_answer_holds_the_whole_content(page: Opened) -> None:
    assert "Nothing is waiting for you" in page.html


async def test_an_act_is_handled_and_its_effects_arrive_in_the_stream(page: Opened) -> None:
    assert (await page.act("tab", tab="decided")).status_code == httpx.codes.NO_CONTENT
    assert (await next_update(page, "region", page.number))["markup"].count("Nothing has been decided yet") == 1
    assert await next_update(page, "address", page.number) == {"path": "/approvals?state=decided"}


@pytest.mark.parametrize("same_key", [True, False])
async def test_another_session_learns_nothing_of_a_page_and_does_nothing_there(
    gateway: RunningGateway, page: Opened, same_key: bool
) -> None:
    key = page.key if same_key else secret_of(await gateway.client(Role.ADMIN, name="eve"))
    other = await signed_in(gateway, key)
    unknown = Opened(key, other, page.html.replace(page.path.rpartition("/")[2], "unknown"))
    for path in (page.path, unknown.path):
        answer = await other.get(f"{path}/events?after=0")
        assert (answer.status_code, answer.json()["detail"]) == (404, "this page is not open any more: load it again")
    answers = [await page.act("tab", other, tab="decided"), await unknown.act("tab", tab="decided")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()
    assert "Nothing has been decided yet" not in (await next_update(page, "region"))["markup"]
    assert (await page.act("tab", tab="decided")).is_success


async def test_requests_without_a_session_get_nothing(gateway: RunningGateway, page: Opened) -> None:
    stranger = await gateway.with_secret(None)
    assert (await stranger.get(f"{page.path}/events")).status_code == 401
    assert (await stranger.post(f"{page.path}/acts", json={})).status_code == 401


@pytest.mark.parametrize("proof", [{}, {CSRF_HEADER: "0" * 64}])
async def test_an_act_without_the_token_of_the_page_does_nothing(page: Opened, proof: dict[str, str]) -> None:
    answer = await page.act("tab", headers=proof, tab="decided")
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:purser:forged-request")
    assert "Nothing has been decided yet" not in (await next_update(page, "region"))["markup"]


async def test_an_act_from_another_site_does_nothing(page: Opened) -> None:
    proof = token_for(page.browser) | {"origin": "https://evil.example"}
    assert (await page.act("tab", headers=proof, tab="decided")).status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"region": "r1", "name": "x", "data": {}, "fields": {"note": "x" * 70_000}}, 413),
        ({"region": "r1", "name": "x", "data": {"depth": {}}, "fields": {}}, 422),
        ({"region": "r1", "name": "x", "data": {}, "fields": {}, "more": 1}, 422),
        ([], 422),
        ({"region": "unknown", "name": "x", "data": {}, "fields": {}}, 204),
    ],
)
async def test_forged_acts_are_refused(page: Opened, body: Any, status: int) -> None:
    answer = await page.browser.post(f"{page.path}/acts", json=body, headers=token_for(page.browser))
    assert answer.status_code == status, answer.text


async def test_a_page_that_reconnects_receives_what_it_missed(page: Opened) -> None:
    await page.act("tab", tab="decided")
    first = await next_update(page, "region", page.number)
    assert await next_update(page, "region", page.number) == first  # the connection broke before the browser read it


async def test_a_page_stays_open_while_it_is_followed_and_is_closed_soon_after(
    page: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_closed() -> bool:
        return (await page.act("tab", tab="decided")).status_code == httpx.codes.NOT_FOUND

    async with aclosing(page.updates(0)) as first, aclosing(page.updates(0)) as second:
        await anext(first)
        monkeypatch.setattr(open_pages, "RECONNECT_WITHIN_S", 0)
        await anext(second)  # the browser is back before its first stream is known to be gone
        await _all(first)
        assert not await is_closed()
    assert await eventually(is_closed)


class TestFewStreams:
    """Streams of pages count like those of events."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"streams_per_key": 1})

    async def test_pages_of_one_key_are_limited(self, gateway: RunningGateway) -> None:
        page = await opened(gateway)
        second = Opened(page.key, page.browser, (await page.browser.get("/budgets")).text)
        async with aclosing(page.updates(0)) as updates:
            await anext(updates)
            async with page.browser.stream("GET", f"{second.path}/events?after=0") as answer:
                assert answer.status_code == httpx.codes.TOO_MANY_REQUESTS
                assert json.loads(await answer.aread())["type"] == "urn:purser:too-many-requests"


async def test_gateways_of_one_process_have_separate_pages_whose_streams_end_when_they_stop(
    settings: Settings, other_settings: Settings
) -> None:
    async with running_gateway(settings) as gateway:
        page = await opened(gateway)
        async with running_gateway(other_settings) as second:
            elsewhere = await opened(replace(second, clients=gateway.clients), "eve")  # which outlive it
            updates = elsewhere.updates(0)
            await anext(updates)
            assert (await elsewhere.browser.get(f"{page.path}/events")).status_code == httpx.codes.NOT_FOUND
            ending = asyncio.create_task(_all(updates))
        await ending  # raises where the stream was cut off
        assert (await page.act("tab", tab="decided")).is_success


async def _all(updates: AsyncGenerator[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [one async for one in updates]


async def test_scripts_come_from_own_files_only(page: Opened) -> None:
    answer = await page.browser.get("/budgets")
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert "script-src" not in policy
    assert "unsafe-eval" not in str(policy)
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|javascript:", answer.text)
