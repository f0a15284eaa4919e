"""Messages that are too large for a window: the turn goes on, and the model reads them back."""

import json
from typing import Any

from temporalio import activity

from purser.activities.tools import Tools
from purser.context.conversation.messages import Message
from purser.workflows.contract import ToolCall, ToolResult
from tests.support.world import TENANT, World, calls

MODEL = "openai/gpt-4"
"""A model with a window of 8,192 tokens."""
TOOLS = [{"name": "fetch", "description": "", "parameters": {}}]
ROWS = "".join(f"row {number}; " for number in range(4_000))


def sent(world: World) -> list[dict[str, Any]]:
    """The requests that the provider received."""
    return [json.loads(one.arrival.text or "") for one in world.provider.served()]


async def fetched(world: World, call: ToolCall) -> ToolResult:
    """A tool whose result is larger than the window."""
    return await Tools(world.pool).store_result(call, ROWS)


async def test_a_turn_never_fails_for_one_large_message_and_recall_message_reads_it_back(idle: World) -> None:
    @activity.defn(name="fetch")
    async def fetch(call: ToolCall) -> ToolResult:
        return await fetched(idle, call)

    recall = calls("recall_message", message=3, offset=20_000, length=40)
    agent = idle.agent("a", calls("fetch"), recall, "Done.", model=MODEL, tools=TOOLS)
    async with idle.worker(fetch):
        task = await idle.run(agent, session_id="s")
        assert (task["status"], task["agents"]["a"]["turns"]) == ("completed", 3)
        first, second, third = sent(idle)
        assert [tool["function"]["name"] for tool in first["tools"]] == ["fetch"]
        assert [tool["function"]["name"] for tool in second["tools"]] == ["fetch", "recall_message"]
        clipped, recalled = second["messages"][-1], third["messages"][-1]
        assert "tokens left out of message 3 …]" in clipped["content"]
        assert clipped["content"].startswith("row 0; row 1;")
        assert clipped["tool_call_id"] == second["messages"][-2]["tool_calls"][0]["id"]
        assert recalled["content"].endswith(
            f" of {len(ROWS)}; {len(ROWS) - 20_040} follow from offset 20040]\n{ROWS[20_000:20_040]}"
        )
        stored = await idle.conversations.read(TENANT, "s", [3])
        assert stored[3].message.text == ROWS, "what is stored stays whole"
        plans = await idle.pool.fetch("select plan, tokens, nano, hold_id from calls order by turn")
        assert all(row["hold_id"] for row in plans), "the call that reads the message is held like any other"
        assert [row["plan"]["recall"] for row in plans] == [False, True, True]
        await idle.audited()


async def test_recall_message_reads_nothing_but_the_conversation_of_its_agent(idle: World) -> None:
    await idle.conversations.append(TENANT, "s", [Message("user", "of another agent")], origin="x", thread="t0/other")
    wrong: list[dict[str, Any]] = [
        {"message": 1},
        {"message": 99},
        {"message": "3"},
        {"offset": 2},
        {"message": 2, "length": 1_000_000},
    ]
    asked = [calls("recall_message", **arguments) for arguments in wrong]
    async with idle.worker():
        task = await idle.run(idle.agent("a", *asked, "Done."), session_id="s")
    assert task["status"] == "completed"
    rows = await idle.pool.fetch("select body from messages where role = 'tool' order by seq")
    found = [row["body"]["content"] for row in rows]
    assert found[0] == "error: message 1 is not part of this conversation"
    assert [text.split(":")[0] for text in found[1:4]] == ["error"] * 3
    assert found[4] == "[message 2, user: characters 0 to 14 of 14]\nSay something."


async def test_a_large_first_message_fails_no_later_task_of_its_session(idle: World) -> None:
    said = [Message("user", ROWS), Message("assistant", "Noted.")]
    await idle.conversations.append(TENANT, "s", said, origin="talk")
    async with idle.worker():
        first = await idle.run(idle.agent("a", model=MODEL), session_id="s")
        second = await idle.run(idle.agent("a", model=MODEL), session_id="s")
    assert [first["status"], second["status"]] == ["completed", "completed"]
    assert all("tokens left out of message 1 …]" in one["messages"][1]["content"] for one in sent(idle))
    before, after = (one["messages"][1]["content"] for one in sent(idle))
    assert before == after, "the beginning of the window stays the same"
