"""The bare provider: it answers every chat request at once with the same reply, and counts what it served.

Below `/slow` each call takes a while.
"""

import asyncio
import json
from multiprocessing.connection import Connection
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from purser.benchmarks.limiters.load import MODEL, PROMPT, REPLY, TOKENS

CHUNKS = 10
KEEP_ALIVE_S = 75
"""How long an idle connection stays, as at large providers: the server's own default is shorter than a line."""
SLOW_S = 0.1
"""Duration of a call below `/slow`."""
_USAGE = {"prompt_tokens": PROMPT, "completion_tokens": REPLY, "total_tokens": TOKENS}
_ABOUT = {"id": "chatcmpl-1", "created": 0, "model": MODEL}
_JSON, _EVENTS = b"application/json", b"text/event-stream"


def run_provider(connection: "Connection[Any, Any]") -> None:
    """Serves until the process ends; sends its port. Entry point of a process."""
    asyncio.run(_serve(connection))


async def _serve(connection: "Connection[Any, Any]") -> None:
    config = uvicorn.Config(
        _Provider(), port=0, log_level="error", access_log=False, lifespan="off", timeout_keep_alive=KEEP_ALIVE_S
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    connection.send(server.servers[0].sockets[0].getsockname()[1])
    await serving


class _Provider:
    def __init__(self) -> None:
        self._calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["method"] == "GET":
            await _answer(send, _JSON, [json.dumps({"calls": self._calls}).encode()])
            return
        self._calls += 1
        if scope["path"].startswith("/slow/"):
            await asyncio.sleep(SLOW_S)
        asked = json.loads(body)
        await _answer(send, _EVENTS, _stream()) if asked.get("stream") else await _answer(send, _JSON, [_whole()])


def _whole() -> bytes:
    message = {"role": "assistant", "content": "word " * REPLY}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps(_ABOUT | {"object": "chat.completion", "choices": [choice], "usage": _USAGE}).encode()


def _stream() -> list[bytes]:
    deltas: list[tuple[dict[str, str], str | None]] = [({"content": "word " * (REPLY // CHUNKS)}, None)] * CHUNKS
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in [*deltas, ({}, "stop")]
    ]
    chunks.append({"choices": [], "usage": _USAGE})
    about = _ABOUT | {"object": "chat.completion.chunk"}
    return [b"data: " + json.dumps(about | chunk).encode() + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]


async def _answer(send: Send, kind: bytes, parts: list[bytes]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
