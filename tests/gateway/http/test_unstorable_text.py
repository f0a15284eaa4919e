"""A model and a tool that send text Postgres cannot store: the reply is readable, and the session continues."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.client import Client

from purser.activities.tools import Tools
from purser.gateway.access.roles import Role
from purser.workflows.contract import ToolCall, ToolResult
from tests.gateway.conftest import RunningGateway
from tests.support.world import TENANT, calls, world


async def test_half_of_a_surrogate_pair_in_a_reply_leaves_task_and_session_readable(
    gateway: RunningGateway, dsn: str, temporal_client: Client, task_queue: str
) -> None:
    reader = await gateway.client(Role.VIEWER, tenant=TENANT)
    async with world(dsn, temporal_client, task_queue) as house, house.worker(), saying("lone \ud83d\0") as api_base:
        broken = house.agent() | {"api_base": api_base}
        task = await house.run(broken, session_id="s")
        shown = await reader.get(f"/v1/tasks/{task['task_id']}")
        assert shown.json()["agents"]["a"]["reply"] == "lone \ufffd\ufffd"
        messages = await reader.get("/v1/sessions/s/messages")
        assert "lone \ufffd\ufffd" in messages.text
        assert (await reader.get("/v1/sessions/s/window", params={"budget": 4_000})).status_code == 200
        following = await house.run(house.agent("a", "Fine."), session_id="s")
    assert (following["status"], following["agents"]["a"]["holds"]) == ("completed", 1)


async def test_what_a_tool_gets_and_returns_is_storable(
    gateway: RunningGateway, dsn: str, temporal_client: Client, task_queue: str
) -> None:
    got: list[object] = []

    @activity.defn(name="echo")
    async def echo(call: ToolCall) -> ToolResult:
        tools = Tools(gateway.pool)
        got.append((await tools.load_arguments(call))[1])
        return await tools.store_result(call, "half \ud83d")

    reader = await gateway.client(Role.VIEWER, tenant=TENANT)
    tool = {"name": "echo", "description": "Echoes.", "parameters": {"type": "object"}}
    async with world(dsn, temporal_client, task_queue) as house, house.worker(echo):
        agent = house.agent("a", calls("echo", text="\ud83d"), "Heard.", tools=[tool])
        task = await house.run(agent, session_id="s")
    assert got == [{"text": "\ufffd"}]
    assert task["agents"]["a"]["reply"] == "Heard."
    assert "half \ufffd" in (await reader.get("/v1/sessions/s/messages")).text


@asynccontextmanager
async def saying(text: str) -> AsyncIterator[str]:
    """Address of a provider that streams this text as its JSON escapes, which no pydantic model would hold."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        deltas = [({"role": "assistant", "content": text}, None), ({}, "stop")]
        events = [chunk | {"choices": [{"index": 0, "delta": one, "finish_reason": end}]} for one, end in deltas]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body.encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
