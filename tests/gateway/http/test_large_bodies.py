"""The limit on concurrent requests of one key with a large body."""

import asyncio
import json

import httpx
import pytest

from purser.compose.settings import Settings
from purser.gateway.http.bodies import MAX_BODY
from tests.gateway.conftest import RunningGateway

LARGE = json.dumps([{"role": "user", "content": "a " * MAX_BODY}]).encode()
AS_JSON = {"content-type": "application/json"}


async def begin(gateway: RunningGateway, client: httpx.AsyncClient, length: str, part: bytes) -> asyncio.StreamWriter:
    """A request whose body stays incomplete."""
    host = httpx.URL(gateway.url)
    _, writer = await asyncio.open_connection(host.host, host.port)
    head = "POST /v1/sessions/begun/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += f"authorization: {client.headers['authorization']}\r\n{length}\r\n\r\n"
    writer.write(head.encode() + part)
    await writer.drain()
    return writer


async def refused_beside(
    gateway: RunningGateway, client: httpx.AsyncClient, length: str, part: bytes
) -> tuple[asyncio.StreamWriter, httpx.Response]:
    """An incomplete large body, and the answer to another that comes meanwhile.

    Either may be the first that the gateway looks at: then the incomplete one is refused, and both come again.
    """
    async with asyncio.timeout(120):
        while True:
            writer = await begin(gateway, client, length, part)
            answer = await post(client)
            if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                return writer, answer
            writer.close()


async def accepted(client: httpx.AsyncClient) -> httpx.Response:
    """The first answer to a large body that is not refused."""
    async with asyncio.timeout(120):
        while (answer := await post(client)).status_code == httpx.codes.TOO_MANY_REQUESTS:
            pass
        return answer


async def post(client: httpx.AsyncClient) -> httpx.Response:
    """Sends a large body."""
    return await client.post("/v1/sessions/whole/messages", content=LARGE, headers=AS_JSON)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"large_bodies_per_key": 1})


@pytest.mark.parametrize(
    ("length", "part"),
    [
        (f"content-length: {2 * MAX_BODY}", b"["),
        ("transfer-encoding: chunked", b"%x\r\n" % (2 * MAX_BODY) + b" " * 2 * MAX_BODY + b"\r\n"),
    ],
    ids=["with its length", "in chunks"],
)
async def test_a_key_has_so_many_large_bodies_under_way(gateway: RunningGateway, length: str, part: bytes) -> None:
    one, other = await gateway.client(name="one"), await gateway.client(name="other")
    writer, refused = await refused_beside(gateway, one, length, part)
    assert refused.json()["detail"] == "this key has 1 requests with a large body in progress: send one after the other"
    assert refused.headers["retry-after"] == "1"
    small = [{"role": "user", "content": "Hello."}]
    assert (await one.post("/v1/sessions/whole/messages", json=small)).status_code == 200
    assert (await post(other)).status_code == 200
    writer.close()
    await writer.wait_closed()
    assert (await accepted(one)).json()["seqs"]
