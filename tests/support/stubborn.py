"""A client that repeats each request until it is answered, as every caller should, and remembers what it was told."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx

PATIENCE_S = 300.0
AWAY = 503
"""Answered by a gateway that cannot do it now: the same request is sent again."""

Json = dict[str, Any]


@dataclass
class Stubborn:
    """A client of a gateway that comes and goes."""

    http: httpx.AsyncClient
    random: Random
    unanswered: int = 0
    """Requests that broke off: nobody knows what became of them."""
    repeated: int = 0
    """Requests that were sent again although they had been answered."""

    async def ask(
        self, method: str, path: str, body: Json | None = None, *, same: Callable[[Json], object], **headers: str
    ) -> Json:
        """The answer to a request, however often it takes; about every second one is then asked for once more.

        Args:
            method: and
            path: of the request.
            body: JSON.
            same: what of the answer has to be the same when it is asked for again.
            headers: with `_` for `-`.
        """
        answer = await self._answer(method, path, body, headers)
        if self.random.random() < 0.5:
            self.repeated += 1
            again = await self._answer(method, path, body, headers)
            assert same(again) == same(answer), f"{method} {path} was answered {answer}, then {again}"
        return answer

    async def _answer(self, method: str, path: str, body: Json | None, headers: dict[str, str]) -> Json:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    response = await self.http.request(method, path, json=body, headers=sent)
                except httpx.TransportError:
                    self.unanswered += 1
                else:
                    if response.status_code != AWAY:
                        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
                        answer: Json = response.json()
                        return answer
                await asyncio.sleep(self.random.uniform(0.02, 0.1))
