"""What has a price of its own reaches no provider, in each protocol: no hold covers it, and no charge would."""

from typing import Any

import pytest

from purser.budget.errors import InvalidRequest
from purser.gateway.access.roles import Role
from purser.gateway.proxy.protocols.covered import check_covered
from purser.gateway.proxy.verdicts import Unsupported
from tests.gateway.proxy.conftest import HELLO, Proxy

FUNCTION = {"type": "function", "function": {"name": "f"}}
AUDIO = [
    {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
    {"type": "audio_url", "audio_url": {"url": "https://example.org/a"}},
    {"type": "image_url", "image_url": {"url": "data:audio/mp3;base64,AA=="}},
    {"type": "image_url", "image_url": "DATA:AUDIO/MP3;base64,AA=="},
    {"type": "file", "file": {"file_data": "data:audio/wav;base64,AA=="}},
    {"type": "file", "file": {"file_id": "gs://bucket/talk", "format": "audio/mpeg"}},
    {"type": "tool_result", "content": [{"type": "input_audio"}]},
]


def checked(messages: Any = HELLO, tools: Any = (), **options: Any) -> None:
    check_covered(messages, tools, options)


@pytest.mark.parametrize("tier", ["priority", "scale", "PRIORITY", "", ["default"], 1, True])
def test_a_tier_of_another_price_is_refused(tier: Any) -> None:
    with pytest.raises(Unsupported, match="service_tier"):
        checked(service_tier=tier)


@pytest.mark.parametrize("tier", [None, "auto", "default", "standard", "standard_only", "on_demand", "flex"])
def test_a_tier_that_costs_no_more_than_the_standard_price_passes(tier: str | None) -> None:
    checked(service_tier=tier)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"web_search_options": {}}, "web_search_options"),
        ({"audio": {"voice": "alloy"}}, "audio"),
        ({"prediction": {"type": "content", "content": "x"}}, "prediction"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"modalities": ["image"]}, "modalities"),
        ({"modalities": "audio"}, "modalities"),
        ({"functions": [{"name": "f", "parameters": {"type": "object"}}]}, "functions"),
        ({"function_call": "auto"}, "function_call"),
    ],
)
def test_a_parameter_with_a_price_of_its_own_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(Unsupported, match=named):
        checked(**options)


def test_the_same_parameters_pass_where_they_ask_for_text_and_functions_of_the_client() -> None:
    checked(tools=[FUNCTION], modalities=["text"], audio=None)
    checked(functions=None, web_search_options=None, modalities=None)


@pytest.mark.parametrize("kind", ["custom", "web_search", "web_search_20250305", "code_interpreter", "mcp", None])
def test_a_tool_that_runs_at_the_provider_is_refused(kind: str | None) -> None:
    with pytest.raises(Unsupported, match="tools type"):
        checked(tools=[FUNCTION, {"type": kind, "function": {"name": "f"}}])


def test_a_tool_of_gemini_is_no_function_by_its_type_alone() -> None:
    with pytest.raises(InvalidRequest, match=r"tools\.function"):
        checked(tools=[{"type": "function", "googleSearch": {}}])


@pytest.mark.parametrize("part", AUDIO)
def test_audio_in_a_message_is_refused(part: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="audio in messages"):
        checked([*HELLO, {"role": "user", "content": [{"type": "text", "text": "hear"}, part]}])


def test_an_earlier_reply_in_audio_is_refused() -> None:
    with pytest.raises(Unsupported, match="audio in messages"):
        checked([{"role": "assistant", "audio": {"id": "audio_1"}}])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "video_url", "video_url": {"url": "https://example.org/v"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "file", "file": {"file_data": "https://example.org/a.pdf"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "file_id": "f1"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.pdf?x=1"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a", "format": "video/mp4"}},
        {"type": "image_url", "image_url": {"url": "gs://bucket/a.png"}},
        {"type": "image_url", "image_url": "file-1"},
        {"type": "tool_result", "content": [{"type": "file", "file": {"file_id": "f1"}}]},
        {"text": "a"},
    ],
)
def test_a_part_whose_content_is_not_in_the_request_is_refused(part: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="a part of type"):
        checked([{"role": "user", "content": [{"type": "text", "text": "see"}, part]}])


def test_text_about_audio_images_and_files_with_their_data_pass() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}}
    there = {"type": "image_url", "image_url": {"url": "https://example.org/a.png?x", "detail": "low"}}
    checked([{"role": "user", "content": [{"type": "text", "text": "audio/mpeg"}, image, there, pdf, "plain"]}])


@pytest.mark.parametrize(
    ("path", "change", "named"),
    [
        ("openai/v1/chat/completions", {"service_tier": "priority"}, "service_tier"),
        ("openai/v1/chat/completions", {"audio": {"voice": "alloy"}, "modalities": ["text", "audio"]}, "audio"),
        ("openai/v1/chat/completions", {"web_search_options": {"search_context_size": "high"}}, "web_search_options"),
        ("openai/v1/chat/completions", {"tools": [{"type": "web_search_20250305", "name": "w"}]}, "tools type"),
        ("openai/v1/chat/completions", {"messages": [{"role": "user", "content": AUDIO[:1]}]}, "audio"),
        ("openai/v1/responses", {"service_tier": "priority"}, "service_tier"),
        ("anthropic/v1/messages", {"service_tier": "priority"}, "service_tier"),
        (
            "anthropic/v1/messages",
            {"tools": [{"type": "web_search_20250305", "name": "w", "input_schema": {}}]},
            "web_search_options",
        ),
    ],
)
async def test_each_protocol_refuses_it_with_400_and_sends_nothing(
    proxy: Proxy, path: str, change: dict[str, Any], named: str
) -> None:
    http = await proxy.gateway.client(Role.AGENT)
    http.headers.update({"Purser-Session": "s1", "Purser-Api-Base": proxy.provider.api_base})
    body = {"model": "gpt-4o", "messages": HELLO, "max_tokens": 50}
    if path.endswith("responses"):
        body = {"model": "gpt-4o", "input": "hello"}
    refused = await http.post(f"/{path}", json=body | change)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "unsupported_parameter")
    assert f"{named}" in error["message"]
    assert proxy.provider.served() == ()
