"""Requests of foreign pages are refused, and open streams end soon after their key or session."""

from datetime import timedelta

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.postgres.connections.pools import Pool
from purser.gateway.access import authentication
from purser.gateway.access.authentication import Authentication
from purser.gateway.access.browsers import COOKIE
from purser.gateway.access.roles import Role
from purser.gateway.errors import ForgedRequest
from purser.gateway.http.limits import Limits
from purser.gateway.postgres.browser_sessions import BrowserSessions
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER


@pytest.fixture(autouse=True)
def _checked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "RECHECK_S", 0)


def guarded(pool: Pool, app: ASGIApp) -> Authentication:
    return Authentication(app, Keys(pool), BrowserSessions(pool, timedelta(hours=1)), Limits(0, 0))


@pytest.mark.parametrize("role", [None, Role.AGENT])
async def test_a_stream_ends_when_its_key_is_revoked_or_has_another_role(pool: Pool, role: Role | None) -> None:
    made = await Keys(pool).create("default", "ada", Role.VIEWER, by=TESTER)
    sent: list[Message] = []

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        if role is None:
            await Keys(pool).revoke("default", made.key.key_id, by=TESTER)
        else:
            await Keys(pool).change("default", made.key.key_id, role=role, by=TESTER)
        await send({"type": "http.response.body", "body": b"two", "more_body": True})
        await send({"type": "http.response.body", "body": b"three", "more_body": True})

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {made.secret}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/v1/events", "headers": headers}
    await guarded(pool, stream)(scope, None, send)  # type: ignore[arg-type]
    assert [(message.get("body"), message.get("more_body")) for message in sent[1:]] == [(b"one", True), (b"", False)]


@pytest.mark.parametrize(
    ("origin", "taken"),
    [
        ("https://purser.example", True),
        ("http://purser.example", True),
        (None, True),  # no browser
        ("https://evil.example", False),
        ("https://purser.example:8443", False),
        ("https://purser.example.evil.example", False),
        ("null", False),
    ],
)
async def test_what_a_page_sends_is_taken_from_pages_of_this_address_alone(
    pool: Pool, origin: str | None, taken: bool
) -> None:
    heard: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        heard.append(scope)

    caller = await Keys(pool).find((await Keys(pool).create("default", "ada", Role.VIEWER, by=TESTER)).secret)
    assert caller is not None
    secret = (await BrowserSessions(pool, timedelta(hours=1)).open(caller)).secret
    headers = [(b"host", b"purser.example"), (b"cookie", f"other=1; {COOKIE}={secret}".encode())]
    headers += [] if origin is None else [(b"origin", origin.encode())]
    scope = {"type": "http", "method": "POST", "path": "/_purser/pages/x/acts", "headers": headers}
    posting = guarded(pool, app)(scope, None, None)  # type: ignore[arg-type]
    if taken:
        await posting
    else:
        with pytest.raises(ForgedRequest):
            await posting
    assert bool(heard) is taken
