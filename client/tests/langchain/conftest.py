"""Agents of LangChain on the provider of the tests, and its model on the proxy."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from doors import MODEL, Door
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient, OpenAIError
from proxy import KEY, address, headers
from pydantic import SecretStr
from table import OUTPUT

from purser_client.langchain import PurserMiddleware


@dataclass
class LangChainRoad:
    """An agent whose retries are outside of the middleware."""

    model: ChatOpenAI
    middleware: PurserMiddleware
    retries: int = 0

    def agent(self, **options: Any) -> Any:
        retry = ModelRetryMiddleware(
            max_retries=self.retries, retry_on=(OpenAIError,), on_failure="error", initial_delay=0.01
        )
        return create_agent(self.model, middleware=[retry, self.middleware], **options)

    async def ask(self, text: str) -> str:
        return str((await self.agent().ainvoke({"messages": [("user", text)]}))["messages"][-1].content)

    async def stream(self, text: str) -> AsyncIterator[str]:
        async for message, _ in self.agent().astream({"messages": [("user", text)]}, stream_mode="messages"):
            if message.content:
                yield str(message.content)


@pytest.fixture
async def model(door: Door) -> AsyncIterator[ChatOpenAI]:
    """A model of the provider. Its own HTTP client would be that of the loop of an earlier test."""
    async with DefaultAsyncHttpxClient() as http:
        yield ChatOpenAI(
            model=MODEL,
            base_url=door.api_base,
            api_key=SecretStr("none"),
            max_retries=0,
            stream_usage=True,
            max_tokens=OUTPUT,
            http_async_client=http,
        )


@pytest.fixture
def road_of(door: Door, model: ChatOpenAI) -> Callable[..., LangChainRoad]:
    def make(*, retries: int = 0, wait_s: float = 0, **options: Any) -> LangChainRoad:
        middleware = PurserMiddleware(door.purser, path=door.path, wait_s=wait_s, **options)
        return LangChainRoad(model, middleware, retries)

    return make


@dataclass
class ChatRoad:
    """A model without an agent."""

    model: ChatOpenAI

    async def ask(self, text: str) -> str:
        return str((await self.model.ainvoke(text)).content)

    async def stream(self, text: str) -> AsyncIterator[str]:
        async for chunk in self.model.astream(text):
            if chunk.content:
                yield str(chunk.content)


@pytest.fixture
async def client_of(door: Door) -> AsyncIterator[Callable[..., ChatRoad]]:
    async with DefaultAsyncHttpxClient(event_hooks={"request": [door.note]}) as http:

        def make(**more: str) -> ChatRoad:
            model = ChatOpenAI(
                model=MODEL,
                base_url=address("openai/v1"),
                api_key=SecretStr(KEY),
                default_headers=headers(door, more),
                max_tokens=OUTPUT,
                http_async_client=http,
            )
            return ChatRoad(model)

        yield make
