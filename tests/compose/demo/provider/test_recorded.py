"""Which recorded reply is next."""

from pathlib import Path

import httpx
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from purser.compose.demo.provider import (
    FunctionCall,
    Provider,
    Recording,
    RecordingError,
    Reply,
    ToolCall,
    ToolResult,
    read_recordings,
)
from purser.compose.demo.provider.wire import Message


def call(number: int) -> ToolCall:
    return ToolCall(id=f"call_{number}", function=FunctionCall(name="look_up", arguments="{}"))


LOOK, LOOK_AGAIN, DONE = Reply(tool_calls=(call(1),)), Reply(tool_calls=(call(2),)), Reply(content="It is done.")
RECORDING = Recording(
    name="trip",
    agents={"booker": (LOOK, LOOK_AGAIN, DONE), "greeter": (Reply(content="Hello."), Reply(content="Bye."))},
    tools={"call_1": ToolResult(tool_call_id="call_1", name="look_up", content="42")},
)
ASKED = Message(role="user", content="Book it.")


def called(number: int) -> list[Message]:
    """A call and its result, as messages of the prompt."""
    return [
        Message(role="assistant", tool_calls=(call(number),)),
        Message(role="tool", tool_call_id=f"call_{number}", content="42"),
    ]


def test_replies_come_in_order_of_the_prompt() -> None:
    prompt = [ASKED]
    assert RECORDING.reply("booker", prompt) is LOOK
    prompt += called(1)
    assert RECORDING.reply("booker", prompt) is LOOK_AGAIN
    prompt += called(2)
    assert RECORDING.reply("booker", prompt) is DONE


def test_a_retry_gets_the_same_reply() -> None:
    assert RECORDING.reply("booker", [ASKED, *called(1)]) is RECORDING.reply("booker", [ASKED, *called(1)])


def test_a_compressed_beginning_does_not_shift_the_reply() -> None:
    summary = Message(role="system", content="Summary: something was looked up.")
    assert RECORDING.reply("booker", [summary, ASKED, *called(2)]) is DONE


def test_what_other_agents_said_does_not_shift_the_reply() -> None:
    foreign = [Message(role="assistant", content="I am someone else."), *called(77)]
    assert RECORDING.reply("booker", [ASKED, *foreign]) is LOOK


def test_a_reply_without_tool_calls_counts_by_its_text() -> None:
    greeted = [ASKED, Message(role="assistant", content="Hello."), Message(role="user", content="Thanks.")]
    assert RECORDING.reply("greeter", greeted) == Reply(content="Bye.")


def test_past_its_end_a_recording_repeats_its_last_reply() -> None:
    prompt = [ASKED, *called(1), *called(2), Message(role="assistant", content="It is done.")]
    assert RECORDING.reply("booker", prompt) is DONE


def test_an_unknown_agent_is_an_error_that_names_it() -> None:
    with pytest.raises(RecordingError, match=r"'trip' has no agent 'pilot'"):
        RECORDING.reply("pilot", [ASKED])
    with pytest.raises(RecordingError, match="None"):
        RECORDING.reply(None, [ASKED])
    assert RECORDING.model_copy(update={"agents": {"only": (DONE,)}}).reply(None, [ASKED]) is DONE


async def test_a_recording_is_served_by_the_path(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.control.add_recordings([RECORDING])
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Book it."}]
    async with AsyncOpenAI(base_url=provider.api_base_of("trip", "booker"), api_key="any") as client:
        answer = await client.chat.completions.create(model="m", messages=messages)
    assert [one.id for one in answer.choices[0].message.tool_calls or ()] == ["call_1"]
    assert (await http.get("/r/trip/tools/call_1")).json() == {
        "tool_call_id": "call_1",
        "name": "look_up",
        "content": "42",
    }
    assert (await http.get("/r/trip/tools/call_9")).status_code == 404
    unknown = await http.post("/r/trip/pilot/v1/chat/completions", json={"model": "m", "messages": messages})
    assert unknown.status_code == 404
    assert "'pilot'" in unknown.json()["error"]["message"]


def test_recordings_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "trip.json").write_text(RECORDING.model_dump_json())
    assert read_recordings(tmp_path) == {"trip": RECORDING}


@pytest.mark.parametrize("text", ["{", '{"name": "a b", "agents": {}}', '{"name": "n", "agents": {"a": []}}'])
def test_a_file_that_is_not_a_recording_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.json").write_text(text)
    with pytest.raises(RecordingError, match=r"broken\.json"):
        read_recordings(tmp_path)


def test_a_missing_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="absent"):
        read_recordings(tmp_path / "absent")
