"""Streams whose reader fails for reasons of its own."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from doors import WORDS, Door, words
from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings
from roads import HELLO
from table import ARRIVED, OUTPUT, PROMPT

from purser_client import AsyncPurser, Patience
from purser_client.pydantic_ai import PurserModel
from purser_client.pydantic_ai.counted import written_in

ALL = 40
"""Tokens of the whole reply."""


class Missing(Exception):
    """An error that has a status, as those of providers have."""

    status_code = 404


async def _read(model: Model, arrived: int, error: BaseException | None = None) -> None:
    """Reads so many words of a stream, or all of it, and fails."""
    settings, said = ModelSettings(max_tokens=OUTPUT), ModelRequest.user_text_prompt(HELLO)
    async with model.request_stream([said], settings, ModelRequestParameters()) as stream:
        if arrived:
            async for _ in stream:
                if words(written_in(stream.get())) == arrived != ALL:
                    break
        if error is not None:
            raise error


@pytest.mark.parametrize(("arrived", "charged"), [(0, OUTPUT), (ARRIVED, ARRIVED), (ALL, ALL)])
async def test_the_error_of_a_reader_is_not_that_of_the_provider(
    door: Door, wrapped: Model, arrived: int, charged: int
) -> None:
    await door.script(rules=[{"reply": {"content": WORDS}, "chunks": ALL}])
    with pytest.raises(Missing):
        await _read(PurserModel(door.purser, wrapped, path=door.path), arrived, Missing())
    await door.is_charged(PROMPT + charged)


async def test_the_error_of_a_provider_in_its_stream_may_cost_nothing(door: Door) -> None:
    async def refuse(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield ""
        raise Missing

    with pytest.raises(Missing):
        await _read(PurserModel(door.purser, FunctionModel(stream_function=refuse), path=door.path), ALL)
    await door.is_charged(0)


@pytest.mark.parametrize("error", [Missing(), asyncio.CancelledError()], ids=["error", "cancellation"])
async def test_a_gateway_that_is_away_hides_no_error_of_a_reader(
    door: Door, wrapped: Model, error: BaseException
) -> None:
    async def fail(request: httpx.Request) -> None:
        if request.url.path.endswith("/settle"):
            raise httpx.ConnectError("the gateway is away")

    async with AsyncPurser(count=words, patience=Patience(retries=0)) as purser:
        purser._http.event_hooks["request"].append(fail)
        with pytest.raises(type(error)):
            await _read(PurserModel(purser, wrapped, path=door.path), ALL, error)
