"""Limits of connections, over raw sockets: size and number of headers, time, number of connections."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from purser.compose.http import protocol
from purser.compose.http.connections import (
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_SMALL_CHUNKS,
    MIN_CHUNK_BYTES,
    ConnectionLimits,
    connections_of,
    raise_file_limit,
)
from purser.compose.http.serving import listen, serve
from purser.compose.stack.ports import LOOPBACK, free_port
from tests.support.threads import in_task

USUAL = ConnectionLimits()
PATIENT = ConnectionLimits(header_s=600, body_s=600)
"""Limits under which only sizes end a connection."""
SOON = ConnectionLimits(header_s=0.2, body_s=0.2)
GET = b"GET / HTTP/1.1\r\nhost: x\r\n"
LAST = GET + b"connection: close\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI application that answers with the size of the complete body."""
    if scope["type"] != "http":
        return
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    headers = [(b"content-length", b"0"), (b"x-size", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI application that answers without reading the body."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def serving(limits: ConnectionLimits, app: ASGIApp = reading) -> AsyncIterator[int]:
    port = free_port()
    async with in_task(lambda stop, ready: serve(app, listen(LOOPBACK, port), stop, ready, grace_s=1, limits=limits)):
        yield port


async def answer(port: int, *sent: bytes, forever: bytes = b"") -> bytes:
    """All bytes that come back until the server closes the connection."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        for one in sent:
            writer.write(one)
        try:
            for _ in range(2_000 if forever else 0):
                if reader.at_eof():
                    break
                writer.write(forever)
                await writer.drain()
                await asyncio.sleep(0)
            else:
                assert not forever, "16 MB were taken"
        except ConnectionError:
            pass
        got = b""
        try:
            while chunk := await reader.read(65_536):
                got += chunk
        except ConnectionError:  # the server closed while more was under way to it
            return got or b"reset"
        return got
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("begun", "forever"),
    [
        (GET + b"x-a: ", b"a" * 8_192),
        (GET, b"a: b\r\n" * 1_000),
        (b"GET /", b"a" * 8_192),
        (CHUNKED + b"0\r\nx-a: ", b"a" * 8_192),
        (CHUNKED + b"1;", b"a" * 8_192),
    ],
    ids=["one header", "many headers", "address", "trailer", "chunk extension"],
)
async def test_endless_headers_and_trailers_are_cut_off(begun: bytes, forever: bytes) -> None:
    async with serving(PATIENT) as port:
        got = await answer(port, begun, forever=forever)
    assert got == b"reset" or got.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


async def test_headers_beyond_64_kib_or_100_are_a_431_that_says_so_and_usual_ones_are_answered() -> None:
    async with serving(USUAL) as port:
        large = await answer(port, GET + b"x-a: " + b"a" * 66_000 + b"\r\n\r\n")
        many = await answer(port, GET + b"a: b\r\n" * MAX_HEADERS + b"\r\n")
        usual = await answer(port, GET + b"x-a: " + b"a" * 60_000 + b"\r\nconnection: close\r\n\r\n")
    assert large.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert many.startswith(b"HTTP/1.1 431")
    assert b"65536 bytes or 100 headers" in large
    assert usual.startswith(b"HTTP/1.1 200")


async def test_headers_and_bodies_that_do_not_come_in_time_are_cut_off() -> None:
    async with serving(SOON) as port:
        silent = await answer(port)
        half_a_head = await answer(port, GET)
        blank = await answer(port, b"\r\n")
        half_a_body = await answer(port, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf")
        second = await answer(port, GET + b"\r\n", GET)
    assert (silent, blank) == (b"", b"")
    assert half_a_head.startswith(b"HTTP/1.1 408")
    assert half_a_body.startswith(b"HTTP/1.1 408")
    assert second.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in second


async def test_a_line_break_after_an_answer_keeps_no_connection_open() -> None:
    async with serving(SOON) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(GET + b"\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.write(b"\r\n")
        assert await reader.read() == b""
        writer.close()


async def test_a_body_may_take_longer_the_larger_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MIN_BODY_BYTES_PER_S", 1_000)
    async with serving(SOON) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\nconnection: close\r\n\r\n")
        writer.write(b"x" * 59_999)
        await writer.drain()
        await asyncio.sleep(0.5)  # beyond the 0.2 s that an empty body gets
        writer.write(b"x")
        assert b"x-size: 60000" in await reader.read()
        writer.close()


async def test_a_client_that_reads_nothing_of_its_response_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "WRITE_STALL_S", 0.2)
    gone = asyncio.Event()

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x" * 2**24, "more_body": True})
            assert (await receive())["type"] == "http.disconnect"
            gone.set()

    async with serving(USUAL, large) as port:
        _, writer = await asyncio.open_connection(LOOPBACK, port, limit=1_024)
        writer.write(GET + b"\r\n")
        await gone.wait()
        writer.close()


async def test_more_connections_than_allowed_are_refused_and_places_are_free_again_when_some_close() -> None:
    async with serving(ConnectionLimits(per_address=3)) as port:
        open_ones = [await asyncio.open_connection(LOOPBACK, port) for _ in range(3)]
        refused = await answer(port)
        for _, writer in open_ones:
            writer.close()
        got = b""
        while not got.startswith(b"HTTP/1.1 200"):
            got = await answer(port, GET + b"connection: close\r\n\r\n")
    assert refused.startswith(b"HTTP/1.1 503")
    assert b"too many connections" in refused


async def test_the_limit_in_all_holds_whatever_the_addresses() -> None:
    async with serving(ConnectionLimits(connections=1)) as port:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        reader, other = await asyncio.open_connection(LOOPBACK, port, local_addr=("127.0.0.2", 0))
        assert (await reader.read()).startswith(b"HTTP/1.1 503")
        writer.close()
        other.close()


def test_connections_keep_longer_than_the_pools_of_common_clients() -> None:
    """httpx keeps a connection for 5 s, aiohttp for 15 s, nginx and common load balancers for 60 s."""
    assert USUAL.keep_alive_s > 60


async def test_connections_stay_open_between_requests_for_as_long_as_the_limits_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    class Noted(uvicorn.Config):
        def load(self) -> None:
            seen.append(self.timeout_keep_alive)
            super().load()

    monkeypatch.setattr(uvicorn, "Config", Noted)
    async with serving(ConnectionLimits(keep_alive_s=600)):
        assert seen == [600]


def test_open_files_are_raised_to_what_the_system_grants_and_bound_the_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        assert raise_file_limit() == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert connections_of(1_024, 5_000) == 768
    assert connections_of(100_000, 5_000) == 5_000


async def test_headers_after_a_slow_body_still_have_to_come_in_their_own_time() -> None:
    async with serving(ConnectionLimits(header_s=0.2, body_s=3_600)) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\na")
        await asyncio.sleep(0.4)  # past the time of the headers
        writer.write(b"b" + GET)
        got = await reader.read()
        writer.close()
    assert got.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in got


async def test_a_few_requests_wait_for_an_answer_and_the_connection_is_closed_after_theirs() -> None:
    async with serving(PATIENT) as port:
        got = await answer(port, (GET + b"\r\n") * 1_000 + LAST)
    assert got.count(b"HTTP/1.1 ") == got.count(b"HTTP/1.1 200") == MAX_PIPELINED + 1
    assert got.rpartition(b"HTTP/1.1")[2].count(b"connection: close") == got.count(b"connection: close") == 1


async def test_nothing_is_read_of_a_connection_while_a_request_waits() -> None:
    may_answer = asyncio.Event()

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await receive()
            leaving = asyncio.ensure_future(receive())
            await may_answer.wait()
            leaving.cancel()
            await at_once(scope, receive, send)

    async with serving(PATIENT, watching) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write((GET + b"\r\n") * 2)
        await asyncio.sleep(0.1)
        writer.write((GET + b"\r\n") * (MAX_PIPELINED - 1) + LAST)
        await asyncio.sleep(0.1)
        may_answer.set()
        got = await reader.read()
        writer.close()
    assert got.count(b"HTTP/1.1 401") == MAX_PIPELINED + 2, "one more than are read while the first is answered"


async def test_many_small_chunks_are_refused_and_usual_ones_are_taken() -> None:
    lines = (b"%x\r\n" % (2 * MIN_CHUNK_BYTES) + b"x" * 2 * MIN_CHUNK_BYTES + b"\r\n") * 4 * MAX_SMALL_CHUNKS
    async with serving(PATIENT) as port:
        small = await answer(port, CHUNKED + b"1\r\na\r\n" * 2 * MAX_SMALL_CHUNKS + b"0\r\n\r\n" + LAST)
        usual = await answer(port, CHUNKED + lines + b"0\r\n\r\n" + LAST)
    assert small.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"less than 32 bytes on average" in small
    assert b"x-size: %d" % (8 * MAX_SMALL_CHUNKS * MIN_CHUNK_BYTES) in usual


async def test_small_chunks_after_the_answer_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LINGER_S", 600)
    async with serving(PATIENT, at_once) as port:
        got = await answer(port, CHUNKED, forever=b"1\r\na\r\n" * 1_000)
    assert got == b"reset" or got.count(b"HTTP/1.1 ") == 1


async def test_a_body_that_does_not_end_soon_after_the_answer_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "LINGER_S", 0.2)
    async with serving(PATIENT, at_once) as port, asyncio.timeout(30):
        got = await answer(port, CHUNKED + b"1\r\na\r\n")
    assert got.count(b"HTTP/1.1 ") == got.count(b"HTTP/1.1 401") == 1


async def test_a_connection_is_used_again_if_the_body_ends_soon_after_the_answer() -> None:
    async with serving(PATIENT, at_once) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(CHUNKED)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"1\r\na\r\n0\r\n\r\n" + LAST)
        assert (await reader.read()).count(b"HTTP/1.1 401") == 1
        writer.close()


async def test_no_refusal_is_written_into_another_answer() -> None:
    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9999")]})
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass

    async with serving(PATIENT, endless) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(GET + b"\r\n")
        await reader.readuntil(b"begun")
        writer.write(GET + b"a: b\r\n" * (MAX_HEADERS + 1) + b"\r\n")
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()


async def test_a_request_learns_that_its_client_has_left_although_another_waits_behind_it() -> None:
    gone = asyncio.Event()

    async def following(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await receive()
            leaving = asyncio.ensure_future(receive())
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while not leaving.done():
                await send({"type": "http.response.body", "body": b"begun", "more_body": True})
                await asyncio.sleep(0.01)
            assert leaving.result()["type"] == "http.disconnect"
            gone.set()

    async with serving(PATIENT, following) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write((GET + b"\r\n") * 2)
        await reader.readuntil(b"begun")
        writer.close()
        async with asyncio.timeout(30):
            await gone.wait()
