"""Every fault of the provider, as real clients see it and as the log records it."""

import asyncio
import time

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from purser.compose.demo.provider import End, Fault, FaultKind, Match, Outcome, Provider, Reply, Rule, serve_provider

QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Is anyone there?"}]
TEN_CHUNKS = Rule(reply=Reply(content="1 2 3 4 5 6 7 8 9 0"), chunks=10)


async def ask(client: AsyncOpenAI, request_id: str = "hold-1") -> str:
    """A streamed answer; text received before an error is lost."""
    stream = await client.chat.completions.create(
        model="m",
        messages=QUESTION,
        stream=True,
        stream_options={"include_usage": True},
        extra_headers={"X-Client-Request-Id": request_id},
    )
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


def last_end(provider: Provider) -> End:
    end = provider.served()[-1].end
    assert end is not None
    return end


async def ended(provider: Provider) -> End:
    """The end of the last request, once the provider has recorded it."""
    async with asyncio.timeout(60):
        return await provider.log.end_of(len(provider.served()))


async def test_a_rate_limit_says_how_long_to_wait_in_seconds_and_milliseconds(
    client: AsyncOpenAI, provider: Provider
) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, retry_after_ms=1500))
    with pytest.raises(openai.RateLimitError) as error:
        await ask(client)
    assert error.value.response.headers["retry-after"] == "2"
    assert error.value.response.headers["retry-after-ms"] == "1500"
    assert last_end(provider) == End(Outcome.REFUSED, 429, fault="rate_limited")
    assert await ask(client)


@pytest.mark.parametrize(("kind", "status"), [(FaultKind.SERVER_ERROR, 500), (FaultKind.UNAVAILABLE, 503)])
async def test_a_server_error_charges_nothing(
    client: AsyncOpenAI, provider: Provider, kind: FaultKind, status: int
) -> None:
    provider.control.add_fault(Fault(kind=kind))
    with pytest.raises(openai.InternalServerError) as error:
        await ask(client)
    assert error.value.status_code == status
    assert last_end(provider) == End(Outcome.REFUSED, status, fault=kind.value)


@pytest.mark.parametrize(("after_chunks", "status", "produced"), [(None, None, 0), (0, 200, 0), (4, 200, 7)])
async def test_a_hang_lasts_until_the_client_leaves(
    client: AsyncOpenAI, provider: Provider, after_chunks: int | None, status: int | None, produced: int
) -> None:
    provider.control.add_rule(TEN_CHUNKS)
    provider.control.add_fault(Fault(kind=FaultKind.HANG, after_chunks=after_chunks))
    with pytest.raises((openai.APITimeoutError, httpx.ReadTimeout)):
        await ask(client.with_options(timeout=0.3))
    assert await ended(provider) == End(Outcome.CLIENT_GONE, status, None, produced, None, "hang")


@pytest.mark.parametrize(("after_chunks", "status", "produced"), [(None, None, 0), (4, 200, 7), (1000, 200, 19)])
async def test_a_drop_closes_the_connection_and_the_log_knows_what_was_produced(
    client: AsyncOpenAI, provider: Provider, after_chunks: int | None, status: int | None, produced: int
) -> None:
    provider.control.add_rule(TEN_CHUNKS)
    provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=after_chunks))
    with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
        await ask(client)
    assert last_end(provider) == End(Outcome.DROPPED, status, None, produced, None, "drop")


async def test_an_answer_in_one_piece_that_is_dropped_after_chunks_was_produced_and_not_sent(
    client: AsyncOpenAI, provider: Provider
) -> None:
    provider.control.add_rule(TEN_CHUNKS)
    provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=4))
    with pytest.raises(openai.APIConnectionError):
        await client.chat.completions.create(model="m", messages=QUESTION)
    assert last_end(provider) == End(Outcome.DROPPED, None, None, 7, None, "drop")


async def test_a_slow_answer_still_comes(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.SLOW, delay_ms=200))
    began = time.monotonic()
    assert await ask(client)
    assert time.monotonic() - began >= 0.2
    assert last_end(provider).outcome is Outcome.ANSWERED


async def test_a_client_that_leaves_in_the_middle_is_recorded_with_what_it_received(
    client: AsyncOpenAI, provider: Provider
) -> None:
    provider.control.add_rule(TEN_CHUNKS.model_copy(update={"chunk_delay_ms": 1_000}))
    stream = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    async for _ in stream:
        break
    await stream.close()
    end = await ended(provider)
    assert end.client_gone
    assert end.usage is None
    assert end.produced_tokens < 19


async def test_a_fault_affects_the_given_number_of_requests_and_faults_apply_in_order(
    client: AsyncOpenAI, provider: Provider
) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR, times=2))
    provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED))
    statuses = []
    for _ in range(4):
        try:
            await ask(client)
            statuses.append(200)
        except openai.APIStatusError as error:
            statuses.append(error.status_code)
    assert statuses == [500, 500, 429, 200]


async def test_a_fault_affects_only_requests_that_it_matches(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR, match=Match(request_id="bad", attempt=2), times=None))
    assert await ask(client, "good-2")
    assert await ask(client, "bad-1")
    for _ in range(3):
        with pytest.raises(openai.InternalServerError):
            await ask(client, "bad-2")


@pytest.mark.parametrize("after_chunks", [None, 5])
async def test_a_held_request_waits_until_it_is_continued(
    client: AsyncOpenAI, provider: Provider, after_chunks: int | None
) -> None:
    provider.control.add_rule(TEN_CHUNKS)
    provider.control.hold(Match(request_id="held"), after_chunks=after_chunks)
    asking = asyncio.create_task(ask(client, "held-1"))
    async with asyncio.timeout(60):
        (held,) = await provider.control.wait_held()
    assert held.info.attempt == 1
    assert await ask(client, "other-1")
    assert not asking.done()
    assert provider.served()[0].end is None
    assert provider.control.continue_held() == 1
    assert await asking == "1 2 3 4 5 6 7 8 9 0"
    assert provider.control.waiting() == ()


async def test_a_held_request_whose_client_dies_is_released(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.hold()
    asking = asyncio.create_task(ask(client))
    async with asyncio.timeout(60):
        await provider.control.wait_held()
    asking.cancel()
    assert (await ended(provider)).client_gone
    assert provider.control.waiting() == ()


async def test_stopping_interrupts_held_requests_and_frees_the_port() -> None:
    async with (
        serve_provider() as provider,
        AsyncOpenAI(base_url=provider.api_base, api_key="any", max_retries=0) as client,
    ):
        provider.control.hold()
        asking = asyncio.create_task(ask(client))
        async with asyncio.timeout(60):
            await provider.control.wait_held()
    with pytest.raises(openai.APIConnectionError):
        await asking
    assert last_end(provider).outcome is Outcome.STOPPED
    async with serve_provider(port=int(provider.address.rpartition(":")[2])) as again:
        assert again.address == provider.address
