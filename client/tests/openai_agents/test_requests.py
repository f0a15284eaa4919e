"""What is particular to the Agents SDK: its retry policies."""

from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, ModelRetryBackoffSettings, ModelRetrySettings, ModelSettings, Runner
from doors import MODEL, Door
from roads import HELLO
from table import OUTPUT

from purser_client import BudgetRefused


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
