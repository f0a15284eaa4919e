"""Embeddings of the provider."""

import math
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI

from purser.compose.demo.provider import Fault, FaultKind, Outcome, Provider
from purser.compose.demo.provider.embeddings import DIMENSIONS, embedding


def cosine(one: str, other: str) -> float:
    return sum(a * b for a, b in zip(embedding(one), embedding(other), strict=True))


def test_equal_texts_have_equal_vectors_of_length_one() -> None:
    assert embedding("Hello  World") == embedding("hello world")
    assert math.isclose(math.hypot(*embedding("Hello")), 1.0)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("the red bicycle", "a bicycle, red", "rain all week"),
        ("我喜欢北京的冬天", "北京的冬天很冷", "他买了一台电脑"),
        ("자전거를 샀어요", "자전거 가게", "비가 와요"),
    ],
)
def test_texts_that_share_spellings_are_near_in_every_language(text: str, near: str, far: str) -> None:
    assert cosine(text, near) > 0.2 > cosine(text, far)


async def test_the_openai_client_gets_one_vector_per_text_and_the_usage(
    client: AsyncOpenAI, provider: Provider
) -> None:
    answer = await client.embeddings.create(model="any", input=["red", "bicycle"])
    assert [item.embedding for item in answer.data] == [pytest.approx(embedding(text)) for text in ("red", "bicycle")]
    assert [len(item.embedding) for item in answer.data] == [DIMENSIONS] * 2
    (served,) = provider.served()
    assert answer.usage.total_tokens == served.charged_tokens == served.arrival.prompt_tokens > 0
    assert served.end is not None
    assert served.end.outcome is Outcome.ANSWERED


async def test_one_text_may_come_without_a_list_and_ask_for_a_length(client: AsyncOpenAI) -> None:
    answer = await client.embeddings.create(model="any", input="red", dimensions=7, encoding_format="float")
    assert [item.embedding for item in answer.data] == [pytest.approx(embedding("red", 7))]


@pytest.mark.parametrize("body", [{}, {"model": "m"}, {"model": "m", "input": []}, {"model": "m", "input": [[1, 2]]}])
async def test_input_that_is_not_text_is_a_bad_request(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    assert (await http.post("/v1/embeddings", json=body)).status_code == 400


async def test_faults_affect_embeddings_too(http: httpx.AsyncClient, provider: Provider) -> None:
    provider.control.add_fault(Fault(kind=FaultKind.UNAVAILABLE, times=1))
    body = {"model": "m", "input": "red"}
    assert [(await http.post("/v1/embeddings", json=body)).status_code for _ in "ab"] == [503, 200]
