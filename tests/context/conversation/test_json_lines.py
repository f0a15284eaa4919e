"""JSON Lines of conversations: a round trip, and errors that name the bad line."""

import json

import pytest

from purser.context.conversation.json_lines import read_lines, write_line
from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage
from tests.support.context.conversations import calling, result, talk, user


def test_what_is_written_is_read_again() -> None:
    odd = user("half a pair \ud83d, \u2028, \x85, 😀, 你好", pinned=True)
    messages = [*talk(4), calling("c1"), result("c1"), odd]
    text = "".join(map(write_line, messages))
    assert text.isascii()
    assert len(text.split("\n")) == len(messages) + 1
    assert [Message.parse(value) for value in read_lines(text)] == messages


def test_blank_lines_and_other_separators_are_no_lines() -> None:
    assert read_lines('\n{"a": "x\u2028y"}\r\n  \n[1]') == [{"a": "x\u2028y"}, [1]]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{}\n{"a":', "line 2 stops being JSON"),
        ("\n\nsecret", "line 3 stops being JSON at character 0"),
        ("[" * 100_000, "line 1"),
        ("9" * 5_000, "line 1 is not readable JSON"),
        ('{}\n{"content": "secret", "content": "b"}', "line 2: 'content' occurs twice in one object: state it once"),
    ],
)
def test_a_bad_line_is_named_and_not_repeated(text: str, named: str) -> None:
    with pytest.raises(InvalidMessage, match=named) as caught:
        read_lines(text)
    assert "secret" not in str(caught.value)


def test_a_line_is_an_openai_message() -> None:
    assert json.loads(write_line(user("hi"))) == {"role": "user", "content": "hi"}
