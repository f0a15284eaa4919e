"""Requests that no provider receives: what OpenAI's own client gets."""

from typing import Any

import openai
import pytest

from purser.gateway.access.roles import Role
from tests.gateway.proxy.conftest import HELLO, Proxy


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"model": "https://evil.example/x"}, "model"),
        ({"n": 2}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"api_base": "https://evil.example"}, "api_base"),
        ({"api_key": "sk-theirs"}, "api_key"),
        ({"temperatur": 1}, "temperatur"),
        ({"tools": [1]}, "tools"),
        ({"tool_choice": 5}, "tool_choice is not valid"),
    ],
)
async def test_a_bad_request_names_what_is_wrong_and_reaches_no_provider(
    proxy: Proxy, change: dict[str, Any], named: str
) -> None:
    client = await proxy.openai(purser_session="s1")
    body = {"model": "gpt-4o", "messages": HELLO} | change
    with pytest.raises(openai.APIStatusError) as refused:
        await client.post("/chat/completions", body=body, cast_to=object)
    assert refused.value.status_code == 422
    assert named in refused.value.message
    assert proxy.provider.served() == ()


@pytest.mark.parametrize(
    "content", [b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "\\ud800"}]}', b"{", b"7"]
)
async def test_a_body_that_cannot_be_read_is_an_error_in_the_words_of_openai(proxy: Proxy, content: bytes) -> None:
    http = await proxy.gateway.client(Role.AGENT)
    answer = await http.post(
        "/openai/v1/chat/completions", content=content, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert proxy.provider.served() == ()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/openai/v1/chat/completions", {"type": "authentication_error", "code": "unauthenticated", "param": None}),
        ("/anthropic/v1/messages", {"type": "authentication_error", "code": "unauthenticated"}),
    ],
)
async def test_an_unknown_key_gets_an_error_in_the_words_of_the_protocol(
    proxy: Proxy, path: str, error: dict[str, str | None]
) -> None:
    stranger = await proxy.gateway.client(Role.AGENT)
    answer = await stranger.post(path, json={}, headers={"Authorization": "Bearer purser_unknown"})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    found = answer.json()["error"]
    assert "key" in found.pop("message")
    assert found == error


OPENAI = {"type": "invalid_request_error", "param": None}


@pytest.mark.parametrize(
    ("method", "path", "status", "error", "named"),
    [
        ("POST", "/openai/v1/completions", 404, OPENAI | {"code": "not_found"}, "POST /openai/v1/chat/completions"),
        ("GET", "/openai/v1/responses", 405, OPENAI | {"code": "method_not_allowed"}, "POST /openai/v1/responses"),
        (
            "POST",
            "/anthropic/v1/complete",
            404,
            {"type": "not_found_error", "code": "not_found"},
            "POST /anthropic/v1/messages, POST /anthropic/v1/messages/count_tokens",
        ),
        (
            "GET",
            "/anthropic/v1/messages",
            405,
            {"type": "invalid_request_error", "code": "method_not_allowed"},
            "GET /anthropic/v1/models/{name}",
        ),
    ],
)
async def test_a_route_that_does_not_exist_gets_an_error_in_the_words_of_the_protocol_that_names_those_that_do(
    proxy: Proxy, method: str, path: str, status: int, error: dict[str, str | None], named: str
) -> None:
    http = await proxy.gateway.client(Role.AGENT)
    answer = await http.request(method, path)
    assert (answer.status_code, answer.headers.get("allow")) == (status, "POST" if status == 405 else None)
    found = answer.json()["error"]
    assert named in found.pop("message")
    assert found == error


async def test_a_parameter_that_the_model_does_not_take_is_an_error_of_the_request(proxy: Proxy) -> None:
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.BadRequestError, match="check its parameters, and that this model takes all of them"):
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, reasoning_effort="low")
    assert proxy.provider.served() == ()


async def test_a_key_that_may_not_spend_gets_an_error_in_the_words_of_openai(proxy: Proxy) -> None:
    client = await proxy.openai(Role.VIEWER)
    with pytest.raises(openai.PermissionDeniedError, match="may not spend"):
        await client.chat.completions.create(model="gpt-4o", messages=HELLO)


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"purser_path": "planet:x"}, "planet"),
        ({"purser_path": "session:s1", "purser_session": "s2"}, "Purser-Session"),
        ({"purser_session": ".."}, "'..' is not valid"),
        ({"purser_path": "tenant:other, session:s1"}, "tenant:other"),
        ({"prefer": "wait=soon"}, "Prefer"),
        ({"purser_tag": "team"}, "Purser-Tag"),
        ({"purser_min_output": "-1"}, "Purser-Min-Output"),
        ({"purser_api_base": "https://evil.example/v1"}, "Purser-Api-Base"),
    ],
)
async def test_a_bad_header_is_named_and_nothing_is_sent(proxy: Proxy, headers: dict[str, str], named: str) -> None:
    client = await proxy.openai(**headers)
    with pytest.raises(openai.APIStatusError) as refused:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert refused.value.status_code in (403, 422)
    assert named in refused.value.message
    assert proxy.provider.served() == ()


async def test_a_provider_that_is_not_allowed_is_a_model_that_is_not_found(proxy: Proxy) -> None:
    client = await proxy.openai(purser_session="s1", purser_api_base="")
    with pytest.raises(openai.NotFoundError, match="PURSER_ALLOWED_PROVIDERS") as refused:
        await client.chat.completions.create(model="oobabooga/m", messages=HELLO)
    assert refused.value.code == "provider_not_allowed"


async def test_a_provider_without_a_key_says_what_to_do(proxy: Proxy) -> None:
    client = await proxy.openai(purser_session="s1", purser_api_base="")
    with pytest.raises(openai.APIStatusError) as refused:
        await client.chat.completions.create(model="groq/llama-3.1-8b-instant", messages=HELLO)
    assert "PURSER_ALLOWED_PROVIDERS" in refused.value.message or "key" in refused.value.message
    assert refused.value.response.headers["x-should-retry"] == "false"
