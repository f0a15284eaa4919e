"""Tool loops of models whose providers refuse what OpenAI's protocol allows."""

import asyncio
import json
from itertools import pairwise
from typing import Any

from temporalio import activity

from purser.activities.postgres.calls.calls import Calls
from purser.activities.tools import Tools
from purser.context.conversation.messages import Message
from purser.context.tokens import count_request
from purser.workflows.contract import ToolCall, ToolResult
from tests.support.context.conversations import call, calling, result, user
from tests.support.servers.raw_server import RawServer, raw_server, streams
from tests.support.world import TENANT, World

MODELS = {"a": "deepseek-v4-pro", "b": "mistral-large-latest"}
"""Models by agent."""
USED = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}}


def bodies(server: RawServer) -> list[dict[str, Any]]:
    return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests]


def refusal(asked: dict[str, Any]) -> str:
    """What a provider finds wrong with a request; empty if nothing."""
    messages = asked["messages"]
    if "deepseek" in asked["model"]:
        said = [one for one in messages if one["role"] == "assistant"]
        return "" if all(one.get("reasoning_content") for one in said) else "reasoning_content must be passed back"
    if any((one["role"], following["role"]) == ("tool", "user") for one, following in pairwise(messages)):
        return "Unexpected role 'user' after role 'tool'"
    return "" if all(one["content"] for one in messages if one["role"] == "tool") else "a call has no result"


async def strict(server: RawServer, writer: asyncio.StreamWriter) -> None:
    """Calls the tool, and answers its result."""
    asked = bodies(server)[-1]
    if wrong := refusal(asked):
        body = json.dumps({"error": {"message": wrong}}).encode()
        await server.send(writer, b"HTTP/1.1 400 Bad Request\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        return
    replied = asked["messages"][-1]["role"] == "tool"
    delta = {"content": "Done."} if replied else {"tool_calls": [call("t") | {"index": 0}]}
    said = {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop" if replied else "tool_calls"}]}
    chunks = b"".join(b"data: %b\n\n" % json.dumps({"id": "1"} | one).encode() for one in (said, USED))
    await streams(chunks)(server, writer)


async def test_what_a_provider_demands_of_a_tool_loop_is_sent_and_held_for(idle: World) -> None:
    @activity.defn(name="look_up")
    async def look_up(tool_call: ToolCall) -> ToolResult:
        return await Tools(idle.pool).store_result(tool_call, "")

    said = [calling("c"), result("c"), user("Wait."), Message("assistant", "")]
    await idle.conversations.append(TENANT, "s", said, origin="chat")
    tools = [{"name": "look_up", "description": "Looks.", "parameters": {"type": "object"}}]
    async with raw_server(strict) as server, idle.worker(look_up):
        agents = [
            idle.agent(name, model=model, api_base=server.api_base, tools=tools) for name, model in MODELS.items()
        ]
        task = await idle.run(*agents, session_id="s")
    assert [agent["reply"] for agent in task["agents"].values()] == ["Done.", "Done."]
    for name, model in MODELS.items():
        stored = await Calls(idle.pool).of_task(TENANT, task["task_id"], agent_id=name)
        planned = sorted(one.call.plan.prompt_tokens for one in stored)
        asked = [one for one in bodies(server) if one["model"] == model]
        sent = sorted(count_request(one["messages"], one["tools"], model).tokens for one in asked)
        assert len(planned) == len(sent) == 2
        assert all(plan >= tokens for plan, tokens in zip(planned, sent, strict=True))
