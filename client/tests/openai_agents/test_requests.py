"""What is particular to the Agents SDK: its retry policies, and its names of models."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from agents import (
    Agent,
    ModelRetryBackoffSettings,
    ModelRetrySettings,
    ModelSettings,
    MultiProvider,
    OpenAIProvider,
    RunConfig,
    Runner,
)
from agents.models.multi_provider import MultiProviderMap
from doors import MODEL, Door
from images import AROUND, DATA, SIZED, cost
from openai import AsyncOpenAI
from roads import HELLO
from table import OUTPUT, PROMPT

from purser_client import BudgetRefused
from purser_client.openai_agents import PurserProvider
from purser_client.openai_agents.counted import messages_of


async def test_a_policy_that_repeats_everything_does_not_repeat_a_refusal(
    door: Door, road_of: Callable[..., Any]
) -> None:
    await door.limit(10)
    door.sent.clear()
    backoff = ModelRetryBackoffSettings(initial_delay=0.01)
    retry = ModelRetrySettings(max_retries=2, policy=lambda context: True, backoff=backoff)
    agent = Agent[None]("greeter", model=MODEL, model_settings=ModelSettings(max_tokens=OUTPUT, retry=retry))
    with pytest.raises(BudgetRefused):
        await Runner.run(agent, HELLO, run_config=road_of().config)
    assert door.sent == ["/v1/holds"]


@pytest.mark.parametrize("streams", [False, True], ids=["answer", "stream"])
async def test_a_limit_by_the_name_that_reasoning_models_take_is_capped_and_no_other_is_sent(
    door: Door, streams: bool
) -> None:
    await door.limit(PROMPT + 20)
    sent: list[dict[str, Any]] = []

    async def note(request: httpx.Request) -> None:
        sent.append(json.loads(request.content))

    async with (
        httpx.AsyncClient(event_hooks={"request": [note]}) as http,
        AsyncOpenAI(base_url=door.api_base, max_retries=0, http_client=http) as client,
    ):
        models = OpenAIProvider(openai_client=client, use_responses=False)
        budgeted = PurserProvider(door.purser, models, path=door.path, min_output_tokens=10)
        settings = ModelSettings(extra_args={"max_completion_tokens": OUTPUT})
        agent = Agent[None]("greeter", model=MODEL, model_settings=settings)
        config = RunConfig(model_provider=budgeted, tracing_disabled=True)
        if streams:
            assert [event async for event in Runner.run_streamed(agent, HELLO, run_config=config).stream_events()]
        else:
            await Runner.run(agent, HELLO, run_config=config)
    assert [(one.get("max_tokens"), one["max_completion_tokens"]) for one in sent] == [(None, 20)]


async def test_the_prefix_that_selects_a_provider_does_not_change_the_price(
    door: Door, openai_provider: OpenAIProvider
) -> None:
    await door.limit(5_000, limit_nano_usd=1_000_000_000)
    named = MultiProviderMap()
    named.add_provider("mine", openai_provider)
    models = {"gpt-4o-mini": openai_provider, "mine/gpt-4o-mini": MultiProvider(provider_map=named)}
    spent = []
    for name, inner in models.items():
        config = RunConfig(model_provider=PurserProvider(door.purser, inner, path=door.path), tracing_disabled=True)
        await Runner.run(Agent[None]("greeter", model=name), HELLO, run_config=config)
        spent.append((await door.purser.budgets.show(door.session)).nano_usd.spent)
    assert 0 < 2 * spent[0] == spent[1]


IMAGE = {"type": "input_image", "image_url": DATA, "detail": "auto"}


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "input_text", "text": HELLO}, IMAGE]},
        {"type": "function_call_output", "call_id": "call-1", "output": [IMAGE]},
        {
            "type": "computer_call_output",
            "call_id": "call-1",
            "output": {"type": "computer_screenshot", "image_url": DATA},
        },
    ],
    ids=["user", "function", "computer"],
)
def test_an_image_costs_its_size(item: Any) -> None:
    assert SIZED <= cost(messages_of("Be brief.", [item])) <= SIZED + AROUND
