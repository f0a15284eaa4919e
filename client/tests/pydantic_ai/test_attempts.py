"""What is particular to pydantic-ai: tools, and requests whose reply has no usage."""

from collections.abc import Callable
from typing import Any

from doors import Door
from pydantic_ai import Agent
from roads import HELLO

CALL = {"id": "call-1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


async def test_each_turn_of_a_run_with_tools_is_a_call(door: Door, road_of: Callable[..., Any]) -> None:
    rule = {"match": {"text": HELLO}, "reply": {"tool_calls": [CALL]}}
    await door.script(rules=[{"reply": {"content": "rain"}}, rule][::-1])
    agent = Agent(road_of().model)

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"rain in {city}"

    assert (await agent.run(HELLO)).output == "rain"
    served = await door.served()
    assert len(served) == door.asks == 2
    await door.is_charged(*(one["charged_tokens"] for one in served))


async def test_a_reply_without_usage_is_charged_its_estimate(door: Door, road_of: Callable[..., Any]) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    await road_of().ask(HELLO)
    assert [one["charged_tokens"] for one in await door.served()] == [0]
    await door.is_charged(9 + 60)


async def test_a_stream_without_usage_is_charged_what_has_arrived(door: Door, road_of: Callable[..., Any]) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    assert [piece async for piece in road_of().stream(HELLO)] == ["hello"]
    await door.is_charged(9 + 1)
