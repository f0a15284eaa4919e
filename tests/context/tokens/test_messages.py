"""Countable parts of OpenAI chat messages and Anthropic content blocks."""

import base64
from typing import Any

import pytest

from purser.context.errors import InvalidMessage
from purser.context.tokens import count_message
from purser.context.tokens.messages import Part, further_fields, parts_of
from purser.wire.images import Image

PDF = "data:application/pdf;base64,AAAA"
ADDRESS = "https://example.org/a.png"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0"
"""The beginning of an image of 640 by 480 pixels."""
UNKNOWN, LOW = Image(None, low_detail=False), Image(None, low_detail=True)


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ({"role": "user", "content": "hello"}, ("hello",)),
        ({"role": "user", "content": ["a", {"type": "text", "text": "b"}]}, ("a", "b")),
        ({"role": "user", "content": [{"type": "input_text", "text": "b"}]}, ("b",)),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": ADDRESS, "detail": "low"}}]}, (LOW,)),
        ({"role": "user", "content": [{"type": "image_url", "image_url": ADDRESS}]}, (UNKNOWN,)),
        ({"role": "user", "content": [{"type": "input_image", "image_url": ADDRESS, "detail": "low"}]}, (LOW,)),
        ({"role": "user", "content": [{"type": "input_image", "file_id": "f1"}]}, (UNKNOWN,)),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": ADDRESS}}]}, (UNKNOWN,)),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}]}, (UNKNOWN,)),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}]}, ("hm",)),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
            ('f{"a":1}',),
        ),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "done"}]}, ("done",)),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "done"}]}]},
            ("done",),
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "f1"}}]},
            ('{"file":{"file_id":"f1"},"type":"file"}',),
        ),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            ('f{"a": 1}',),
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"name": "g"}}],
            },
            ('f{"a":1}', "g"),
        ),
        ({"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}, ("", "f{}")),
        ({"role": "tool", "tool_call_id": "1", "name": "f", "content": "result"}, ("result",)),
        ({"role": "user"}, ()),
        ({"role": "assistant", "content": "7", "reasoning_content": "3 + 4"}, ("7", "3 + 4")),
        ({"role": "assistant", "content": "7", "reasoning": "3 + 4", "reasoning_content": None}, ("7", "3 + 4")),
        (
            {
                "role": "assistant",
                "content": "7",
                "reasoning_content": "3 + 4",
                "thinking_blocks": [{"type": "thinking", "thinking": "3 + 4", "signature": "x"}],
            },
            ("7", "3 + 4"),
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}],
            },
            ("s",),
        ),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "whole"}]},
                    {"type": "reasoning", "text": "plain"},
                ],
            },
            ("whole", "plain"),
        ),
    ],
)
def test_texts_images_reasoning_and_tool_calls_are_counted(message: dict[str, Any], parts: tuple[Part, ...]) -> None:
    assert parts_of(message) == parts


@pytest.mark.parametrize(
    ("part", "parts"),
    [
        ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, ("a",)),
        ({"type": "text", "text": "a", "citations": [{"title": "t"}]}, ("a", '{"citations":[{"title":"t"}]}')),
        ({"type": "thinking", "thinking": "h", "signature": "s" * 65}, ("h", f'{{"signature":"{"s" * 65}"}}')),
        ({"type": "refusal", "refusal": "no", "why": "w"}, ("no", '{"why":"w"}')),
        ({"type": "image_url", "image_url": {"url": ADDRESS, "alt": "a"}, "x": 1}, (UNKNOWN, '{"alt":"a"}', '{"x":1}')),
        (
            {"type": "image_url", "image_url": {"url": f"{ADDRESS}?{'a' * 2_048}"}},
            (UNKNOWN, f"{ADDRESS}?{'a' * 2_048}"),
        ),
        (
            {"type": "image_url", "image_url": {"url": PDF}},
            (f'{{"image_url":{{"url":"{PDF}"}},"type":"image_url"}}',),
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "format": "application/pdf"}},
            ('{"image_url":{"format":"application/pdf","url":"data:image/png;base64,AAAA"},"type":"image_url"}',),
        ),
        ({"type": "image", "source": {"type": "base64", "data": "AAAA", "x": 1}}, (UNKNOWN, '{"x":1}')),
        ({"type": "tool_use", "id": "1", "name": "f", "input": {}, "caller": "c"}, ("f{}", '{"caller":"c"}')),
        ({"type": "tool_result", "tool_use_id": "1" * 65, "content": "r"}, ("r", f'{{"tool_use_id":"{"1" * 65}"}}')),
    ],
)
def test_what_no_rule_knows_of_a_part_counts_as_its_json(part: dict[str, Any], parts: tuple[Part, ...]) -> None:
    assert parts_of({"role": "user", "content": [part]}) == parts


def test_what_no_rule_knows_of_a_call_counts_as_its_json() -> None:
    call = {
        "id": "1",
        "type": "function",
        "x": "y",
        "function": {"name": "f", "arguments": "{}", "signature": "s" * 65},
    }
    assert parts_of({"tool_calls": [call]}) == ("f{}", f'{{"signature":"{"s" * 65}"}}', '{"x":"y"}')


def test_reasoning_counts_once_for_all_fields_that_repeat_it_and_in_full_where_they_differ() -> None:
    blocks = [{"type": "thinking", "thinking": "a"}] * 2
    repeated = {"thinking_blocks": blocks, "reasoning_content": "a", "reasoning": "b", "refusal": "no"}
    assert parts_of(repeated) == ("a", "a", "b", "no")


@pytest.mark.parametrize(
    ("message", "further"),
    [
        ({"role": "tool", "tool_call_id": "1", "content": "a", "annotations": [], "audio": None, "refusal": "n"}, []),
        ({"role": "user", "content": "a", "name": "bo", "x": None}, ['{"name":"bo","x":null}']),
        ({"role": "r" * 65, "content": "a"}, [f'{{"role":"{"r" * 65}"}}']),
    ],
)
def test_names_and_fields_that_no_message_has_count_apart_from_it(message: dict[str, Any], further: list[str]) -> None:
    assert list(further_fields(message)) == further


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"content": 5}, "'content' is a int"),
        ({"content": {"text": "a"}}, "'content' is a dict"),
        ({"content": [5]}, "part of 'content' is a int"),
        ({"content": [{"type": "custom", "data": {1, 2}}]}, "not JSON"),
        ({"reasoning_content": 5}, "'reasoning' is a int"),
        ({"tool_calls": "secret"}, "'tool_calls' is a str"),
        ({"tool_calls": [{"id": "secret"}]}, "lacks its function"),
        ({"tool_calls": ["secret"]}, "lacks its function"),
        ("secret", "message is a str"),
    ],
)
def test_what_is_no_chat_message_is_an_error_without_its_text(message: Any, says: str) -> None:
    with pytest.raises(InvalidMessage, match=says) as error:
        count_message(message, "gpt-4o")
    assert "secret" not in str(error.value)


def test_the_bytes_of_an_image_are_never_counted_as_text() -> None:
    url = "data:image/png;base64," + base64.b64encode(PNG + bytes(300_000)).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    assert count_message({"role": "user", "content": [part]}, "gpt-4o").tokens == 4 + 85 + 170 * 2


def test_models_charge_for_the_same_image_by_their_own_rules() -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
    models = ("gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "gemini/gemini-2.5-pro")
    assert [count_message(message, model).tokens - 4 for model in models] == [1445, 48_169, 1600, 1120]
