"""Serving an application until a stop event is set."""

import asyncio
import socket
from collections import Counter
from contextlib import ExitStack

import pytest
from starlette.types import Receive, Scope, Send

from purser.compose.errors import StackError
from purser.compose.http.serving import ACCEPT_BATCH, listen, listen_near, port_of, reserve, serve
from purser.compose.stack.ports import LOOPBACK, free_port
from tests.support.servers.clients import plain_client
from tests.support.threads import in_task


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "http"
    await asyncio.sleep(0.3)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def test_a_request_under_way_is_finished_after_stop() -> None:
    port = free_port()
    async with (
        in_task(lambda stop, ready: serve(slow, listen(LOOPBACK, port), stop, ready)) as stop,
        plain_client() as client,
    ):
        request = asyncio.create_task(client.get(f"http://{LOOPBACK}:{port}/"))
        await asyncio.sleep(0.1)
        stop.set()
        assert (await request).status_code == 204
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port))


def test_a_taken_port_is_an_error_that_names_the_settings() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken, pytest.raises(StackError) as caught:
        listen(LOOPBACK, taken.getsockname()[1])
    assert "PURSER_GATEWAY_PORT" in caught.value.remedy


def test_where_the_preferred_port_is_taken_any_other_is_listened_on() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken, listen_near(LOOPBACK, port := port_of(taken)) as listener:
        assert port_of(listener) != port
    with listen_near(LOOPBACK, port) as listener:
        assert port_of(listener) == port


def test_a_reserved_port_is_that_of_the_processes_that_share_it_and_of_nobody_else() -> None:
    with reserve(LOOPBACK, 0) as reserved:
        port = port_of(reserved)
        with pytest.raises(StackError):
            listen(LOOPBACK, port)
        with listen(LOOPBACK, port, shared=True) as listener:
            for _ in range(20):
                with socket.create_connection((LOOPBACK, port)):
                    listener.settimeout(10)
                    listener.accept()[0].close()
            with pytest.raises(StackError):
                reserve(LOOPBACK, port)


def test_a_port_whose_last_connections_were_closed_just_now_is_reserved_again() -> None:
    with listen(LOOPBACK, 0) as listener, socket.create_connection(listener.getsockname()) as client:
        port = port_of(listener)
        listener.accept()[0].close()
        assert client.recv(1) == b""
    reserve(LOOPBACK, port).close()


def test_answers_leave_at_once_on_connections_of_both_families() -> None:
    for host in ("127.0.0.1", "::1"):
        with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
            accepted, _ = listener.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_rush_of_connections_is_accepted_a_few_at_a_time() -> None:
    turn, entered = 0, Counter[int]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        entered[turn] += 1
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    rush = 5 * ACCEPT_BATCH
    port = free_port()
    async with in_task(lambda stop, ready: serve(app, listen(LOOPBACK, port), stop, ready)):
        with ExitStack() as clients:
            # The event loop does not run meanwhile: all connections wait in the kernel.
            for _ in range(rush):
                client = clients.enter_context(socket.create_connection((LOOPBACK, port), timeout=10))
                client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            async with asyncio.timeout(30):
                while entered.total() < rush:
                    turn += 1
                    await asyncio.sleep(0)
    assert max(entered.values()) <= ACCEPT_BATCH
