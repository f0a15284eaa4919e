"""What is particular to pydantic-ai: tools."""

from collections.abc import Callable
from typing import Any

from doors import Door
from roads import HELLO

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
