"""The light client of the HTTP benchmarks, against a server that answers as it is asked to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from purser.benchmarks.http import connections
from purser.benchmarks.http.connections import Answer, open_connections

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"


@asynccontextmanager
async def served(*answers: bytes | None) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server with these answers in turn, each on the connection of its request; `None` closes that connection."""
    asked: list[bytes] = []
    left = iter(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                [length] = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")]
                asked.append(head + await reader.readexactly(int(length.split(b":")[1])))
                answer = next(left)
                if answer is None:
                    return
                writer.write(answer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def test_requests_on_one_connection_get_their_own_answers() -> None:
    chunked = b'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"n"\r\n4\r\n: 2}\r\n0\r\n\r\n'
    async with served(ANSWER + b'{"n":  1}', chunked) as (url, asked), open_connections(url, "secret", 1) as client:
        first, second = await asyncio.gather(
            client.request("POST", "/v1/holds", {"key": "k"}), client.request("GET", "/v1/budgets")
        )
    assert (first.status, first.json()) == (200, {"n": 1})
    assert second == Answer(404, b'{"n": 2}')
    assert asked[0].startswith(b"POST /v1/holds HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Bearer secret\r\n" in asked[0]
    assert asked[0].endswith(b'\r\n\r\n{"key":"k"}')


async def test_a_closed_connection_fails_its_request_and_those_after_it() -> None:
    async with served(None) as (url, _), open_connections(url, "secret", 1) as client:
        for _attempt in range(2):
            with pytest.raises(ConnectionError):
                await client.request("GET", "/v1/budgets")


async def test_a_late_answer_is_not_taken_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "TIMEOUT_S", 0.05)
    half = ANSWER + b'{"n": '
    async with served(half, b" 1}" + ANSWER + b'{"n":  2}') as (url, _), open_connections(url, "secret", 1) as client:
        with pytest.raises(TimeoutError):
            await client.request("GET", "/v1/budgets")
        with pytest.raises(ConnectionError):
            await client.request("GET", "/v1/budgets")
