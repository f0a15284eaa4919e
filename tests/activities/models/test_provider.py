"""Requests to providers: what is sent where, and how failures are classified."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest, Timeouts
from purser.compose.demo.provider import Fault, FaultKind, Provider, Reply, Rule, Usage, serve_provider
from purser.compose.demo.provider import FunctionCall as Function
from purser.compose.demo.provider import ToolCall as Call
from purser.compose.stack.ports import free_port

SECRET = "sk-secret"


def request(api_base: str, model: str = "openai/gpt-4o") -> ModelRequest:
    tools = [{"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object"}}}]
    return ModelRequest(model, [{"role": "user", "content": "Hello there"}], tools, 50, "7-1", api_base)


async def complete(provider: ModelProvider, asked: ModelRequest) -> PartialReply:
    partial = PartialReply()
    await provider.complete(asked, partial)
    return partial


@pytest.fixture
async def locked() -> AsyncIterator[Provider]:
    """A provider that requires the secret as key."""
    async with serve_provider(key=SECRET) as provider:
        yield provider


async def test_a_key_goes_to_the_host_that_it_is_configured_for(locked: Provider) -> None:
    parts = urlsplit(locked.address)
    for host in (parts.netloc, str(parts.hostname)):
        partial = await complete(ModelProvider({host: SECRET}), request(locked.api_base))
        assert partial.finish_reason == "stop"


async def test_a_key_goes_to_no_other_host_not_even_one_from_the_environment(
    locked: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(ProviderRejected, match="authentication"):
        await complete(ModelProvider({"api.openai.com": SECRET, "127.0.0.2": SECRET}), request(locked.api_base))


async def test_without_a_key_for_a_provider_that_wants_one_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    partial = PartialReply()
    with pytest.raises(ProviderRejected, match="authentication") as refused:
        await ModelProvider({}).complete(replace(request(""), api_base=None), partial)
    assert refused.value.cost is Cost.NOTHING
    assert not partial.sent


async def test_a_request_carries_its_id_and_its_cap(locked: Provider) -> None:
    locked.control.add_rule(Rule(reply=Reply(content="word " * 200)))
    partial = await complete(ModelProvider({"127.0.0.1": SECRET}), request(locked.api_base))
    [served] = locked.served()
    assert served.arrival.request_id == "7-1"
    assert partial.finish_reason == "length"
    assert partial.usage is not None
    assert partial.usage.output == 50


async def test_an_unknown_model_at_an_api_base_is_asked_in_openais_protocol(locked: Provider) -> None:
    partial = await complete(ModelProvider({"127.0.0.1": SECRET}), request(locked.api_base, "our-own-model"))
    assert partial.message().text
    assert locked.served()[0].arrival.model == "our-own-model"


async def test_tool_calls_arrive_whole(locked: Provider) -> None:
    asked = Call(id="c1", function=Function(name="add", arguments='{"one": "1234567890 1234567890 1234567890"}'))
    locked.control.add_rule(Rule(reply=Reply(content="Let me see.", tool_calls=(asked,)), chunks=4))
    message = (await complete(ModelProvider({"127.0.0.1": SECRET}), request(locked.api_base))).message()
    assert message.content == "Let me see."
    assert message.tool_calls == (asked.model_dump(),)


async def test_cached_tokens_are_counted_separately(locked: Provider) -> None:
    locked.control.add_rule(Rule(usage=Usage(prompt_tokens=100, completion_tokens=5, cached_tokens=90)))
    usage = (await complete(ModelProvider({"127.0.0.1": SECRET}), request(locked.api_base))).usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.output, usage.total) == (10, 90, 5, 105)


@pytest.mark.parametrize(
    ("fault", "reason", "cost", "retry_after_ms"),
    [
        (Fault(kind=FaultKind.RATE_LIMITED, retry_after_ms=2_500), "rate_limited", Cost.NOTHING, 2_500),
        (Fault(kind=FaultKind.SERVER_ERROR), "server_error", Cost.UNKNOWN, None),
        (Fault(kind=FaultKind.UNAVAILABLE), "server_error", Cost.UNKNOWN, None),
        (Fault(kind=FaultKind.DROP), "connection_broken", Cost.UNKNOWN, None),
        (Fault(kind=FaultKind.DROP, after_chunks=1), "connection_broken", Cost.UNKNOWN, None),
        (Fault(kind=FaultKind.HANG), "timeout", Cost.UNKNOWN, None),
        (Fault(kind=FaultKind.HANG, after_chunks=1), "timeout", Cost.UNKNOWN, None),
    ],
    ids=lambda value: str(getattr(value, "kind", value)),
)
async def test_a_failure_states_its_cost_and_its_delay(
    locked: Provider, fault: Fault, reason: str, cost: Cost, retry_after_ms: int | None
) -> None:
    locked.control.add_fault(fault)
    with pytest.raises(ProviderUnavailable) as failure:
        await complete(ModelProvider({"127.0.0.1": SECRET}, Timeouts(silence_s=0.5)), request(locked.api_base))
    found = failure.value
    assert (found.reason, found.cost, found.retry_after_ms) == (reason, cost, retry_after_ms)
    assert found.__context__ is None or isinstance(found.__context__, TimeoutError), "the cause quotes the prompt"


async def test_a_refused_connection_costs_nothing_at_all() -> None:
    with pytest.raises(ProviderUnavailable) as failure:
        await complete(ModelProvider({}), request(f"http://127.0.0.1:{free_port()}/v1"))
    assert (failure.value.reason, failure.value.cost) == ("unreachable", Cost.NOTHING)


async def test_a_request_that_takes_too_long_as_a_whole_ends(locked: Provider) -> None:
    locked.control.add_rule(Rule(reply=Reply(content="word " * 40), chunks=20, chunk_delay_ms=100))
    provider = ModelProvider({"127.0.0.1": SECRET}, Timeouts(total_s=0.5))
    with pytest.raises(ProviderUnavailable, match="timeout"):
        await complete(provider, request(locked.api_base))


def test_litellm_is_configured_not_to_use_the_network() -> None:
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
