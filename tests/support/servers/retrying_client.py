"""A client that repeats each request until it is answered, as every caller should, and compares repeated answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx

TIMEOUT_S = 300.0
UNAVAILABLE = 503
"""Status of a gateway that cannot serve the request now: the same request is sent again."""

Json = dict[str, Any]


@dataclass
class RetryingClient:
    """A client of a gateway that is killed and restarted."""

    http: httpx.AsyncClient
    random: Random
    unanswered: int = 0
    """Requests without an answer, whose effect is unknown."""
    repeated: int = 0
    """Requests repeated although they had been answered."""

    async def ask(
        self, method: str, path: str, body: Json | None = None, *, same: Callable[[Json], object], **headers: str
    ) -> Json:
        """Repeats a request until it is answered; then repeats about every second one and compares the answers.

        Args:
            method, path: of the request.
            body: JSON body.
            same: selects the part of the answer that must not change on repetition.
            headers: headers, with `_` for `-`.
        """
        answer = await self._answer(method, path, body, headers)
        if self.random.random() < 0.5:
            self.repeated += 1
            again = await self._answer(method, path, body, headers)
            assert same(again) == same(answer), f"{method} {path} was answered {answer}, then {again}"
        return answer

    async def _answer(self, method: str, path: str, body: Json | None, headers: dict[str, str]) -> Json:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                try:
                    response = await self.http.request(method, path, json=body, headers=sent)
                except httpx.TransportError:
                    self.unanswered += 1
                else:
                    if response.status_code != UNAVAILABLE:
                        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
                        answer: Json = response.json()
                        return answer
                await asyncio.sleep(self.random.uniform(0.02, 0.1))
