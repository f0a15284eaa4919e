"""LiteLLM, through which Purser calls models, talks to the provider as to any other."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from openai import AsyncOpenAI

from purser.activities.models.litellm_library import litellm_library
from purser.compose.demo.provider import Fault, FaultKind, FunctionCall, Outcome, Provider, Reply, Rule, ToolCall

# LiteLLM and its types emit warnings at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

Ask = Callable[..., Awaitable[Any]]

QUESTION = [{"role": "user", "content": "What is left? " * 100}]
LOOK = Reply(tool_calls=(ToolCall(id="call_1", function=FunctionCall(name="look_up", arguments='{"key": 1}')),))


@pytest.fixture(scope="module")
def litellm() -> Any:
    """LiteLLM as Purser configures it."""
    return litellm_library()


@pytest.fixture
def ask(litellm: Any, provider: Provider, client: AsyncOpenAI) -> Ask:
    """One call, with the options of Purser's activity. LiteLLM's own clients are not used."""

    async def ask(**options: Any) -> Any:
        return await litellm.acompletion(
            model="openai/whatever",
            api_base=provider.api_base,
            api_key="x",
            messages=QUESTION,
            client=client,
            max_retries=0,
            extra_headers={"X-Client-Request-Id": "3f0c-1"},
            **options,
        )

    return ask


async def stream(ask: Ask, **options: Any) -> list[Any]:
    return [chunk async for chunk in await ask(stream=True, stream_options={"include_usage": True}, **options)]


def charged(provider: Provider, number: int) -> int:
    return provider.served()[number].charged_tokens


async def test_a_whole_answer_and_its_usage_arrive(ask: Ask, provider: Provider) -> None:
    answer = await ask()
    assert answer.choices[0].message.content.startswith("You said 300 words")
    assert answer.usage.total_tokens == charged(provider, 0) > 300
    (served,) = provider.served()
    assert served.arrival.request_id == "3f0c-1"
    assert served.arrival.model == "whatever"


async def test_a_streamed_answer_and_its_usage_arrive(ask: Ask, provider: Provider) -> None:
    whole = await ask()
    chunks = await stream(ask)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    (usage,) = [chunk.usage for chunk in chunks if getattr(chunk, "usage", None)]
    assert usage.total_tokens == charged(provider, 1) == whole.usage.total_tokens
    assert usage.prompt_tokens_details.cached_tokens == usage.prompt_tokens // 128 * 128 > 0


async def test_tool_calls_arrive_in_both_ways(ask: Ask, provider: Provider, litellm: Any) -> None:
    provider.control.add_rule(Rule(reply=LOOK, chunks=100))
    for answer in (await ask(), litellm.stream_chunk_builder(await stream(ask))):
        assert answer.choices[0].finish_reason == "tool_calls"
        (call,) = answer.choices[0].message.tool_calls
        assert (call.id, call.function.name, call.function.arguments) == ("call_1", "look_up", '{"key": 1}')


async def test_a_cap_arrives_and_cuts(ask: Ask, provider: Provider) -> None:
    answer = await ask(max_tokens=5)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 5


async def test_a_rate_limit_carries_its_delay_and_is_not_retried(ask: Ask, provider: Provider, litellm: Any) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, retry_after_ms=1500))
    with pytest.raises(litellm.RateLimitError) as error:
        await ask()
    assert error.value.litellm_response_headers["retry-after-ms"] == "1500"
    assert len(provider.served()) == 1


@pytest.mark.parametrize(
    "fault",
    [Fault(kind=FaultKind.SERVER_ERROR), Fault(kind=FaultKind.UNAVAILABLE), Fault(kind=FaultKind.DROP)],
    ids=lambda fault: fault.kind.value,
)
async def test_what_fails_before_the_answer_is_a_retryable_error(
    ask: Ask, provider: Provider, litellm: Any, fault: Fault
) -> None:
    provider.control.add_fault(fault)
    with pytest.raises((litellm.InternalServerError, litellm.ServiceUnavailableError, litellm.APIConnectionError)):
        await stream(ask)
    assert len(provider.served()) == 1


async def test_a_drop_in_the_middle_is_an_error_and_not_a_short_answer(
    ask: Ask, provider: Provider, litellm: Any
) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=1))
    with pytest.raises(litellm.ServiceUnavailableError):
        await stream(ask)
    assert [one.end and one.end.outcome for one in provider.served()] == [Outcome.DROPPED]


async def test_a_cancelled_call_closes_the_connection(ask: Ask, provider: Provider) -> None:
    provider.control.hold(after_chunks=1)
    calling = asyncio.create_task(stream(ask))
    async with asyncio.timeout(60):
        await provider.control.wait_held()
    calling.cancel()
    async with asyncio.timeout(60):
        end = await provider.log.end_of(1)
    assert end.client_gone
    assert end.produced_tokens > 0
