"""Sockets open for pages of ours alone, and what stays open ends soon after its key or session does."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.postgres.connections.pools import Pool
from purser.gateway.access import authentication
from purser.gateway.access.authentication import Authentication
from purser.gateway.access.browsers import COOKIE
from purser.gateway.access.roles import Role
from purser.gateway.errors import ForgedRequest, Unauthenticated
from purser.gateway.http.rate_limits import Limits
from purser.gateway.postgres.browser_sessions import BrowserSessions
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER


@pytest.fixture(autouse=True)
def _checked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "RECHECK_S", 0)


def guarded(pool: Pool, app: ASGIApp) -> Authentication:
    return Authentication(app, Keys(pool), BrowserSessions(pool, timedelta(hours=1)), Limits(0, 0))


async def test_a_stream_ends_when_its_key_is_revoked(pool: Pool) -> None:
    made = await Keys(pool).create("default", "ada", Role.VIEWER, by=TESTER)
    sent: list[Message] = []

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await Keys(pool).revoke("default", made.key.key_id, by=TESTER)
        await send({"type": "http.response.body", "body": b"two", "more_body": True})
        await send({"type": "http.response.body", "body": b"three", "more_body": True})

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {made.secret}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/v1/events", "headers": headers}
    await guarded(pool, stream)(scope, None, send)  # type: ignore[arg-type]
    assert [(message.get("body"), message.get("more_body")) for message in sent[1:]] == [(b"one", True), (b"", False)]


async def test_a_socket_ends_when_its_session_does(pool: Pool) -> None:
    made = await Keys(pool).create("default", "ada", Role.VIEWER, by=TESTER)
    sessions = BrowserSessions(pool, timedelta(hours=1))
    caller = await Keys(pool).find(made.secret)
    assert caller is not None
    opened = await sessions.open(caller)
    sent: list[Message] = []
    heard: list[str] = []

    async def incoming() -> AsyncIterator[Message]:
        yield {"type": "websocket.connect"}
        yield {"type": "websocket.receive", "text": "one"}
        found = await sessions.find(opened.secret)
        assert found is not None
        await sessions.end(found)
        yield {"type": "websocket.receive", "text": "two"}

    messages = incoming()

    async def socket(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            heard.append(message.get("text", ""))
        await send({"type": "websocket.send", "text": "late"})

    async def receive() -> Message:
        return await anext(messages)

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [
        (b"host", b"purser.example"), (b"origin", b"https://purser.example"),
        (b"cookie", f"{COOKIE}={opened.secret}".encode()),
    ]  # fmt: skip
    scope = {"type": "websocket", "path": "/_nicegui_ws/socket.io/", "headers": headers}
    await guarded(pool, socket)(scope, receive, send)
    assert heard == ["", "one"]
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("origin", "cookie", "refused"),
    [
        ("https://purser.example", True, None),
        ("http://purser.example", True, None),
        ("https://purser.example", False, Unauthenticated),
        ("https://evil.example", True, ForgedRequest),
        ("https://purser.example:8443", True, ForgedRequest),
        ("https://purser.example.evil.example", True, ForgedRequest),
        ("null", True, ForgedRequest),
        (None, True, ForgedRequest),
    ],
)
@pytest.mark.parametrize("path", ["/_nicegui_ws/socket.io/", "/anything"])
async def test_a_socket_opens_for_a_session_and_a_page_of_ours_alone(
    pool: Pool, origin: str | None, cookie: bool, refused: type[Exception] | None, path: str
) -> None:
    opened: list[Scope] = []

    async def socket(scope: Scope, receive: Receive, send: Send) -> None:
        opened.append(scope)

    caller = await Keys(pool).find((await Keys(pool).create("default", "ada", Role.VIEWER, by=TESTER)).secret)
    assert caller is not None
    secret = (await BrowserSessions(pool, timedelta(hours=1)).open(caller)).secret if cookie else "wrong"
    headers = [(b"host", b"purser.example"), (b"cookie", f"other=1; {COOKIE}={secret}".encode())]
    headers += [] if origin is None else [(b"origin", origin.encode())]
    scope = {"type": "websocket", "path": path, "headers": headers}
    connecting = guarded(pool, socket)(scope, None, None)  # type: ignore[arg-type]
    if refused is None:
        await connecting
    else:
        with pytest.raises(refused):
            await connecting
    assert bool(opened) is (refused is None)
