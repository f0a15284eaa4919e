"""Streams that Purser ends itself: the provider sees its connection closed, and does not go on for nobody."""

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from purser.activities.errors import ProviderError
from purser.activities.models.egress import routes
from purser.activities.models.egress.routes import ProviderAddress
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from tests.support.servers.raw_server import RawServer, raw_server

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    """Garbage collection would close what nobody else has closed."""
    gc.disable()
    yield
    gc.enable()


def event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


async def words_of_claude(server: RawServer, writer: asyncio.StreamWriter) -> None:
    """Sends word after word, in the format of Anthropic, for as long as they are read."""
    about: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude",
        "stop_reason": None,
    }
    await server.send(writer, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
    await server.send(
        writer,
        event("message_start", message=about | {"usage": {"input_tokens": 25, "output_tokens": 1}})
        + event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    )
    while True:
        await server.send(writer, event("content_block_delta", index=0, delta={"type": "text_delta", "text": "word "}))
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("how", ["cut", "failed", "cancelled"])
async def test_a_stream_that_is_not_read_to_its_end_is_closed(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def covers(partial: PartialReply) -> bool:
        return how != "cut"

    async def on_chunk(_: object) -> None:
        if how == "failed":
            raise OSError("the reader is gone")
        if how == "cancelled":
            calling.cancel()

    async with raw_server(words_of_claude) as server:
        base = f"http://127.0.0.1:{server.port}"
        monkeypatch.setenv("ANTHROPIC_API_BASE", base)
        addresses = cast(dict[str, ProviderAddress], routes.PROVIDERS)
        monkeypatch.setitem(addresses, "anthropic", ProviderAddress(base, ("ANTHROPIC_API_KEY",)))
        asked = ModelRequest("anthropic/claude-sonnet-4-5", [{"role": "user", "content": "Hello"}], (), 1_000, "7-1")
        models = ModelProvider({f"127.0.0.1:{server.port}": "key"})
        calling = asyncio.create_task(models.complete(asked, PartialReply(), covers=covers, on_chunk=on_chunk))
        [ended] = await asyncio.gather(calling, return_exceptions=True)
        assert ended is None if how == "cut" else isinstance(ended, ProviderError | asyncio.CancelledError)
        async with asyncio.timeout(60):
            await server.gone.wait()
