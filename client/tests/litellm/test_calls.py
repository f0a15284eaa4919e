"""What is particular to LiteLLM: hidden repetitions, its cache, leases that nobody renews, and calls that it hides."""

import asyncio
import gc
import inspect
import json
import logging
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import litellm
import pytest
from doors import MODEL, WORDS, Door, eventually
from images import AROUND, DATA, SIZED, cost
from litellm.types.caching import LiteLLMCacheType
from roads import HELLO
from table import ARRIVED, OUTPUT, PROMPT

from purser_client import BudgetRefused, CannotHold
from purser_client.litellm import PurserLogger, UnheldCall
from purser_client.litellm.request import messages_of

SAID = [{"role": "user", "content": HELLO}]
CALLS: dict[str, Callable[..., Awaitable[Any]]] = {
    "acompletion": partial(litellm.acompletion, messages=SAID),
    "atext_completion": partial(litellm.atext_completion, prompt=HELLO),
    "aresponses": partial(litellm.aresponses, input=HELLO),
}
of_each_kind = pytest.mark.parametrize("kind", CALLS)
EMBEDDER = "openai/text-embedding-3-small"
WIDER = "openai/gpt-4o-mini"


@pytest.fixture
def caching() -> Iterator[None]:
    litellm.cache = litellm.Cache(type=LiteLLMCacheType.LOCAL)
    yield
    litellm.cache = None


