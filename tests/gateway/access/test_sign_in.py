"""`/sign-in` and browser sessions: a key or a link opens a session, which acts as its key and ends with it."""

import asyncio
import hashlib
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest

from purser.gateway.access.browsers import COOKIE, CSRF_HEADER, csrf_token, local_path
from purser.gateway.access.roles import Role
from purser.gateway.access.sign_in import reached_at
from purser.gateway.dashboard.serving.asset_files import ASSETS_AT
from tests.gateway.conftest import RunningGateway


def secret_of(client: httpx.AsyncClient) -> str:
    return str(client.headers["authorization"]).removeprefix("Bearer ")


async def anonymous(gateway: RunningGateway) -> httpx.AsyncClient:
    """A browser that is not signed in."""
    return await gateway.with_secret(None)


async def signed_in(gateway: RunningGateway, role: Role = Role.ADMIN, name: str = "") -> httpx.AsyncClient:
    """A browser with a session of a new key."""
    key = secret_of(await gateway.client(role, name=name or f"person-{role}"))
    browser = await anonymous(gateway)
    answer = await browser.post("/sign-in", json={"key": key})
    assert answer.status_code == 200, answer.text
    return browser


def token_for(browser: httpx.AsyncClient) -> dict[str, str]:
    """What a page of this browser sends with requests that change something."""
    return {CSRF_HEADER: csrf_token(browser.cookies[COOKIE])}


