"""Client of the gateway's HTTP API, which the demo uses like any other client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from purser.compose.errors import RequestFailed


class Api:
    """HTTP API of the demo's own gateway, called with one key."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, path: str, **params: str) -> Any:
        """Sends a GET and returns the JSON of the answer; raises `RequestFailed`."""
        return _body(await self._client.get(path, params=params))

    async def post(self, path: str, body: object) -> Any:
        """Sends a POST and returns the JSON of the answer; raises `RequestFailed`."""
        return _body(await self._client.post(path, json=body))


@asynccontextmanager
async def api(address: str, key: str) -> AsyncIterator[Api]:
    """The API of the gateway at `address`, called with `key`."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=30) as client:
        yield Api(client)


def _body(response: httpx.Response) -> Any:
    if response.is_error:
        raise RequestFailed(response.json())
    return response.json()
