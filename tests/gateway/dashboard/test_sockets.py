"""The socket of a page answers to the browser session that opened the page, and to nobody who merely knows its id."""

from types import SimpleNamespace
from typing import Any

import pytest
from nicegui import Client, core
from socketio.exceptions import ConnectionRefusedError as Refused  # type: ignore[import-untyped]
from starlette.requests import Request

from purser.gateway.access.roles import Principal, Role
from purser.gateway.dashboard import sockets
from purser.gateway.postgres.browser_sessions import BrowserSession

Heard = list[tuple[Any, ...]]


def opened_by(session_id: str) -> dict[str, Any]:
    """The ASGI scope of what a browser session sends."""
    caller = Principal("key-1", "default", "ada", Role.ADMIN)
    return {"type": "http", "state": {"browser": BrowserSession(session_id, "secret", caller)}}


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """What gets through to NiceGUI, which has one page `p1`, opened by the session `ada`."""
    heard: Heard = []

    def listen(*given: Any) -> bool:
        heard.append(given)
        return True

    scopes = {"own": opened_by("ada"), "other": opened_by("eve"), "nobody": {"type": "http"}}
    handlers = dict.fromkeys(("connect", *sockets.NAMED), listen)
    monkeypatch.setattr(core.sio, "handlers", {"/": handlers})
    monkeypatch.setattr(core.sio, "get_environ", lambda sid: {"asgi.scope": scopes[sid]})
    monkeypatch.setattr(Client, "instances", {"p1": SimpleNamespace(request=Request(opened_by("ada")))})
    sockets.bind()
    return heard


async def say(name: str, sid: str) -> Any:
    if name == "connect":
        environ = core.sio.get_environ(sid) | {"QUERY_STRING": "EIO=4&client_id=p1&implicit_handshake=true"}
        return await core.sio.handlers["/"]["connect"](sid, environ)
    return await core.sio.handlers["/"][name](sid, {"client_id": "p1"})


@pytest.mark.parametrize("name", ["connect", *sockets.NAMED])
async def test_only_the_session_that_opened_a_page_is_heard_there(heard: Heard, name: str) -> None:
    for sid in ("other", "nobody"):
        try:
            assert await say(name, sid) is False
        except Refused:
            assert name == "connect"
    assert heard == []
    assert await say(name, "own") is True
    assert len(heard) == 1


async def test_messages_that_name_no_page_are_not_heard(heard: Heard) -> None:
    messages: list[object] = [None, [], "p1", {}, {"client_id": ["p1"]}]
    for message in messages:
        assert await core.sio.handlers["/"]["event"]("own", message) is False
    assert heard == []
