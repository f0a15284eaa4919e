"""Images in a request cost what the model charges for them, in whatever form they are passed."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from purser_client.counting import cautious, input_tokens
from purser_client.errors import InvalidRequest

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0"
"""The beginning of an image of 640 by 480 pixels."""
JPEG = b"\xff\xd8\xff\xe0\0\x10" + bytes(14) + b"\xff\xc0\0\x11\x08\x01\xe0\x02\x80"
ADDRESS = "https://example.org/a.png"
SIZED, UNSIZED, LOW = 85 + 170 * 2, 85 + 170 * 8, 85
"""What GPT-4o charges for this image, for one of unknown size, and with low detail."""
AROUND = 60
"""The most tokens of what is around an image."""


class Block(BaseModel):
    """A part of a library that writes bytes as Google's does."""

    model_config = {"ser_json_bytes": "base64"}
    inline_data: dict[str, Any]


def _url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{_base64(data)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


FORMS: dict[str, Callable[[bytes], Any]] = {
    "OpenAI": lambda data: {"type": "image_url", "image_url": {"url": _url(data), "detail": "high"}},
    "OpenAI, text": lambda data: {"type": "image_url", "image_url": _url(data)},
    "Responses": lambda data: {"type": "input_image", "image_url": _url(data), "detail": "auto"},
    "screenshot": lambda data: {"type": "computer_screenshot", "image_url": _url(data)},
    "made by a tool": lambda data: {"type": "image_generation_call", "id": "1", "result": _base64(data)},
    "Anthropic": lambda data: {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": _base64(data)},
    },
    "result of a tool": lambda data: {"type": "tool_result", "content": [FORMS["Anthropic"](data)]},
    "Gemini": lambda data: {"inline_data": {"mime_type": "image/png", "data": _base64(data)}},
    "Gemini, bytes": lambda data: {"inline_data": {"mime_type": "image/png", "data": data}},
    "Gemini, HTTP": lambda data: {"inlineData": {"mimeType": "image/png", "data": _base64(data)}},
    "Gemini, object": lambda data: Block(inline_data={"mime_type": "image/png", "data": data}),
    "Bedrock": lambda data: {"image": {"format": "png", "source": {"bytes": data}}},
    "LangChain": lambda data: {"type": "image", "base64": _base64(data), "mime_type": "image/png"},
    "MCP": lambda data: {"type": "image", "data": _base64(data), "mimeType": "image/png"},
}


def _tokens(part: Any, model: str | None = "gpt-4o") -> int:
    said = [{"type": "text", "text": "What is this?"}]
    without = input_tokens([{"role": "user", "content": said}], [], cautious, model)
    return input_tokens([{"role": "user", "content": [*said, part]}], [], cautious, model) - without


@pytest.mark.parametrize("start", [PNG, JPEG], ids=["PNG", "JPEG"])
@pytest.mark.parametrize("form", FORMS)
def test_an_image_costs_its_size_and_nothing_for_its_data(form: str, start: bytes) -> None:
    tokens = _tokens(FORMS[form](start + bytes(range(256)) * 1_200))
    assert tokens == _tokens(FORMS[form](start + b"\xfb"))
    assert SIZED <= tokens <= SIZED + AROUND


@pytest.mark.parametrize(
    ("part", "cost"),
    [
        ({"type": "image_url", "image_url": {"url": ADDRESS}}, UNSIZED),
        ({"type": "image_url", "image_url": {"url": ADDRESS, "detail": "low"}}, LOW),
        ({"type": "input_image", "image_url": ADDRESS}, UNSIZED),
        ({"type": "input_image", "file_id": "file-1"}, UNSIZED),
        ({"type": "computer_screenshot", "file_id": "file-1"}, UNSIZED),
        ({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a"}}}}, UNSIZED),
        ({"type": "image", "source": {"type": "url", "url": ADDRESS}}, UNSIZED),
        ({"type": "image", "url": ADDRESS}, UNSIZED),
        ({"file_data": {"file_uri": "gs://bucket/a", "mime_type": "image/png"}}, UNSIZED),
        ({"fileData": {"fileUri": "gs://bucket/a", "mimeType": "image/png"}}, UNSIZED),
    ],
)
def test_an_image_behind_an_address_costs_the_most_that_the_model_charges(part: Any, cost: int) -> None:
    assert cost <= _tokens(part) <= cost + AROUND


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": _url(PNG * 1_000, "application/pdf")}},
        {"inline_data": {"mime_type": "audio/wav", "data": PNG * 1_000}},
        {"type": "media", "mime_type": "application/pdf", "data": _base64(PNG * 1_000)},
        {"type": "input_audio", "input_audio": {"data": _base64(PNG * 1_000), "format": "wav"}},
        {"function_response": {"name": "f", "response": FORMS["MCP"](PNG * 1_000)}},
        {"function_call": {"name": "f", "args": FORMS["MCP"](PNG * 1_000)}},
        {"type": "tool_use", "name": "f", "input": FORMS["MCP"](PNG * 1_000)},
        {"toolUse": {"name": "f", "input": FORMS["MCP"](PNG * 1_000)}},
        {"toolResult": {"content": [{"json": FORMS["MCP"](PNG * 1_000)}]}},
        {"type": "image_url", "image_url": {"url": f"{ADDRESS}?{'a' * 40_000}"}},
        _base64(PNG * 1_000),
    ],
    ids=[
        "document",
        "audio",
        "document of LangChain",
        "audio of OpenAI",
        "response",
        "arguments of Gemini",
        "arguments of Anthropic",
        "arguments of Bedrock",
        "result of Bedrock",
        "address",
        "text",
    ],
)
def test_what_is_read_as_text_or_is_no_image_counts_as_its_data(part: Any) -> None:
    assert 16_000 < _tokens(part) < 22_000


@pytest.mark.parametrize(
    ("model", "cost"), [("gpt-4o-mini", 14_167), ("claude-sonnet-4-5", 414), ("gemini-2.5-pro", 1_120), (None, 414)]
)
def test_the_rule_is_that_of_the_model(model: str | None, cost: int) -> None:
    assert cost <= _tokens(FORMS["OpenAI"](PNG), model) <= cost + AROUND


def test_what_contains_itself_is_counted_as_its_text() -> None:
    message: dict[str, Any] = {"role": "user", "content": []}
    message["content"].append(message)
    assert 10 < input_tokens([message], [], cautious, None) < 100


def test_what_is_nested_without_end_is_no_request() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    for messages, tools in ([{"role": "user", "content": nested}], []), ([], [nested]):
        with pytest.raises(InvalidRequest, match="nested too deeply"):
            input_tokens(messages, tools, len)
