"""What the gateway handles outside its endpoints: public paths, streams, headers, cookies."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from purser.compose.settings import Settings
from purser.gateway.access.browsers import cookie_of
from purser.gateway.access.roles import Principal, Role
from purser.gateway.errors import TooManyRequests
from purser.gateway.events import feed as feed_module
from purser.gateway.events.feed import Feed
from purser.gateway.health import health_router
from purser.gateway.http.limits import Limits
from purser.gateway.http.openapi import ID_PATTERN
from tests.gateway.conftest import RunningGateway


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"streams_per_key": 2, "streams_per_tenant": 3, "secure_cookies": True})


def caller(key_id: str, tenant: str = "ta") -> Principal:
    return Principal(key_id, tenant, key_id, Role.VIEWER)


async def opened(client: httpx.AsyncClient) -> httpx.Response:
    """The answer to a client that wants one more stream, whole if it is refused."""
    async with client.stream("GET", "/v1/events") as answer:
        assert answer.status_code == 429
        await answer.aread()
    return answer


async def test_the_streams_of_a_key_and_of_a_tenant_are_limited(gateway: RunningGateway) -> None:
    one, other = await gateway.client(name="one"), await gateway.client(name="other")
    elsewhere = await gateway.client(tenant="tb")
    streams = [one.stream("GET", "/v1/events") for _ in range(2)]
    for stream in streams:
        assert (await stream.__aenter__()).status_code == 200
    refused = await opened(one)
    assert refused.json()["detail"].startswith("this key has 2 streams open: close one")
    assert refused.json()["remedy"]
    assert refused.headers["retry-after"] == "5"
    async with other.stream("GET", "/v1/events") as third:
        assert third.status_code == 200
        assert (await opened(other)).json()["detail"].startswith("this tenant has 3 streams open")
        async with elsewhere.stream("GET", "/v1/events") as unharmed:
            assert unharmed.status_code == 200
    for stream in streams:
        await stream.__aexit__(None, None, None)
    async with asyncio.timeout(60):
        status = 429
        while status == 429:
            async with one.stream("GET", "/v1/events") as again:
                status = again.status_code
    assert status == 200


def test_a_place_is_free_again_whatever_ended_the_stream() -> None:
    limits = Limits(0, 0, streams_per_key=1)
    for _ in range(3):
        with pytest.raises(KeyError), limits.stream(caller("a")):
            raise KeyError
    with limits.stream(caller("a")), pytest.raises(TooManyRequests), limits.stream(caller("a")):
        pass
    assert not limits._open, "nothing remains of clients that left"


def test_an_event_is_encoded_once_for_all_subscribers_and_not_cached_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def encode(event: Any) -> bytes:
        made.append(event)
        return b"x"

    class Event:
        position, at = 7, datetime.now(UTC)

    feed = Feed(None)  # type: ignore[arg-type] # nothing is read
    assert [feed.encoded(Event, encode) for _ in range(100)] == [b"x"] * 100  # type: ignore[arg-type]
    assert len(made) == 1
    monkeypatch.setattr(feed_module, "BUFFER", 3)
    for position in range(8, 20):
        Event.position = position
        feed.encoded(Event, encode)  # type: ignore[arg-type]
    assert [position for position, _ in feed._encoded] == [17, 18, 19]


async def test_readiness_is_looked_at_once_a_second_however_many_ask() -> None:
    looked = 0

    async def check() -> None:
        nonlocal looked
        looked += 1
        await asyncio.sleep(0)

    *_, readyz = [route.endpoint for route in health_router({"part": check}).routes]  # type: ignore[attr-defined]
    answers = await asyncio.gather(*(readyz(exclude=[]) for _ in range(100)))
    assert {answer.status_code for answer in answers} == {200}
    assert looked == 1


async def test_a_stranger_has_so_many_requests_a_second() -> None:
    limits = Limits(0, 0, open_per_s=3)
    for _ in range(3):
        await limits.anonymous("10.0.0.1")
    with pytest.raises(TooManyRequests, match="more than 3 requests in a second without a key"):
        await limits.anonymous("10.0.0.1")
    await limits.anonymous("10.0.0.2")


@pytest.mark.parametrize("path", ["/readyz", "/openapi.json", "/sign-in", "/v1/tasks", "/tasks"])
async def test_what_needs_no_key_is_limited_by_address_and_a_key_is_not(
    gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def never(self: Limits, address: str) -> None:
        raise TooManyRequests("enough", 1_000)

    admin, anonymous = await gateway.client(), await gateway.with_secret(None)
    monkeypatch.setattr(Limits, "anonymous", never)
    assert (await anonymous.get(path)).status_code == 429
    assert (await anonymous.get("/healthz")).status_code == 200
    assert (await admin.get("/v1/tasks")).status_code == 200


async def test_the_document_is_not_sent_again_to_a_client_that_has_it(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    first = await anonymous.get("/openapi.json")
    assert first.json()["openapi"].startswith("3.")
    again = await anonymous.get("/openapi.json", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_ids_have_their_pattern_in_the_document(gateway: RunningGateway) -> None:
    document = (await (await gateway.with_secret(None)).get("/openapi.json")).json()
    [found] = document["paths"]["/v1/sessions/{session_id}/settings"]["get"]["parameters"]
    assert found["schema"]["pattern"] == ID_PATTERN
    matches = {
        name: bool(re.search(ID_PATTERN, name)) for name in ("a.b~c-1_D", "...", "..", ".", "a b", "", "a" * 129)
    }
    assert matches == {
        "a.b~c-1_D": True,
        "...": True,
        "..": False,
        ".": False,
        "a b": False,
        "": False,
        "a" * 129: False,
    }


async def test_answers_of_the_api_stay_out_of_caches_and_are_never_taken_for_pages(gateway: RunningGateway) -> None:
    admin, anonymous = await gateway.client(), await gateway.with_secret(None)
    for answer in (await admin.get("/v1/tasks"), await admin.get("/v1/tasks/none"), await anonymous.get("/v1/tasks")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_error_for_a_wrong_method_lists_the_allowed_ones(gateway: RunningGateway) -> None:
    admin = await gateway.client()
    answer = await admin.delete("/v1/tasks")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    answer = await admin.post("/v1/sessions/s1/settings", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, PUT")
    answer = await admin.post("/healthz")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_what_is_open_to_everyone_answers_head_as_get_without_a_body(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    pages = ("/openapi.json", "/sign-in", "/docs", "/docs/", "/docs/quickstart", "/docs/nothing", "/favicon.ico")
    for path in ("/healthz", "/readyz", *pages, gateway.metrics_url):
        shown, head = await anonymous.get(path), await anonymous.head(path)
        assert (head.status_code, head.content) == (shown.status_code, b""), path
        assert head.headers["content-type"] == shown.headers["content-type"] if shown.content else True, path


async def test_over_https_the_cookie_is_bound_to_its_host(gateway: RunningGateway) -> None:
    admin, anonymous = await gateway.client(), await gateway.with_secret(None)
    token = (await admin.post("/v1/sign-in-links")).json()["token"]
    cookie = (await anonymous.post("/sign-in", json={"token": token})).headers["set-cookie"]
    assert cookie.startswith("__Host-purser_session=")
    assert "Secure" in cookie
    assert "Path=/;" in cookie
    assert "Domain" not in cookie
    sent = cookie.partition(";")[0]
    assert (await anonymous.get("/v1/tasks", headers={"cookie": sent})).status_code == 200


def test_a_cookie_bound_to_its_host_goes_before_one_that_any_host_could_set() -> None:
    both = Headers({"cookie": "purser_session=planted; __Host-purser_session=own"})
    assert cookie_of(both) == "own"
    assert cookie_of(Headers({"cookie": "purser_session=plain"})) == "plain"
