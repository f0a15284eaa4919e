"""What is particular to ADK: tools that run while a reply is read, and how models report their usage."""

from collections.abc import Callable
from typing import Any

import pytest
from doors import Door
from google.adk.models import LlmRequest, LlmResponse
from google.genai import types
from images import ADDRESS, AROUND, PNG, SIZED, UNSIZED, cost
from roads import HELLO

from purser_client.google_adk.counted import messages_of, tools_of, usage_of

CALL = {"id": "call-1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


@pytest.mark.parametrize("way", ["ask", "stream"])
async def test_each_turn_of_a_run_with_tools_is_a_call_and_nothing_is_held_while_tools_run(
    door: Door, road_of: Callable[..., Any], way: str
) -> None:
    rule = {"match": {"text": HELLO}, "reply": {"tool_calls": [CALL]}}
    await door.script(rules=[{"reply": {"content": "rain"}}, rule][::-1])
    held = []

    async def weather(city: str) -> str:
        """The weather of a city."""
        held.append((await door.figures())[1])
        return f"rain in {city}"

    road = road_of()
    road.agent_options["tools"] = [weather]
    if way == "ask":
        assert (await road.ask(HELLO)).endswith("rain")
    else:
        assert "".join([piece async for piece in road.stream(HELLO)]) == "rain"
    served = await door.served()
    assert len(served) == door.asks == 2
    assert held == [0]
    await door.is_charged(*(one["charged_tokens"] for one in served))


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({"candidates": 7, "thoughts": 3, "total": 30}, (20, 0, 0, 0, 10)),
        ({"candidates": 10, "thoughts": 3, "total": 30}, (20, 0, 0, 0, 10)),
        ({"candidates": 10, "tool_use_prompt": 5, "total": 35}, (25, 0, 0, 0, 10)),
        ({"candidates": 10, "cached": 12, "written": 6, "total": 30}, (2, 12, 6, 0, 10)),
    ],
    ids=["thoughts beside the reply", "thoughts in it", "prompts of tools", "caches"],
)
def test_usage_is_the_total_however_a_model_splits_it(reported: dict[str, int], usage: tuple[int, ...]) -> None:
    metadata = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=20,
        candidates_token_count=reported["candidates"],
        thoughts_token_count=reported.get("thoughts"),
        tool_use_prompt_token_count=reported.get("tool_use_prompt"),
        cached_content_token_count=reported.get("cached"),
        total_token_count=reported["total"],
    )
    object.__setattr__(metadata, "cache_creation_input_tokens", reported.get("written"))  # as models of ADK do
    found = usage_of(LlmResponse(usage_metadata=metadata))
    assert found is not None
    assert tuple(found.values()) == usage


def test_instruction_tools_and_the_form_of_the_output_are_counted() -> None:
    declared = types.FunctionDeclaration(name="weather", description="The weather of a city.")
    request = LlmRequest(
        contents=[types.UserContent(HELLO), types.ModelContent(types.Part.from_function_call(name="weather", args={}))],
        config=types.GenerateContentConfig(
            system_instruction="Be brief.",
            tools=[types.Tool(function_declarations=[declared])],
            response_json_schema={"type": "object"},
        ),
    )
    assert list(messages_of(request)) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": HELLO},
        {"role": "model", "content": {"function_call": {"name": "weather", "args": {}}}},
    ]
    assert list(tools_of(request)) == [
        {"name": "weather", "description": "The weather of a city."},
        {"type": "object"},
    ]


RESULT = types.FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (types.Part.from_bytes(data=PNG, mime_type="image/png"), SIZED),
        (types.Part.from_uri(file_uri=ADDRESS, mime_type="image/png"), UNSIZED),
        (types.Part.from_function_response(name="look", response={}, parts=[RESULT]), SIZED),
        (types.Part.from_bytes(data=PNG, mime_type="application/pdf"), len(PNG) * 4 // 3 // 2),
    ],
    ids=["image", "address", "in a result", "document"],
)
def test_an_image_costs_its_size_and_a_document_its_data(part: types.Part, tokens: int) -> None:
    request = LlmRequest(contents=[types.UserContent([part])])
    assert tokens <= cost(messages_of(request)) <= tokens + AROUND
