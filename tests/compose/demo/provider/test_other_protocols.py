"""Completions of texts and responses: the same answers as those of chats, in their own protocols."""

import httpx
import pytest
from openai import AsyncOpenAI

from purser.compose.demo.provider import Provider, Reply, Rule

WORDS = " ".join(["hello"] * 40)


async def test_a_text_is_completed_whole_or_as_a_stream(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(reply=Reply(content=WORDS)))
    whole = await client.completions.create(model="m", prompt="hello there")
    streamed = [
        chunk
        async for chunk in await client.completions.create(
            model="m", prompt=["hello there"], stream=True, stream_options={"include_usage": True}
        )
    ]
    assert whole.choices[0].text == "".join(chunk.choices[0].text for chunk in streamed if chunk.choices) == WORDS
    assert whole.choices[0].finish_reason == streamed[-2].choices[0].finish_reason == "stop"
    for usage, served in zip((whole.usage, streamed[-1].usage), provider.served(), strict=True):
        assert usage is not None
        assert usage.total_tokens == served.charged_tokens == served.arrival.prompt_tokens + 40


async def test_a_response_is_sent_whole_or_as_a_stream(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(reply=Reply(content=WORDS)))
    whole = await client.responses.create(model="m", input="hello there", instructions="be kind")
    events = [event async for event in await client.responses.create(model="m", input="hello there", stream=True)]
    assert whole.output_text == WORDS
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == WORDS
    assert [event.sequence_number for event in events] == list(range(len(events)))
    ended = events[-1]
    assert ended.type == "response.completed"
    assert ended.response.output_text == WORDS
    for response, served in zip((whole, ended.response), provider.served(), strict=True):
        assert response.usage is not None
        assert response.usage.total_tokens == served.charged_tokens == served.arrival.prompt_tokens + 40
    instructed, plain = (served.arrival.prompt_tokens for served in provider.served())
    assert instructed > plain


async def test_a_response_that_its_limit_cuts_is_incomplete(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(reply=Reply(content=WORDS)))
    cut = await client.responses.create(model="m", input=[{"role": "user", "content": "hello"}], max_output_tokens=7)
    assert (cut.status, cut.output_text) == ("incomplete", " ".join(["hello"] * 7))
    assert cut.incomplete_details is not None
    assert cut.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("path", ["completions", "responses"])
async def test_a_request_without_a_prompt_is_a_bad_one(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.post(f"/v1/{path}", json={"model": "m"})).status_code == 400
