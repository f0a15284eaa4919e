"""Compaction: a request to the model that shortens the history."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from doors import MODEL, Door
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.openai import OpenAICompaction, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from roads import HELLO
from table import OUTPUT, PROMPT

from purser_client import BudgetRefused
from purser_client.pydantic_ai import PurserModel

TURN = 15
"""What the provider reports of an answer."""
HISTORY = PROMPT + 5
"""Input tokens of HELLO and its answer."""


class Provider:
    """Answers and compacts."""

    def __init__(self) -> None:
        self.compaction: dict[str, Any] | None = None
        """The usage that it reports of a compaction."""
        self.paths: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path.rpartition("/")[2])
        reply: dict[str, Any] = {"id": "1", "created_at": 1, "model": MODEL, "status": "completed"}
        if self.paths[-1] == "compact":
            item = {"id": "1", "type": "compaction", "encrypted_content": "shorter"}
            usage = self.compaction
        else:
            text = {"type": "output_text", "text": "hello", "annotations": []}
            item = {"id": "1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
            usage = _usage(TURN, 0)
        return httpx.Response(200, json=reply | {"object": "response", "output": [item], "usage": usage})


def _usage(read: int, written: int) -> dict[str, Any]:
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def wrapped(provider: Provider) -> Model:
    http = httpx.AsyncClient(transport=httpx.MockTransport(provider))
    client = AsyncOpenAI(base_url="http://provider/v1", api_key="none", http_client=http)
    return OpenAIResponsesModel(MODEL, provider=OpenAIProvider(openai_client=client))


@pytest.fixture
def agent(road_of: Callable[..., Any]) -> Any:
    """An agent that compacts before its second turn."""
    road = road_of()
    road.capabilities = [*road.capabilities, OpenAICompaction(message_count_threshold=1)]
    return road.agent


@pytest.mark.parametrize(
    ("reported", "charged"),
    [(_usage(5_000, 700), 5_700), (_usage(0, 0), HISTORY + OUTPUT), (None, HISTORY + OUTPUT)],
    ids=["reported", "zeros", "unreported"],
)
async def test_a_compaction_is_a_call(
    door: Door, agent: Any, provider: Provider, reported: dict[str, Any] | None, charged: int
) -> None:
    provider.compaction = reported
    begun = await agent.run(HELLO)
    await agent.run(HELLO, message_history=begun.all_messages())
    assert provider.paths == ["responses", "compact", "responses"]
    assert door.asks == 3
    await door.is_charged(TURN, charged, TURN)


async def test_a_compaction_that_is_refused_is_not_sent(door: Door, agent: Any, provider: Provider) -> None:
    begun = await agent.run(HELLO)
    await door.limit(TURN + HISTORY + OUTPUT - 1)
    with pytest.raises(BudgetRefused):
        await agent.run(HELLO, message_history=begun.all_messages())
    assert provider.paths == ["responses"]
    await door.is_charged(TURN)


async def test_the_instructions_of_a_compaction_are_held(door: Door, wrapped: Model) -> None:
    model = PurserModel(door.purser, wrapped, path=door.path)
    request = ModelRequestContext(
        model=model,
        messages=[ModelRequest.user_text_prompt(HELLO)],
        model_settings=ModelSettings(max_tokens=OUTPUT),
        model_request_parameters=ModelRequestParameters(),
    )
    await model.compact_messages(request, instructions="names only")
    await door.is_charged(PROMPT + 6 + OUTPUT)
