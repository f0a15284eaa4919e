"""What is particular to the Agents SDK: its retry policies, and replies whose usage it makes up as zeros."""

from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, ModelRetryBackoffSettings, ModelRetrySettings, ModelSettings, Runner
from doors import MODEL, Door
from roads import HELLO
from table import OUTPUT, PROMPT

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


async def test_a_reply_without_usage_is_charged_its_estimate(door: Door, road_of: Callable[..., Any]) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    await road_of().ask(HELLO)
    await door.is_charged(PROMPT + OUTPUT)


async def test_a_stream_without_usage_is_charged_what_has_arrived(door: Door, road_of: Callable[..., Any]) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    assert [piece async for piece in road_of().stream(HELLO)] == ["hello"]
    await door.is_charged(PROMPT + 1)
