"""What is particular to pydantic-ai: tools, and models that report zeros."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from doors import Door
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.test import TestModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage
from roads import HELLO
from table import OUTPUT, PROMPT

from purser_client.pydantic_ai import PurserModel

CALL = {"id": "call-1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


async def test_each_turn_of_a_run_with_tools_is_a_call(door: Door, road_of: Callable[..., Any]) -> None:
    rule = {"match": {"text": HELLO}, "reply": {"tool_calls": [CALL]}}
    await door.script(rules=[{"reply": {"content": "rain"}}, rule][::-1])
    agent = road_of().agent

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"rain in {city}"

    assert (await agent.run(HELLO)).output == "rain"
    served = await door.served()
    assert len(served) == door.asks == 2
    await door.is_charged(*(one["charged_tokens"] for one in served))


class Silent(TestModel):
    """Reports zeros."""

    async def request(self, *args: Any) -> ModelResponse:
        return replace(await super().request(*args), usage=RequestUsage())


async def test_zeros_are_no_report(door: Door) -> None:
    model = PurserModel(door.purser, Silent(), path=door.path)
    await Agent(model, model_settings=ModelSettings(max_tokens=OUTPUT)).run(HELLO)
    await door.is_charged(PROMPT + OUTPUT)
