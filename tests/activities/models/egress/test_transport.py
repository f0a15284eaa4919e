"""Requests to providers: each goes to its own address, once, with nothing but its own key."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.egress.routes import Route
from purser.activities.models.egress.transport import Bounds, OnSend, ProviderTransport, RequestStopped, SendPermit
from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.compose.demo.provider import serve_provider
from purser.compose.stack.ports import free_port
from tests.support.servers.raw_server import raw_server, replies

ALLOWED = ("openai",)
MESSAGES = [{"role": "user", "content": "Hello there"}]


def request(api_base: str | None, model: str = "gpt-4o") -> ModelRequest:
    return ModelRequest(model, MESSAGES, (), 50, "7-1", api_base)


async def failure_of(provider: ModelProvider, asked: ModelRequest, on_send: OnSend | None = None) -> ProviderError:
    partial = PartialReply()
    with pytest.raises(ProviderError) as failure:
        await provider.complete(asked, partial, on_send)
    return failure.value


async def never() -> SendPermit:
    raise AssertionError("the request was ready to be sent")


async def test_a_redirect_is_not_followed_and_not_tried_again() -> None:
    async with raw_server(replies(b"")) as elsewhere:
        moved = replies(
            b"", status="307 Temporary Redirect", more=f"location: {elsewhere.api_base}/chat/completions\r\n"
        )
        async with raw_server(moved) as server:
            failure = await failure_of(ModelProvider({}), request(server.api_base))
    assert isinstance(failure, ProviderRejected)
    assert (failure.reason, failure.cost, failure.status) == ("redirected", Cost.NOTHING, 307)
    assert (len(server.requests), elsewhere.requests) == (1, [])


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(replies(b"")) as proxy, serve_provider() as provider:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        await ModelProvider({}).complete(request(provider.api_base), PartialReply())
    assert (len(provider.served()), proxy.requests) == (1, [])


async def test_all_requests_go_through_a_configured_proxy() -> None:
    async with raw_server(replies(b"", status="502 Bad Gateway")) as proxy:
        via = ModelProvider({}, proxy=f"http://127.0.0.1:{proxy.port}")
        await failure_of(via, request("http://llm.example.com/v1"))
    assert b"llm.example.com" in proxy.requests[0]


@pytest.mark.parametrize(
    ("scheme", "status"),
    [
        ("http", "407 Proxy Authentication Required"),
        ("https", "407 Proxy Authentication Required"),
        ("https", "502 Bad Gateway"),
    ],
)
async def test_a_proxy_that_lets_nothing_through_is_named_and_costs_nothing(scheme: str, status: str) -> None:
    async with raw_server(replies(b"", status=status)) as proxy:
        via = ModelProvider({}, proxy=f"http://127.0.0.1:{proxy.port}")
        failure = await failure_of(via, request(f"{scheme}://llm.example.com/v1"))
    assert (type(failure), failure.reason, failure.cost) == (ProviderUnavailable, "proxy_refused", Cost.NOTHING)


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_BASE", "XAI_API_BASE"])
async def test_an_address_of_the_environment_is_refused_before_a_key_goes_there(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = variable.partition("_")[0].lower()
    async with raw_server(replies(b"")) as elsewhere:
        monkeypatch.setenv(variable, elsewhere.api_base)
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "key")
        failure = await failure_of(ModelProvider({}), request(None, f"{name}/m"), never)
    assert (failure.reason, failure.cost, elsewhere.requests) == ("address_not_allowed", Cost.NOTHING, [])


@pytest.mark.parametrize(
    ("model", "keys", "reason"),
    [
        ("anthropic/claude-sonnet-4-5", {"api.anthropic.com": "k"}, "provider_not_allowed"),
        ("oobabooga/m", {}, "provider_not_allowed"),
        ("nobody-knows-this", {}, "provider_not_allowed"),
        ("openai/gpt-4o", {}, "authentication"),
        ("openai/http://127.0.0.1:9/internal", {"api.openai.com": "k"}, "bad_model_name"),
        ("openai/gpt-4o?key=1", {"api.openai.com": "k"}, "bad_model_name"),
    ],
)
async def test_without_an_allowed_provider_its_key_and_a_plain_name_nothing_is_asked(
    model: str, keys: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    failure = await failure_of(ModelProvider(keys, allowed=ALLOWED), request(None, model), never)
    assert (type(failure), failure.reason, failure.cost) == (ProviderRejected, reason, Cost.NOTHING)


@pytest.mark.parametrize(
    "content", ["half a pair \ud83d", {"no": object()}], ids=["half a surrogate pair", "an object"]
)
async def test_what_cannot_be_built_is_our_own_error_and_never_leaves(content: object) -> None:
    async with raw_server(replies(b"")) as server:
        asked = ModelRequest("gpt-4o", [{"role": "user", "content": content}], (), 50, "7-1", server.api_base)
        failure = await failure_of(ModelProvider({}), asked, never)
    assert (type(failure), failure.reason, failure.cost) == (ProviderRejected, "request_not_built", Cost.NOTHING)
    assert server.requests == []


async def test_litellm_opens_no_connections_itself() -> None:
    library = litellm_library()
    async with raw_server(replies(b"")) as server:
        with pytest.raises(httpx.UnsupportedProtocol):
            await library.module_level_aclient.get(server.api_base)
        with pytest.raises(httpx.UnsupportedProtocol):
            library.module_level_client.get(server.api_base)
    assert server.requests == []


async def test_the_permit_is_obtained_when_the_request_is_ready_and_names_it() -> None:
    async with serve_provider() as provider:

        async def on_send() -> SendPermit:
            assert provider.served() == ()
            return SendPermit("7-3", 50)

        await ModelProvider({}).complete(request(provider.api_base), PartialReply(), on_send)
    assert [one.arrival.request_id for one in provider.served()] == ["7-3"]


async def test_the_permit_is_obtained_over_an_open_connection_before_anything_is_sent() -> None:
    connected, ended, got = asyncio.Event(), asyncio.Event(), bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        got.extend(await reader.read(1))
        writer.close()
        await writer.wait_closed()
        ended.set()

    async def on_send() -> SendPermit:
        async with asyncio.timeout(60):
            await connected.wait()
        assert not got
        raise LookupError("enough")

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(LookupError, match="enough"):
            await ModelProvider({}).complete(request(f"http://127.0.0.1:{port}/v1"), PartialReply(), on_send)
        await ended.wait()
    assert not got


async def test_without_a_connection_the_permit_is_obtained_too_so_that_the_attempt_is_recorded() -> None:
    asked = 0

    async def on_send() -> SendPermit:
        nonlocal asked
        asked += 1
        return SendPermit("7-1", 50)

    failure = await failure_of(ModelProvider({}), request(f"http://127.0.0.1:{free_port()}/v1"), on_send)
    assert (failure.reason, failure.cost, asked) == ("unreachable", Cost.NOTHING, 1)


async def test_a_smaller_cap_makes_the_request_anew() -> None:
    async def on_send() -> SendPermit:
        return SendPermit("7-1", 20)

    async with raw_server(replies(b"")) as server:
        await failure_of(ModelProvider({}), request(server.api_base), on_send)
    [sent] = server.requests
    assert b'"max_tokens":20' in sent


async def test_a_refused_permit_raises_and_nothing_is_sent() -> None:
    async def on_send() -> SendPermit:
        raise LookupError("the hold has ended")

    partial = PartialReply()
    async with serve_provider() as provider:
        with pytest.raises(LookupError, match="the hold has ended"):
            await ModelProvider({}).complete(request(provider.api_base), partial, on_send)
    assert (provider.served(), partial.sent) == ((), False)


@pytest.mark.parametrize("is_permitted", [True, False])
async def test_an_attempt_sends_no_second_request_even_if_a_library_tries_again(is_permitted: bool) -> None:
    asked = 0

    async def on_send() -> SendPermit:
        nonlocal asked
        asked += 1
        return SendPermit("7-1", 50 if is_permitted else 20)

    async with (
        raw_server(replies(b"", status="500 Internal Server Error")) as server,
        httpx.AsyncHTTPTransport() as connections,
    ):
        transport = ProviderTransport(
            connections,
            Route("openai", "m", server.api_base, "k", own=True, sdk=True),
            Bounds(),
            on_send,
            cap=50,
            most_bytes=10_000,
            streams=False,
            timeout={},
            on_usage_refused=lambda reason: None,
        )
        client = httpx.AsyncClient(transport=transport)
        url = f"{server.api_base}/embeddings"
        if is_permitted:
            assert (await client.post(url)).status_code == 500
        for _ in range(2):
            with pytest.raises(RequestStopped):
                await client.post(url)
    assert (len(server.requests), asked) == (int(is_permitted), 1)


@pytest.mark.parametrize(
    ("url", "own", "home"),
    [
        ("https://llm.example.com/v1/chat/completions", True, True),
        ("https://llm.example.com:443/v1/embeddings", True, True),
        ("https://llm.example.com/v2/chat/completions", False, True),
        ("https://llm.example.com/v1x/chat", False, True),
        ("http://llm.example.com/v1/chat/completions", False, False),
        ("https://llm.example.com:8443/v1/chat/completions", False, False),
        ("https://llm.example.com.evil.com/v1/chat/completions", False, False),
        ("https://llm.example.com@evil.com/v1/chat/completions", False, False),
    ],
)
def test_a_route_covers_its_own_host_and_below_an_own_address_its_path(url: str, own: bool, home: bool) -> None:
    base = Route("openai", "m", "https://llm.example.com/v1", "k", own=True, sdk=True)
    assert base.covers(httpx.URL(url)) is own
    assert replace(base, own=False).covers(httpx.URL(url)) is home


def test_only_the_provider_client_sends_requests_to_models() -> None:
    """Every other place needs a hold before it reaches a provider: a call of its own would be unguarded."""
    requests = re.compile(r"\.a?(completion|embedding|text_completion|responses|image_generation|transcription)\(")
    shipped = ("budget", "context", "activities", "workflows", "gateway", "compose", "benchmarks")
    found = {
        path.as_posix()
        for package in shipped
        for path in Path(package).rglob("*.py")
        if requests.search(path.read_text("utf-8"))
    }
    # The included provider answers requests and sends none. A benchmark measures LiteLLM's own budgets on it.
    others = {"compose/demo/provider/delivery.py", "benchmarks/limiters/litellm_budget_manager.py"}
    assert found - others == {"activities/models/provider.py"}
