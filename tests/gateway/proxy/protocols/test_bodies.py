"""Parameters of a wrong type are named, and reach neither the count nor a provider."""

import json
from typing import Any

import pytest

from purser.budget.errors import InvalidRequest
from purser.gateway.proxy.protocols.anthropic import read_messages
from purser.gateway.proxy.protocols.openai import read_chat
from purser.gateway.proxy.protocols.responses_input import read_responses
from purser.gateway.proxy.verdicts import Unsupported
from tests.gateway.proxy.conftest import HELLO

WRONG: list[tuple[str, Any, str]] = [
    ("temperature", "hot", "temperature"),
    ("temperature", True, "temperature"),
    ("top_p", [1], "top_p"),
    ("service_tier", 5, "service_tier"),
    ("tool_choice", 5, "tool_choice"),
    ("tool_choice", [], "tool_choice"),
]
CHAT: list[tuple[str, Any, str]] = [
    ("seed", 1.5, "seed"),
    ("stop", {}, "stop"),
    ("stop", [5], "stop.0"),
    ("logit_bias", 5, "logit_bias"),
    ("metadata", "x", "metadata"),
    ("parallel_tool_calls", "yes", "parallel_tool_calls"),
    ("reasoning_effort", {}, "reasoning_effort"),
    ("response_format", "json", "response_format"),
    ("thinking", 5, "thinking"),
    ("verbosity", 5, "verbosity"),
    ("user", 5, "user"),
]
RESPONSES: list[tuple[str, Any, str]] = [
    ("parallel_tool_calls", "yes", "parallel_tool_calls"),
    ("user", 5, "user"),
    ("input", [{"role": ["user"], "content": "Hi"}], "input.0.role"),
    ("input", [5], "input.0"),
]
MESSAGES: list[tuple[str, Any, str]] = [
    ("metadata", "x", "metadata"),
    ("stop_sequences", "x", "stop_sequences"),
    ("stop_sequences", [5], "stop_sequences.0"),
    ("thinking", "on", "thinking"),
    ("top_k", "x", "top_k"),
]


@pytest.mark.parametrize(("name", "value", "place"), WRONG + CHAT)
def test_a_chat_parameter_of_a_wrong_type_is_named(name: str, value: Any, place: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{place} is not valid: "):
        read_chat(json.dumps({"model": "gpt-4o", "messages": HELLO, name: value}).encode())


@pytest.mark.parametrize(("name", "value", "place"), WRONG + RESPONSES)
def test_a_parameter_of_responses_of_a_wrong_type_is_named(name: str, value: Any, place: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{place} is not valid: "):
        read_responses(json.dumps({"model": "gpt-4o", "input": "Hi", name: value}).encode()).asked()


@pytest.mark.parametrize(("name", "value", "place"), WRONG + MESSAGES)
def test_a_parameter_of_messages_of_a_wrong_type_is_named(name: str, value: Any, place: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{place} is not valid: "):
        read_messages(json.dumps({"model": "m", "messages": HELLO, "max_tokens": 9, name: value}).encode())


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (5, "input should be a valid string, or input should be a valid list"),
        ([], "input should be a valid string, or list should have at least 1 item"),
    ],
)
def test_all_types_are_named_that_a_parameter_may_have(value: Any, wanted: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^input is not valid: {wanted}"):
        read_responses(json.dumps({"model": "gpt-4o", "input": value}).encode())


def test_the_place_of_text_that_cannot_be_stored_is_named() -> None:
    said = [{"role": "user", "content": "Hi\0"}]
    with pytest.raises(InvalidRequest, match=r"^messages\.0\.content contains NUL"):
        read_chat(json.dumps({"model": "gpt-4o", "messages": said}).encode())


@pytest.mark.parametrize("part", [{"type": "text", "text": 5}, {"type": "text"}])
def test_a_part_of_text_without_text_is_named(part: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="a part of type 'text' without its content"):
        read_chat(json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": [part]}]}).encode())


def test_parameters_are_passed_on_and_those_without_a_value_are_not() -> None:
    given = {"temperature": 1, "stop": ["x"], "tool_choice": "auto", "logit_bias": {"50256": -100}, "seed": 7}
    body = {"model": "gpt-4o", "messages": HELLO, "user": None, "stream": False, **given}
    assert read_chat(json.dumps(body).encode()).asked().options == given
