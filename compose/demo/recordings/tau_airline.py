"""The data set tau_airline: an airline's assistant talks to a customer and calls tools.

Each answered message of the customer becomes an agent, in a chain; the assistant's messages up to the customer's next
one are the replies of that agent.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from purser.compose.demo.provider.recorded import ToolResult
from purser.compose.demo.provider.script import Reply
from purser.compose.demo.provider.wire import ToolCall
from purser.compose.demo.recordings.tasks import RecordedAgent, RecordedTask, Row, chain

Message = Mapping[str, Any]


def make(row: Row, provider: str) -> RecordedTask:
    """The task made of one transcript."""
    messages = list(_with_unique_calls(row["messages"]))
    policy = messages[0]["content"]
    turns = [turn for turn in _turns(messages[1:]) if len(turn) > 1]
    results = {
        message["tool_call_id"]: ToolResult(
            tool_call_id=message["tool_call_id"], name=message["name"], content=message["content"]
        )
        for message in messages
        if message["role"] == "tool"
    }
    agents = [
        RecordedAgent(
            id=f"turn-{number:02}",
            instructions=policy if number == 1 else f"{policy}\n\nThe customer says: {turn[0]['content']}",
            replies=tuple(_replies(turn)),
        )
        for number, turn in enumerate(turns, start=1)
    ]
    tools = sorted({result.name for result in results.values()})
    return chain(row, turns[0][0]["content"], agents, provider, tools=tools, results=results)


def _with_unique_calls(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with unique tool call ids: a quarter of the transcripts reuse ids of earlier calls."""
    uses: defaultdict[str, int] = defaultdict(int)
    for message in messages:
        if message.get("tool_calls"):
            for call in message["tool_calls"]:
                uses[call["id"]] += 1
            calls = [call | {"id": _numbered(call["id"], uses[call["id"]])} for call in message["tool_calls"]]
            yield {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            call_id = message["tool_call_id"]
            yield {**message, "tool_call_id": _numbered(call_id, uses[call_id])}
        else:
            yield message


def _numbered(call_id: str, use: int) -> str:
    return call_id if use == 1 else f"{call_id}-{use}"


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages in groups that each begin with a message of the customer."""
    turn: list[Message] = []
    for message in messages:
        if message["role"] == "user" and turn:
            yield turn
            turn = []
        turn.append(message)
    yield turn


def _replies(turn: Sequence[Message]) -> Iterator[Reply]:
    for message in turn:
        if message["role"] == "assistant":
            calls = tuple(ToolCall.model_validate(call) for call in message.get("tool_calls") or ())
            yield Reply(content=message["content"], tool_calls=calls)
    if turn[-1]["role"] == "tool":
        # The transcript ends with the tool that transfers the customer: its result becomes the last reply.
        yield Reply(content=turn[-1]["content"] or "Done.")