class _NarrowModel(httpx.AsyncHTTPTransport):
    """Refuses requests for one model as a provider does whose prompt is too long."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if json.loads(request.content)["model"] != MODEL:
            return await super().handle_async_request(request)
        error = {"message": "This model's maximum context length is 1 token.", "code": "context_length_exceeded"}
        return httpx.Response(400, json={"error": error}, request=request)


class _SeveralReplies(httpx.AsyncBaseTransport):
    """Answers with three replies; the usage reports `output` tokens for them together."""

    held = cap = 0

    def __init__(self, door: Door, output: int = 30) -> None:
        self._door = door
        self._output = output

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.cap = json.loads(request.content)["max_tokens"]
        _, self.held = await self._door.figures()
        message = {"role": "assistant", "content": "hello"}
        choices = [{"index": number, "message": message, "finish_reason": "stop"} for number in range(3)]
        usage = {"prompt_tokens": PROMPT, "completion_tokens": self._output, "total_tokens": PROMPT + self._output}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": MODEL}
        return httpx.Response(200, json={**answer, "choices": choices, "usage": usage}, request=request)


@asynccontextmanager
async def _sent_by(transport: httpx.AsyncBaseTransport) -> AsyncIterator[None]:
    async with httpx.AsyncClient(transport=transport, timeout=60) as http:
        litellm.in_memory_llm_clients_cache.flush_cache()
        litellm.aclient_session = http
        try:
            yield
        finally:
            litellm.aclient_session = None
            litellm.in_memory_llm_clients_cache.flush_cache()


@pytest.fixture
async def narrow() -> AsyncIterator[None]:
    async with _sent_by(_NarrowModel()):
        yield


@of_each_kind
@pytest.mark.parametrize("name", ["max_retries", "num_retries"])
async def test_a_call_without_a_router_is_one_request_that_litellm_does_not_repeat_by_itself(
    door: Door, road_of: Callable[..., Any], kind: str, name: str
) -> None:
    params = road_of().params | {name: 2}
    await door.script(faults=[{"kind": "server_error", "times": 2}])
    for number in (1, 2):
        with pytest.raises(litellm.InternalServerError):
            await CALLS[kind](**params)
        assert len(await door.served()) == number
    await door.is_charged(2 * (PROMPT + OUTPUT))


@of_each_kind
async def test_a_refused_call_is_not_repeated_past_the_gate(door: Door, road_of: Callable[..., Any], kind: str) -> None:
    params = road_of().params
    await door.limit(10)
    with pytest.raises(BudgetRefused) as refused:
        await CALLS[kind](num_retries=2, **params)
    assert door.asks == 1
    assert await door.served() == []
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), str(again)) == (BudgetRefused, str(refused.value))
    assert str(again).startswith(f"refuse: {door.session} may spend 10 tokens")


@of_each_kind
@pytest.mark.parametrize("name", ["max_retries", "num_retries"])
async def test_retries_of_a_deployment_do_not_repeat_a_request_under_its_hold(
    door: Door, road_of: Callable[..., Any], kind: str, name: str
) -> None:
    road = road_of()
    road.params[name] = 2
    await door.script(faults=[{"kind": "drop", "times": 2}])
    with pytest.raises((litellm.InternalServerError, litellm.APIConnectionError)):
        await road.ask(HELLO)
    assert len(await door.served()) == 1
    await door.is_charged(PROMPT + OUTPUT)


@pytest.mark.usefixtures("narrow")
async def test_a_fallback_that_litellm_would_send_without_a_word_is_not_sent(
    door: Door, road_of: Callable[..., Any]
) -> None:
    params = road_of().params
    with pytest.raises(litellm.ContextWindowExceededError):
        await litellm.acompletion(messages=SAID, context_window_fallback_dict={params["model"]: WIDER}, **params)
    assert (door.asks, await door.served()) == (1, [])
    await door.is_charged(0)


@pytest.mark.usefixtures("narrow")
async def test_a_fallback_of_a_call_is_a_call_of_its_own(door: Door, road_of: Callable[..., Any]) -> None:
    assert await litellm.acompletion(messages=SAID, fallbacks=[WIDER], **road_of().params)
    [served] = await door.served()
    assert door.asks == 2
    await door.is_charged(served["charged_tokens"])


async def test_a_request_that_repeats_a_call_which_has_ended_is_not_sent(
    door: Door, road_of: Callable[..., Any]
) -> None:
    params = road_of().params
    stream = await litellm.acompletion(messages=SAID, stream=True, **params)
    assert [chunk async for chunk in stream]
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])
    with pytest.raises(UnheldCall, match="LiteLLM asks nobody before acompletion of gpt-4o"):
        await inspect.unwrap(litellm.acompletion)(messages=SAID, litellm_logging_obj=stream.logging_obj, **params)
    assert await door.served() == [served]


async def test_a_refusal_does_not_rest_the_deployment_of_a_router(door: Door, road_of: Callable[..., Any]) -> None:
    params = road_of().params
    router = litellm.Router([{"model_name": "greeter", "litellm_params": params} for _ in range(2)], allowed_fails=0)
    await door.limit(10)
    for _ in range(2):
        with pytest.raises(BudgetRefused):
            await router.acompletion("greeter", SAID)
    healthy, _ = await router._async_get_healthy_deployments("greeter", None)
    assert len(healthy) == 2


async def test_a_request_is_counted_and_capped_whatever_form_it_has(door: Door, road_of: Callable[..., Any]) -> None:
    await door.limit(PROMPT + 20)
    await door.script(rules=[{"reply": {"content": WORDS}}])
    params = road_of(min_output_tokens=10).params
    del params["max_tokens"], params["model"]
    await litellm.acompletion("openai/gpt-4o", SAID, max_completion_tokens=OUTPUT, **params)
    await door.is_charged(PROMPT + 20)


async def test_several_replies_are_held_and_capped_in_sum(door: Door, road_of: Callable[..., Any]) -> None:
    await door.limit(PROMPT + 2 * OUTPUT)
    several = _SeveralReplies(door)
    async with _sent_by(several):
        await litellm.acompletion(messages=SAID, n=3, **road_of(min_output_tokens=10).params)
    assert several.held == PROMPT + 2 * OUTPUT
    assert several.cap == 2 * OUTPUT // 3
    await door.is_charged(PROMPT + 30)


async def test_a_usage_that_is_refused_is_charged_as_the_estimate(door: Door, road_of: Callable[..., Any]) -> None:
    async with _sent_by(_SeveralReplies(door, output=-1)):
        await litellm.acompletion(messages=SAID, **road_of(lease_s=600).params)
    await door.is_charged(PROMPT + OUTPUT)


async def test_a_call_that_outlasts_its_lease_is_charged_its_estimate_until_it_reports(
    door: Door, road_of: Callable[..., Any]
) -> None:
    await door.script(faults=[{"kind": "hold", "after_chunks": ARRIVED}], rules=[{"reply": {"content": WORDS}}])
    stream = road_of(lease_s=2).stream(HELLO)
    await anext(stream)
    await door.is_charged(PROMPT + OUTPUT)
    (await door.provider.post("/_control/continue", json={})).raise_for_status()
    assert [piece async for piece in stream]

    async def reported() -> bool | None:
        return (await door.figures()) == (PROMPT + 40, 0) or None

    assert await eventually(reported)


async def test_a_stream_is_settled_although_litellm_has_seen_another_callback_before(
    door: Door, road_of: Callable[..., Any]
) -> None:
    await road_of().ask(HELLO)
    assert [piece async for piece in road_of(lease_s=1_000).stream(HELLO)]
    await door.is_charged(*(one["charged_tokens"] for one in await door.served()))


@of_each_kind
async def test_a_stream_that_breaks_off_is_charged_what_has_arrived(
    door: Door, road_of: Callable[..., Any], kind: str
) -> None:
    await door.script(
        rules=[{"reply": {"content": WORDS}, "chunks": 40}], faults=[{"kind": "drop", "after_chunks": ARRIVED}]
    )
    pieces = []

    async def read() -> None:
        async for piece in road_of().stream(HELLO):
            pieces.append(piece)  # noqa: PERF401 (a comprehension loses what arrives before the error)

    with pytest.raises(Exception, match="payload is not completed"):
        await read()
    # What is sent last does not arrive if the connection breaks off before it is read.
    assert 0 < len(pieces) <= ARRIVED
    await door.is_charged(PROMPT + len(pieces))


@of_each_kind
async def test_a_stream_that_the_provider_refuses_costs_nothing(
    door: Door, road_of: Callable[..., Any], kind: str
) -> None:
    await door.script(faults=[{"kind": "rate_limited", "retry_after_ms": 1}])
    with pytest.raises(litellm.RateLimitError):
        [piece async for piece in road_of().stream(HELLO)]
    await door.is_charged(0)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    "answered_by",
    [
        pytest.param(partial(litellm.aresponses, input=HELLO, use_chat_completions_api=True), id="chat"),
        pytest.param(partial(litellm.acompletion, messages=SAID, model="openai/responses/gpt-4o"), id="responses"),
    ],
)
async def test_a_call_that_litellm_answers_by_one_of_another_kind_is_held_once(
    door: Door, road_of: Callable[..., Any], answered_by: Callable[..., Any], streams: bool
) -> None:
    await door.limit(PROMPT + 20)
    await door.script(rules=[{"reply": {"content": WORDS}}])
    named = {name: value for name, value in road_of(min_output_tokens=10).params.items() if name != "max_tokens"}
    answer = await answered_by(**(named | answered_by.keywords), stream=streams)
    if streams:
        assert [event async for event in answer]
    [served] = await door.served()
    assert (door.asks, served["end"]["produced_tokens"]) == (1, 20)
    await door.is_charged(PROMPT + 20)


@pytest.mark.parametrize("kind", ["aresponses"])
async def test_the_instructions_of_a_response_are_counted(door: Door, road_of: Callable[..., Any], kind: str) -> None:
    params = road_of().params
    await door.limit(PROMPT + OUTPUT + 6)
    with pytest.raises(BudgetRefused):
        await litellm.aresponses(HELLO, instructions="be very kind", **params)
    await litellm.aresponses(HELLO, instructions="be kind", **params)
    [served] = await door.served()
    assert served["arrival"]["prompt_tokens"] == PROMPT + 6
    await door.is_charged(served["charged_tokens"])


async def test_a_stream_that_was_left_is_forgotten_with_what_litellm_keeps_of_it(
    door: Door, road_of: Callable[..., Any]
) -> None:
    stream = road_of().stream(HELLO)
    await anext(stream)
    assert PurserLogger._open
    await stream.aclose()

    async def forgotten() -> bool | None:
        gc.collect()
        return PurserLogger._open == {} or None

    assert await eventually(forgotten)


@pytest.mark.usefixtures("caching")
async def test_an_answer_from_the_cache_costs_nothing(door: Door, road_of: Callable[..., Any]) -> None:
    params = road_of().params
    said = [{"role": "user", "content": f"{HELLO} {door.session}"}]
    first = await litellm.acompletion(messages=said, **params)
    again = await litellm.acompletion(messages=said, **params)
    assert again.choices[0].message.content == first.choices[0].message.content
    [served] = await door.served()
    assert door.asks == 2
    await door.is_charged(served["charged_tokens"])


@pytest.mark.parametrize("texts", [HELLO, [HELLO, HELLO]])
async def test_an_embedding_is_charged_what_the_provider_reports(
    door: Door, road_of: Callable[..., Any], texts: str | list[str]
) -> None:
    road_of()
    await door.limit(100)
    await litellm.aembedding(EMBEDDER, texts, api_base=door.api_base, api_key="none")
    [served] = await door.served()
    assert door.asks == 1
    await door.is_charged(served["charged_tokens"])


async def test_an_embedding_is_refused_and_no_hidden_repetition_is_under_its_hold(
    door: Door, road_of: Callable[..., Any]
) -> None:
    road_of()
    await door.script(faults=[{"kind": "server_error", "times": 3}])
    with pytest.raises(litellm.InternalServerError):
        await litellm.aembedding(EMBEDDER, HELLO, api_base=door.api_base, api_key="none", max_retries=2)
    assert len(await door.served()) == 1
    await door.is_charged(PROMPT + 1)
    await door.limit(0)
    with pytest.raises(BudgetRefused):
        await litellm.aembedding(EMBEDDER, HELLO, api_base=door.api_base, api_key="none")
    assert len(await door.served()) == 1


UNHELD: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
    "image_generation": lambda params: litellm.aimage_generation(prompt=HELLO, **params),
    "transcription": lambda params: litellm.atranscription(file=("a.wav", b"a"), **params),
}


@pytest.mark.parametrize("other", UNHELD)
async def test_calls_of_other_kinds_are_refused_before_anything_is_sent(
    door: Door, road_of: Callable[..., Any], other: str
) -> None:
    params = road_of().params
    with pytest.raises(CannotHold, match=f"LiteLLM asks nobody before a{other} of "):
        await UNHELD[other]({name: params[name] for name in ("model", "api_base", "api_key")})
    assert (door.asks, await door.served()) == (0, [])


async def test_calls_before_which_litellm_awaits_nobody_are_not_sent(door: Door, road_of: Callable[..., Any]) -> None:
    road = road_of(retries=2)
    for kind, unheld in (
        ("completion", partial(litellm.completion, messages=SAID, num_retries=2, **road.params)),
        ("completion", partial(road.router.completion, "greeter", SAID)),
        ("text_completion", partial(litellm.text_completion, HELLO, num_retries=2, **road.params)),
        ("responses", partial(litellm.responses, HELLO, num_retries=2, **road.params)),
    ):
        with pytest.raises(UnheldCall, match=f"LiteLLM asks nobody before {kind} of gpt-4o"):
            await asyncio.to_thread(unheld)
    assert (door.asks, await door.served()) == (0, [])


async def test_where_they_may_pass_the_log_says_so(
    door: Door, road_of: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    params = road_of(unheld="pass").params
    with caplog.at_level(logging.WARNING, "purser_client"):
        await asyncio.to_thread(litellm.completion, messages=SAID, **params)
        await litellm.acompletion(messages=SAID, **params)
    assert {one.getMessage() for one in caplog.records if one.name == "purser_client"} == {
        "LiteLLM asks nobody before completion of gpt-4o: no hold covers it",
    }
    assert door.asks == 1


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("messages", {"type": "image_url", "image_url": {"url": DATA, "format": "image/png"}}),
        ("input", {"type": "input_image", "image_url": DATA}),
    ],
)
def test_an_image_costs_its_size(name: str, image: dict[str, Any]) -> None:
    request = {name: [{"role": "user", "content": [image]}]}
    assert SIZED <= cost(messages_of(request)) <= SIZED + AROUND
