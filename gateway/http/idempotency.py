"""`Idempotency-Key`: a repeated POST gets the same answer and has no effect.

Holds, attempts, settlements, tasks and decisions have their own key, number or id and take no header; releasing,
pausing, resuming and cancelling are idempotent by nature; reads change nothing. All other POSTs take the header.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Connection, retrying
from purser.gateway.access.roles import Principal
from purser.gateway.errors import AlreadyMade, OutcomeUnknown
from purser.gateway.http.bodies import read_json
from purser.gateway.postgres.idempotency import KeyedRequest
from purser.gateway.services import Use
from purser.wire.base import View

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
        "answer and has no effect; another request with it is 409.",
    ),
]


class Once:
    """A POST with its Idempotency-Key, if any."""

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
        is_final: Callable[[V], bool] = lambda _: True,
        repeatable: bool = False,
    ) -> V:
        """Returns the answer of `act`, or the stored answer if the request is a repetition.

        Args:
            caller: the caller to which the key belongs.
            view: type of the answer.
            act: handles the request, in the transaction of the connection that it gets.
            secrets: fields of the answer that are not stored: a repetition gets an error.
            is_final: whether an answer is stored; if not, a repetition acts anew.
            repeatable: whether `act` has the same effect again, so that the request needs no key.

        Raises:
            KeyReused: the key is bound to another request.
            AlreadyMade: the answer contained a secret, which is shown once.
            OutcomeUnknown: the ledger did not answer, or the gateway stops before it does, and nothing tells a
                repetition of the request from another one.
        """
        if self._key is None:
            try:
                return await act(None)
            except (LedgerUnavailable, asyncio.CancelledError) as error:  # cancelled: the gateway stops
                if repeatable:
                    raise
                raise OutcomeUnknown from error
        keyed = await self._keyed(caller, self._key)

        async def step() -> V:
            async with self._use.idempotency.claim(keyed) as claim:
                if claim.answer is not None:
                    if secrets:
                        raise _already_made(claim.answer)
                    return view.model_validate(claim.answer)
                made = await act(claim.connection)
                if is_final(made):
                    await claim.store(made.model_dump(mode="json", exclude_unset=True, exclude=set(secrets)))
                return made

        return await retrying(step)

    async def recall(self, caller: Principal, view: type[V], act: Callable[[], Awaitable[V]]) -> V:
        """As `do`, for idempotent work outside the transaction: only its answer is stored, once it is known.

        The answer must not contain text of a session: deleting the session does not delete it.
        """
        if self._key is None:
            return await act()
        keyed = await self._keyed(caller, self._key)
        known = await self._use.idempotency.find(keyed)
        if known is not None:
            return view.model_validate(known)
        made = await act()
        await self._use.idempotency.store(keyed, made.model_dump(mode="json", exclude_unset=True))
        return made

    async def _keyed(self, caller: Principal, key: str) -> KeyedRequest:
        body = await self._request.body()
        payload = [self._request.method, self._request.url.path, read_json(body) if body else None]
        return KeyedRequest(caller, key, json.dumps(payload, sort_keys=True).encode())


OnceOnly = Annotated[Once, Depends()]


def _already_made(answer: dict[str, object]) -> AlreadyMade:
    ids = [str(value) for name, value in answer.items() if name.endswith("_id")]
    named = f" ({ids[0]})" if ids else ""
    return AlreadyMade(f"this request was answered before{named}; its secret is shown once and is not stored")
