"""Authorization: every route with every role, without a key, with a wrong one, and with an expired one."""

import httpx
import pytest

from purser.gateway.access.browsers import COOKIE, CSRF_HEADER, csrf_token
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal, Role
from tests.gateway.conftest import RunningGateway
from tests.support.access import OPEN, PAGES, PROTOCOLS, ROUTES, all_routes, filled


async def status(client: httpx.AsyncClient, endpoint: str, **more: object) -> tuple[int, httpx.Response]:
    """What a route answers to a body that is none of its own. A stream is left at once."""
    method, path = filled(endpoint)
    async with client.stream(method, path, json={"no": "field"}, **more) as answer:  # type: ignore[arg-type]
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            await answer.aread()
        return answer.status_code, answer


def test_the_tables_name_every_route() -> None:
    assert all_routes() == {*ROUTES, *PROTOCOLS, *OPEN, *PAGES}


@pytest.mark.parametrize("what", ["none", "unknown", "revoked", "expired"])
async def test_no_endpoint_answers_without_a_live_key(gateway: RunningGateway, what: str) -> None:
    client = await gateway.client(Role.ADMIN, name="gone")
    ends = {
        "revoked": "update keys set revoked_at = now(), revoked_by = 'test' where name = 'gone'",
        "expired": "update keys set expires_at = now() where name = 'gone'",
    }
    if what in ends:
        await gateway.pool.execute(ends[what])
    else:
        client = await gateway.with_secret(None if what == "none" else "purser_made-up")
    before = await gateway.rows()
    for endpoint in (*ROUTES, *PROTOCOLS):
        code, answer = await status(client, endpoint)
        assert code == 401, f"{endpoint}: {code}"
        kind = "key-ended" if what == "expired" else "unauthenticated"
        if endpoint in PROTOCOLS:
            assert answer.json()["error"]["code"] == kind.replace("-", "_")
        else:
            assert answer.json()["type"] == f"urn:purser:{kind}"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert await gateway.rows() == before


@pytest.mark.parametrize("what", ["wrong", "ended", "of an ended key"])
async def test_no_endpoint_answers_a_cookie_that_opens_nothing(gateway: RunningGateway, what: str) -> None:
    browser = await _browser(gateway, Role.ADMIN)
    if what == "wrong":
        browser.cookies.set(COOKIE, "x" * 43, domain="127.0.0.1")
    elif what == "ended":
        await gateway.pool.execute("update browser_sessions set ended_at = now()")
    else:
        await gateway.pool.execute("update keys set expires_at = now()")
    before = await gateway.rows()
    for endpoint in (*ROUTES, *PROTOCOLS):
        code, _ = await status(browser, endpoint)
        assert code == 401, f"{endpoint}: {code}"
    assert await gateway.rows() == before


async def test_pages_are_for_signed_in_callers(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    for client in (await gateway.with_secret(None), admin):
        for endpoint in PAGES:
            code, answer = await status(client, endpoint)
            assert (code, answer.headers["location"]) == (303, "/sign-in"), endpoint


async def test_what_is_open_needs_no_key(gateway: RunningGateway) -> None:
    client = await gateway.with_secret(None)
    for endpoint in OPEN - {"POST /sign-in"}:
        code, _ = await status(client, endpoint)
        assert code in (200, 307), endpoint


async def test_another_scheme_than_bearer_is_no_key(gateway: RunningGateway) -> None:
    client = await gateway.client(Role.ADMIN)
    secret = client.headers["authorization"].removeprefix("Bearer ")
    for value in (f"Basic {secret}", secret, f"Token {secret}", "Bearer", "Bearer ~"):
        assert (await client.get("/v1/budgets", headers={"authorization": value})).status_code == 401
    assert (await client.get("/v1/budgets", headers={"authorization": f"bearer {secret}"})).status_code == 200


async def test_a_key_that_is_not_live_is_told_apart_from_none(gateway: RunningGateway) -> None:
    client = await gateway.client(Role.ADMIN)
    wrong = await client.get("/v1/budgets", headers={"authorization": "Bearer purser_mistyped"})
    assert wrong.json()["detail"].startswith("the key that came with the request is not live")
    none = await client.get("/v1/budgets", headers={"authorization": ""})
    assert none.json()["detail"].startswith("no live key came with the request")


@pytest.mark.parametrize("role", Role)
async def test_each_role_reaches_exactly_what_it_carries(gateway: RunningGateway, role: Role) -> None:
    client = await gateway.client(role)
    before = await gateway.rows()
    for endpoint, route in ROUTES.items():
        allowed = route.needs in PERMISSIONS[role]
        if allowed and route.writes_by_itself:
            continue
        code, answer = await status(client, endpoint)
        assert (code == 403) is not allowed, f"{endpoint} as {role}: {code}"
        assert code < 500, f"{endpoint} as {role}: {code}"
        if not allowed:
            assert answer.json()["type"] == "urn:purser:forbidden"
            assert repr(str(role)) in answer.json()["detail"]
    for endpoint, route in PROTOCOLS.items():
        code, _ = await status(client, endpoint)
        assert (code == 403) is (route.needs not in PERMISSIONS[role]), f"{endpoint} as {role}: {code}"
    assert await gateway.rows() == before


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.ADMIN])
async def test_a_browser_session_reaches_what_its_key_does_and_changes_nothing_unasked(
    gateway: RunningGateway, role: Role
) -> None:
    browser = await _browser(gateway, role)
    token = {CSRF_HEADER: csrf_token(browser.cookies[COOKIE])}
    before = await gateway.rows()
    for endpoint, route in ROUTES.items():
        if not endpoint.startswith("GET "):
            code, answer = await status(browser, endpoint)
            assert (code, answer.json()["type"]) == (403, "urn:purser:forged-request"), endpoint
        allowed = route.needs in PERMISSIONS[role]
        if allowed and route.writes_by_itself:
            continue
        code, _ = await status(browser, endpoint, headers=token)
        assert (code == 403) is not allowed, f"{endpoint} as {role}: {code}"
    assert await gateway.rows() == before


async def test_an_unauthenticated_body_is_not_even_read(gateway: RunningGateway) -> None:
    client = await gateway.with_secret(None)
    answer = await client.post("/v1/holds", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.AGENT, {Permission.SPEND, Permission.RUN, Permission.WRITE_SESSIONS, Permission.READ_WORK}),
        (Role.VIEWER, {Permission.READ, Permission.READ_WORK}),
        (Role.APPROVER, {Permission.READ, Permission.READ_WORK, Permission.DECIDE}),
        (Role.DEPUTY, {Permission.READ, Permission.READ_WORK, Permission.DECIDE}),
        (Role.ADMIN, set(Permission)),
    ],
)
def test_roles_carry_what_they_are_for(role: Role, may: set[Permission]) -> None:
    caller = Principal("key-1", "default", "someone", role)
    assert {permission for permission in Permission if caller.may(permission)} == may


async def _browser(gateway: RunningGateway, role: Role) -> httpx.AsyncClient:
    """A browser that is signed in with this role."""
    key = (await gateway.client(role, name=f"person-{role}")).headers["authorization"].removeprefix("Bearer ")
    browser = await gateway.with_secret(None)
    assert (await browser.post("/sign-in", json={"key": key})).status_code == 200
    return browser