async def link_of(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/sign-in-links")
    assert answer.status_code == 201
    return str(answer.json()["token"])


# --- signing in ------------------------------------------------------------------------------------------------------


async def test_a_key_opens_a_session_with_a_cookie_that_no_script_and_no_other_site_gets(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    browser = await anonymous(gateway)
    answer = await browser.post("/sign-in", json={"key": secret_of(admin), "next": "/budgets"})
    assert (answer.status_code, answer.json()) == (200, {"next": "/budgets"})
    (cookie,) = answer.headers.get_list("set-cookie")
    value, _, attributes = cookie.partition("; ")
    assert value.startswith(f"{COOKIE}=")
    assert {part.lower() for part in attributes.split("; ")} == {
        "httponly", "max-age=43200", "path=/", "samesite=lax",
    }  # fmt: skip
    assert (await browser.get("/v1/budgets")).status_code == 200


async def test_over_https_the_cookie_is_secure(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    browser = await anonymous(gateway)
    # The server believes a proxy on this machine.
    answer = await browser.post("/sign-in", json={"key": secret_of(admin)}, headers={"x-forwarded-proto": "https"})
    assert "; secure" in answer.headers["set-cookie"].lower()


async def test_a_form_leads_to_the_page_that_was_asked_for(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    browser = await anonymous(gateway)
    answer = await browser.post("/sign-in", data={"key": secret_of(admin), "next": "/budgets?over=0.95"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/budgets?over=0.95")
    wrong = await browser.post("/sign-in", data={"key": "purser_wrong<b>", "next": "/budgets"})
    assert (wrong.status_code, wrong.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "this is no live key" in wrong.text
    assert "purser_wrong" not in wrong.text
    assert 'value="/budgets"' in wrong.text


async def test_only_the_digest_of_a_session_and_of_a_link_is_stored(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    token = await link_of(admin)
    assert await gateway.pool.fetchval("select digest from sign_in_links") == hashlib.sha256(token.encode()).digest()
    browser = await signed_in(gateway)
    secret = browser.cookies[COOKIE]
    stored = await gateway.pool.fetchval("select digest from browser_sessions")
    assert stored == hashlib.sha256(secret.encode()).digest()
    rows = await gateway.pool.fetch("select to_jsonb(c)::text from changes c")
    assert token not in str(rows)
    assert secret not in str(rows)


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/", "javascript:alert(1)",
        "evil", "", "/a\nb", "/\t/evil.example", "http:evil", "/a\\..\\b", "//", "///evil.example",
    ],
)  # fmt: skip
def test_a_sign_in_leads_to_no_other_site(wanted: str) -> None:
    assert local_path(wanted) == "/"


@pytest.mark.parametrize("wanted", ["/", "/budgets", "/budgets?over=0.95&kind=session", "/tasks/t1#turn-3"])
def test_a_sign_in_leads_to_pages_of_ours(wanted: str) -> None:
    assert local_path(wanted) == wanted


async def test_a_role_without_access_to_pages_gets_the_reason(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    browser = await anonymous(gateway)
    for form in (True, False):
        body: dict[str, Any] = {"data" if form else "json": {"key": secret_of(agent)}}
        answer = await browser.post("/sign-in", **body)
        assert answer.status_code == 403
        text = answer.text.replace("&#x27;", "'")
        assert "opens no pages: sign in with a key of viewer, approver, deputy, admin" in text
    assert (await agent.post("/v1/sign-in-links")).status_code == 403
    assert await gateway.pool.fetchval("select count(*) from browser_sessions") == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"key": 5}', b'{"key": null}', b'{"token": ""}', b"\xff"])
async def test_a_sign_in_that_cannot_be_read_is_refused(gateway: RunningGateway, body: bytes) -> None:
    browser = await anonymous(gateway)
    answer = await browser.post("/sign-in", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 401
    assert COOKIE not in browser.cookies


async def test_a_sign_in_is_small(gateway: RunningGateway) -> None:
    browser = await anonymous(gateway)
    assert (await browser.post("/sign-in", json={"key": "x" * 10_000})).status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_no_other_site_signs_a_browser_in(
    gateway: RunningGateway, admin: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    browser = await anonymous(gateway)
    answer = await browser.post("/sign-in", json={"key": secret_of(admin)}, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:purser:forged-request")
    own = {"origin": gateway.url, "sec-fetch-site": "same-origin"}
    assert (await browser.post("/sign-in", json={"key": secret_of(admin)}, headers=own)).status_code == 200


# --- links -----------------------------------------------------------------------------------------------------------


async def test_a_link_carries_its_token_where_no_server_sees_it_and_works_once(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    made = (await admin.post("/v1/sign-in-links")).json()
    assert made["url"] == f"https://purser.example.com/sign-in#{made['token']}", "at the public address"
    browser, second = await anonymous(gateway), await anonymous(gateway)
    assert (await browser.post("/sign-in", json={"token": made["token"]})).status_code == 200
    assert (await browser.get("/v1/keys")).status_code == 200, "as the admin whose key made it"
    again = await second.post("/sign-in", json={"token": made["token"]})
    assert again.status_code == 401
    assert "links work once" in again.json()["detail"]
    assert COOKIE not in second.cookies


@pytest.mark.parametrize(
    ("public_url", "reached"),
    [
        ("https://purser.example.com/", "https://purser.example.com/"),
        ("http://10.0.0.5:8000", "http://10.0.0.5:8000"),
        ("http://127.0.0.1:8000", "http://server:8000/"),
        ("http://[::1]:8000", "http://server:8000/"),
        ("http://localhost:8000", "http://server:8000/"),
    ],
)
def test_a_link_leads_to_where_it_was_asked_for_if_the_public_address_is_of_one_machine(
    public_url: str, reached: str
) -> None:
    assert reached_at(public_url, "http://server:8000/") == reached


async def test_of_many_concurrent_uses_of_a_link_one_succeeds(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    token = await link_of(admin)
    browsers = [await anonymous(gateway) for _ in range(6)]
    answers = await asyncio.gather(*(browser.post("/sign-in", json={"token": token}) for browser in browsers))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401, 401, 401]
    assert await gateway.pool.fetchval("select count(*) from browser_sessions") == 1


@pytest.mark.parametrize(
    "end",
    [
        "update sign_in_links set expires_at = now()",
        "update keys set revoked_at = now(), revoked_by = 'test' where name = 'ada'",
        "update keys set expires_at = now() where name = 'ada'",
    ],
)
async def test_a_link_ends_by_time_and_with_its_key(
    gateway: RunningGateway, admin: httpx.AsyncClient, end: str
) -> None:
    token = await link_of(admin)
    life = await gateway.pool.fetchval("select expires_at - created_at from sign_in_links")
    assert life == timedelta(minutes=10)
    await gateway.pool.execute(end)
    assert (await (await anonymous(gateway)).post("/sign-in", json={"token": token})).status_code == 401


async def test_a_browser_session_makes_no_links(gateway: RunningGateway) -> None:
    browser = await signed_in(gateway)
    answer = await browser.post("/v1/sign-in-links", headers=token_for(browser))
    assert answer.status_code == 403
    assert "send the key" in answer.json()["detail"]


# --- sessions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        "update browser_sessions set expires_at = now()",
        "update browser_sessions set ended_at = now()",
        "update keys set revoked_at = now(), revoked_by = 'test' where name = 'person-admin'",
        "update keys set expires_at = now() where name = 'person-admin'",
    ],
)
async def test_a_session_ends_by_time_and_with_its_key(gateway: RunningGateway, end: str) -> None:
    browser = await signed_in(gateway)
    assert (await browser.get("/v1/budgets")).status_code == 200
    await gateway.pool.execute(end)
    assert (await browser.get("/v1/budgets")).status_code == 401
    assert (await browser.get("/")).headers["location"] == "/sign-in?next=/"


async def test_a_session_lasts_no_longer_than_its_key(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    made = (await admin.post("/v1/keys", json={"name": "short", "role": "viewer", "expires_in_s": 60})).json()
    answer = await (await anonymous(gateway)).post("/sign-in", json={"key": made["key"]})
    (age,) = re.findall(r"Max-Age=(\d+)", answer.headers["set-cookie"])
    assert 30 < int(age) <= 60


async def test_signing_out_ends_the_session_and_takes_a_token_of_the_page(gateway: RunningGateway) -> None:
    browser = await signed_in(gateway)
    cookie = browser.cookies[COOKIE]
    assert (await browser.post("/sign-out")).status_code == 403
    assert (await browser.post("/sign-out", data={"csrf": "0" * 64})).status_code == 403
    assert (await browser.get("/v1/budgets")).status_code == 200
    answer = await browser.post("/sign-out", data={"csrf": csrf_token(cookie)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert COOKIE not in browser.cookies
    browser.cookies.set(COOKIE, cookie)
    assert (await browser.get("/v1/budgets")).status_code == 401, "the old cookie is worth nothing"


async def test_with_a_session_nothing_changes_without_a_token_of_the_page(gateway: RunningGateway) -> None:
    browser, other = await signed_in(gateway), await signed_in(gateway, name="other")
    before = await gateway.rows()
    for headers in ({}, {CSRF_HEADER: ""}, {CSRF_HEADER: browser.cookies[COOKIE]}, token_for(other)):
        for method, path in (("PUT", "/v1/budgets/session:s1"), ("POST", "/v1/holds"), ("DELETE", "/v1/keys/x")):
            answer = await browser.request(method, path, json={"limit_tokens": 5}, headers=headers)
            assert (answer.status_code, answer.json()["type"]) == (403, "urn:purser:forged-request"), (method, headers)
    assert await gateway.rows() == before
    changed = await browser.put("/v1/budgets/session:s1", json={"limit_tokens": 5}, headers=token_for(browser))
    assert changed.status_code == 200


async def test_a_bearer_key_goes_before_a_cookie(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    browser = await signed_in(gateway)
    bearer = {"authorization": agent.headers["authorization"]}
    assert (await browser.get("/v1/keys", headers=bearer)).status_code == 403, "the agent's key decides"
    assert (await browser.get("/v1/keys", headers={"authorization": "Bearer purser_wrong"})).status_code == 401
    hold = {"key": "k", "path": ["session:s1"], "tokens": 1}
    assert (await browser.post("/v1/holds", json=hold, headers=bearer)).status_code == 200, "a key needs no token"


# --- pages and sockets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/", "/sign-in?next=/"),
        ("/budgets?over=0.95&kind=session", "/sign-in?next=/budgets%3Fover%3D0.95%26kind%3Dsession"),
        ("/no/such/page", "/sign-in?next=/no/such/page"),
        ("//v1/keys", "/sign-in?next=/"),
        ("/sign-in/", "/sign-in?next=/sign-in/"),
        ("/healthz/", "/sign-in?next=/healthz/"),
    ],
)
async def test_an_anonymous_caller_is_redirected_to_the_sign_in_page(
    gateway: RunningGateway, path: str, location: str
) -> None:
    browser = await anonymous(gateway)
    answer = await browser.get(httpx.URL(gateway.url).copy_with(raw_path=path.encode()))
    assert (answer.status_code, answer.headers["location"]) == (303, location)


async def test_a_key_opens_no_pages_by_itself(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    assert (await admin.get("/")).status_code == 303


@pytest.mark.parametrize(
    "path",
    ["/_purser/pages/x/events", "/_purser/pages/x/acts", "/_purser/x"],
)
async def test_what_pages_ask_for_is_refused_without_a_session(gateway: RunningGateway, path: str) -> None:
    assert (await (await anonymous(gateway)).get(path)).status_code == 401


async def test_files_of_pages_are_public_and_read_only(gateway: RunningGateway) -> None:
    browser = await anonymous(gateway)
    assert (await browser.get(f"{ASSETS_AT}/purser.js")).status_code == 200
    assert (await browser.get(f"{ASSETS_AT}/../routes.py")).status_code in (303, 404)
    assert (await browser.post(f"{ASSETS_AT}/purser.js")).status_code == 401


async def test_no_page_of_another_site_posts_to_ours(gateway: RunningGateway) -> None:
    browser = await signed_in(gateway)
    answer = await browser.post("/budgets", headers={"origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:purser:forged-request")


async def test_the_sign_in_page_loads_nothing_from_elsewhere_and_runs_only_its_own_script(
    gateway: RunningGateway,
) -> None:
    browser = await anonymous(gateway)
    page = await browser.get("/sign-in", params={"next": '/"><script>alert(1)</script>'})
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.text.count("<script>") == 1
    assert not re.findall(r"(?:src|href)=", page.text)
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"


async def test_sign_ins_and_sign_outs_are_recorded(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    browser = await anonymous(gateway)
    await browser.post("/sign-in", json={"token": await link_of(admin)})
    await browser.post("/sign-out", headers=token_for(browser))
    items = (await admin.get("/v1/changes", params={"by": "ada"})).json()["items"]
    assert [item["action"] for item in items] == [
        "browser_session.end", "browser_session.open", "sign_in_link.create",
    ]  # fmt: skip
    key_id = (await admin.get("/v1/keys")).json()["items"][0]["key_id"]
    assert {item["key_id"] for item in items} == {key_id}
    assert items[1]["after"]["way"] == "link"
