"""Messages in the format of the OpenAI chat API, and their groups."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from purser.context.conversation.messages import (
    MOST_AHEAD,
    Message,
    check_time,
    group,
    json_and_digest,
    speaker_name,
)
from purser.context.errors import InvalidMessage
from tests.support.context.conversations import assistant, call, calling, result, user


def test_a_message_is_returned_as_it_came() -> None:
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "https://a.test/b"}}]
    for body in (
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": parts, "name": "anna"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1")]},
        {"role": "assistant", "content": ""},
        {"role": "tool", "content": "{}", "tool_call_id": "c1", "name": "look_up"},
        {"role": "user", "content": "keep this", "pinned": True},
        {"role": "user", "content": "hi", "created_at": "2026-11-20T18:00:00Z"},
        {"role": "user", "content": "hi", "created_at": "2026-11-20T18:00:00.123456+08:00"},
    ):
        assert Message.parse(body).to_dict() == body


def test_pins_and_times_are_not_sent_to_a_provider() -> None:
    own = {"pinned": True, "created_at": "2026-11-20T18:00:00Z"}
    assert Message.parse({"role": "user", "content": "keep this"} | own).to_openai() == {
        "role": "user",
        "content": "keep this",
    }


def test_fields_that_say_nothing_are_passed_over() -> None:
    raw: dict[str, Any] = {
        "role": "assistant",
        "content": "hello",
        "refusal": None,
        "tool_calls": [],
        "annotations": [],
    }
    assert Message.parse(raw) == Message("assistant", "hello")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": "x"}, "role"),
        ({"role": "robot", "content": "x"}, "role"),
        ({"role": 7, "content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "assistant", "content": None}, "content"),
        ({"role": "user", "content": 5}, "content"),
        ({"role": "user", "content": ["secret"]}, "content[0]"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "content[0].text"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "content[0].image_url"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": 5}]}, "content[0].image_url"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": ""}}]}, "content[0].image_url"),
        ({"role": "user", "content": "x", "name": 5}, "name"),
        ({"role": "user", "content": "x", "name": "a\0b"}, "name"),
        ({"role": "user", "content": "x", "pinned": "yes"}, "pinned"),
        *(
            ({"role": "user", "content": "x", "created_at": at}, "created_at")
            for at in (
                1732125600,
                True,
                "secret",
                "2026-11-20",
                "2026-11-20T18:00:00",
                "2026-11-20T18:00Z",
                "20261120T180000Z",
                "2026-11-20 18:00:00Z",
                "2026-13-01T00:00:00Z",
                "2026-11-20T18:00:00+25:00",
                "2026-11-20T18:00:60Z",
                "0001-01-01T00:00:00+14:00",
                "٢٠٢٦-11-20T18:00:00Z",
            )
        ),
        ({"role": "user", "content": "x", "mood": "good"}, "mood"),
        ({"role": "user", "content": "x", "tool_calls": [call("c1")]}, "tool_calls"),
        ({"role": "assistant", "tool_calls": "secret"}, "tool_calls"),
        ({"role": "assistant", "tool_calls": [{"id": "c1"}]}, "tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [call("")]}, "tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [call("c1"), call("c1")]}, "tool_calls"),
        (
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {}}}]},
            "tool_calls[0].function.arguments",
        ),
        ({"role": "tool", "content": "x"}, "tool_call_id"),
        ({"role": "user", "content": "x", "tool_call_id": "c1"}, "tool_call_id"),
    ],
)
def test_a_malformed_message_is_an_error_that_names_index_and_field(body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        Message.parse(body, 4)
    assert str(caught.value).startswith(f"message 4, field {field!r}: ")
    assert "secret" not in str(caught.value)


def test_what_is_no_object_is_an_error_that_names_the_index() -> None:
    with pytest.raises(InvalidMessage, match=r"message 2: is a str"):
        Message.parse("hello", 2)


def test_a_message_from_the_future_is_refused_beyond_what_clocks_differ() -> None:
    now = datetime(2026, 11, 20, 18, tzinfo=UTC)
    check_time(user("hi"), 3, now)
    check_time(Message("user", "hi", created_at=now + MOST_AHEAD), 3, now)
    with pytest.raises(
        InvalidMessage, match="message 3, field 'created_at': lies in the future, it is now 2026-11-20T18"
    ):
        check_time(Message("user", "hi", created_at=now + MOST_AHEAD + timedelta(seconds=1)), 3, now)


def digest_of(message: Message) -> str:
    return json_and_digest(message.to_dict())[1]


def test_equal_messages_have_equal_digests_and_pins_count() -> None:
    assert digest_of(user("hi")) == digest_of(Message.parse({"content": "hi", "role": "user"}))
    assert digest_of(user("hi")) != digest_of(Message("user", "hi", pinned=True))


@pytest.mark.parametrize(
    "message",
    [
        Message("user", 'Grüße, "\u2028" 🙂', "Ann", pinned=True, created_at=datetime(2026, 11, 20, 18, tzinfo=UTC)),
        Message("user", ({"type": "text", "text": "é"}, {"type": "x", "b": 1.50, "a": 10**30})),
        calling("c2", "c1"),
        result("c1"),
    ],
)
def test_json_and_digest_are_those_of_the_whole_message(message: Message) -> None:
    stored = message.to_dict()
    assert json_and_digest(stored) == (
        json.dumps(stored),
        sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest(),
    )


def lengths(*conversation: Message) -> list[int]:
    """How many messages each group has."""
    found = group(conversation)
    assert [index for span in found for index in span] == list(range(len(conversation)))
    return [len(span) for span in found]


def test_an_assistant_message_and_all_its_results_are_one_group() -> None:
    steps = [calling("c1", "c2"), result("c2"), result("c1")]
    assert lengths(user("a"), *steps, user("b"), calling("c3"), result("c3"), user("c")) == [1, 3, 1, 2, 1]


def test_messages_between_a_call_and_its_result_belong_to_their_group() -> None:
    assert lengths(calling("c1"), user("wait"), result("c1"), user("b")) == [3, 1]


def test_a_call_waits_until_the_assistant_writes_again_after_somebody_else() -> None:
    assert lengths(calling("c1"), assistant("wait"), calling("c2"), result("c2"), result("c1"), user("b")) == [5, 1]
    assert lengths(calling("c1"), user("b"), assistant("well"), result("c1")) == [1, 1, 1, 1]
    assert lengths(calling("c1", "c2"), result("c1"), calling("c3"), result("c3"), result("c2")) == [2, 2, 1]


def test_a_result_answers_the_latest_call_of_its_id() -> None:
    assert lengths(calling("c1"), result("c1"), user("a"), calling("c1"), result("c1")) == [2, 1, 2]


def test_a_result_without_a_call_or_a_second_result_is_its_own_group() -> None:
    assert lengths(result("c9"), calling("c1"), result("c1"), user("b"), result("c1")) == [1, 2, 1, 1]


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("Anna_Müller-2", "Anna_Müller-2"),
        ("Anna Müller", "Anna_Müller"),
        ("安娜\u3000हिन्दी", "安娜_हिन्दी"),
        (r"a<b|c\d/e>f.g~h", "a_b_c_d_e_f_g_h"),
        ("a\nb\tc", "a_b_c"),
        ("x" * 65, "x" * 64),
    ],
)
def test_the_name_of_a_speaker_keeps_what_providers_accept(name: str, accepted: str) -> None:
    assert speaker_name(name) == accepted
