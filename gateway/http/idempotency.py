"""`Idempotency-Key`: the same POST again gets the same answer and changes nothing.

Holds, attempts, settlements, tasks and decisions carry a key, number or id of their own and take no header; releasing,
pausing, resuming and cancelling are the same done twice; looking changes nothing. The other POSTs take the header.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request

from purser.budget.postgres.connections.pools import Connection, retrying
from purser.gateway.access.roles import Principal
from purser.gateway.errors import AlreadyMade
from purser.gateway.http.views import View
from purser.gateway.postgres.idempotency import Ask
from purser.gateway.services import Use

V = TypeVar("V", bound=View)
MAX_KEY = 256

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY,
        pattern="^[ -~]+$",
        description="Chosen by the caller, for example a UUID. For 24 hours the same request with it gets the same "
        "answer and changes nothing; another request with it is 409.",
    ),
]


class Once:
    """A POST and the key that it came with, if any."""

    def __init__(self, request: Request, use: Use, key: IdempotencyKey = None) -> None:
        self._request = request
        self._use = use
        self._key = key

    async def do(
        self,
        caller: Principal,
        view: type[V],
        act: Callable[[Connection | None], Awaitable[V]],
        *,
        secrets: tuple[str, ...] = (),
    ) -> V:
        """The answer of `act`, or the one that the same request got before.

        Args:
            caller: whose key it is.
            view: what `act` answers with.
            act: does it, in the transaction of the connection that it gets.
            secrets: fields of the answer that are never kept: the request again is told that it was answered.

        Raises:
            KeyReused: the key came with another request before.
            AlreadyMade: the answer held a secret, which is shown once.
        """
        if self._key is None:
            return await act(None)
        ask = await self._ask(caller, self._key)

        async def step() -> V:
            async with self._use.answers.claim(ask) as claim:
                if claim.answer is not None:
                    if secrets:
                        raise _already_made(claim.answer)
                    return view.model_validate(claim.answer)
                made = await act(claim.connection)
                await claim.keep(made.model_dump(mode="json", exclude_unset=True, exclude=set(secrets)))
                return made

        return await retrying(step)

    async def recall(self, caller: Principal, view: type[V], act: Callable[[], Awaitable[V]]) -> V:
        """The same for what happens elsewhere and is the same done twice: only the answer is kept, when it is there."""
        if self._key is None:
            return await act()
        ask = await self._ask(caller, self._key)
        known = await self._use.answers.recall(ask)
        if known is not None:
            return view.model_validate(known)
        made = await act()
        await self._use.answers.remember(ask, made.model_dump(mode="json", exclude_unset=True))
        return made

    async def _ask(self, caller: Principal, key: str) -> Ask:
        body = await self._request.body()
        payload = [self._request.method, self._request.url.path, json.loads(body) if body else None]
        return Ask(caller, key, json.dumps(payload, sort_keys=True).encode())


OnceOnly = Annotated[Once, Depends()]


def _already_made(answer: dict[str, object]) -> AlreadyMade:
    ids = [str(value) for name, value in answer.items() if name.endswith("_id")]
    named = f" ({ids[0]})" if ids else ""
    return AlreadyMade(f"this request was answered before{named}; its secret is shown once and was not kept")
