"""What is particular to the Agents SDK: its retry policies, and its names of models."""

from collections.abc import Callable
from typing import Any

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
from roads import HELLO
from table import OUTPUT

from purser_client import BudgetRefused
from purser_client.openai_agents import PurserProvider


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
