"""A load on a worker: model calls whose provider answers with huge or endless replies, from separate processes."""

import asyncio
import json
from collections import Counter
from itertools import count, cycle
from multiprocessing.connection import Connection
from typing import Any

import httpx

from purser.benchmarks.edge.loads import TIMEOUT_S, Answers, repeat_until_stopped

REPLY_BYTES = 200 * 2**20
"""Bytes of each reply."""
MAX_OUTPUT_TOKENS = 16_000
"""Allowed to every call: Purser reads about 17 MB of a reply to it."""
PIECE_BYTES = 64 * 2**10
POLL_S = 0.5
ENDED = frozenset({"completed", "failed", "cancelled"})

_WORDS = "Some words of a long reply. " * 90
_CHUNK = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": _WORDS}}]}).encode() + b"\n\n"
REPLIES = (
    ("application/json", b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "', b"word "),
    ("text/event-stream", b"", _CHUNK),
    ("text/event-stream", b"data: ", b"word "),
)
"""Media type, beginning and repeated part of each reply: one body, a stream of events, a stream of a single line."""


def run_provider(parent: "Connection[int, Any]") -> None:
    """Entry point of the process: sends the port on which it listens, and answers until it is terminated."""
    asyncio.run(_run_provider(parent))


async def _run_provider(parent: "Connection[int, Any]") -> None:
    replies = cycle(REPLIES)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await _reply(writer, *next(replies))
        except (OSError, EOFError):
            pass  # the worker has read as much as it wants to
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    parent.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _reply(writer: asyncio.StreamWriter, media_type: str, begin: bytes, part: bytes) -> None:
    writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nconnection: close\r\n\r\n".encode() + begin)
    piece = part * (PIECE_BYTES // len(part))
    for _ in range(REPLY_BYTES // len(piece)):
        writer.write(piece)
        await writer.drain()


def run_tasks(url: str, key: str, port: int, tasks: int, parent: "Connection[Answers, Any]") -> None:
    """Entry point of the process: submits tasks of one model call each, as `repeat_until_stopped` says.

    Args:
        url, key: the gateway, and a key that may submit tasks.
        port: port of the provider.
        tasks: number of tasks, submitted at the same time.
        parent: receives the number of tasks by the reason of their failure, or by their status.
    """
    asyncio.run(_run_tasks(url, key, port, tasks, parent))


async def _run_tasks(url: str, key: str, port: int, tasks: int, parent: "Connection[Answers, Any]") -> None:
    headers, numbers = {"Authorization": f"Bearer {key}"}, count()
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S) as http:

        async def run_all() -> Answers:
            async with asyncio.timeout(TIMEOUT_S):
                return Counter(await asyncio.gather(*(_run_task(http, next(numbers), port) for _ in range(tasks))))

        await repeat_until_stopped(parent, run_all, lasts=False)


async def _run_task(http: httpx.AsyncClient, number: int, port: int) -> str:
    agent = {
        "id": "a",
        "model": "openai/gpt-4o",
        "instructions": "Answer.",
        "max_output_tokens": MAX_OUTPUT_TOKENS,
        "api_base": f"http://127.0.0.1:{port}/v1",
    }
    task = {"session_id": "replies", "task_id": f"reply{number}", "input": "Hello.", "agents": [agent]}
    (await http.post("/v1/tasks", json=task)).raise_for_status()
    while True:
        found = (await http.get(f"/v1/tasks/reply{number}")).raise_for_status().json()
        if found["status"] in ENDED:
            return str(found["agents"]["a"]["reason"] or found["status"])
        await asyncio.sleep(POLL_S)
