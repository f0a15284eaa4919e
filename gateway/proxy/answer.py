"""The response to a call: it holds, sends and charges while the client listens, and stops when the client leaves."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from purser.activities.errors import ProviderError
from purser.activities.models.embedding_requests import Embeddings
from purser.activities.models.partial_replies import PartialReply
from purser.budget.climbs import step_text
from purser.budget.errors import HoldClosed, LedgerUnavailable
from purser.gateway.errors import Unauthenticated
from purser.gateway.http.problems import problem_of
from purser.gateway.proxy.chat_call import ChatCall, OnChoice
from purser.gateway.proxy.embedding_call import EmbeddingCall
from purser.gateway.proxy.held_call import Charged, HeldCall
from purser.gateway.proxy.verdicts import Denial, NotAdmitted, denial_of
from purser.gateway.services import Services

SEND_TIMEOUT_S = 30
"""Seconds after which a client that reads nothing counts as gone."""
_EVENTS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
_log = structlog.get_logger(__name__)


class Dialect(Protocol):
    """How a protocol writes replies, and errors in the middle of them."""

    streams: bool

    def called(self, model: str) -> None:
        """Names the model that is called in the reply."""

    def add(self, choice: Mapping[str, Any]) -> None:
        """Keeps a part of a reply that is sent as a whole."""

    def part(self, choice: Mapping[str, Any]) -> bytes:
        """One part of a streamed reply."""

    def end(self, partial: PartialReply, charged: Charged) -> bytes:
        """The end of a streamed reply."""

    def whole(self, partial: PartialReply, charged: Charged) -> dict[str, Any]:
        """The whole reply."""

    def error_event(self, denial: Denial) -> bytes:
        """An error in the middle of a stream."""


class Call(Protocol):
    """A call under the gate."""

    held: HeldCall
    cap: int
    headers: Mapping[str, str]
    """What its answer says beside its hold."""

    async def admit(self) -> None:
        """Holds the most that it may use; again if its hold has closed."""


class _KeyEnded(asyncio.CancelledError):
    """The key of a call has ended: its stream does not go on, and what was produced is charged."""


class ProxyAnswer(Response, ABC):
    """Answers one call, and cancels it if the client leaves."""

    def __init__(self, call: Call, use: Services, error_of: Callable[[Denial], dict[str, Any]]) -> None:
        super().__init__()
        self._call = call
        self._use = use
        self._error_of = error_of
        self._begun = False
        """Whether the status has been sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._key_ended = scope["state"]["key_ended"]
        work = asyncio.create_task(self._answer(send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as stop:
            await _cancel(work)
            if not self._begun:
                raise
            if work.cancelled():
                await self._break_off(send, denial_of(stop, self._use.public_url))
        finally:
            gone.cancel()
            await _cancel(work)

    @abstractmethod
    async def _reply(self, send: Send) -> None:
        """Sends the request of an admitted call and answers with its reply."""

    @property
    def _call_headers(self) -> dict[str, str]:
        held = self._call.held
        admitted = {**_admitted(self._call), **self._call.headers} if held.answer is not None else {}
        return admitted | _eased(held)

    async def _answer(self, send: Send) -> None:
        try:
            await self._call.admit()
            try:
                await self._reply(send)
            except HoldClosed:
                if not self._call.held.was_overtaken:
                    raise
                await self._call.admit()
                await self._reply(send)
        except _KeyEnded:
            ended = Unauthenticated("the key of the call has ended or changed meanwhile, which ended the call too")
            await self._fail(ended, send)
        except Exception as error:
            await self._fail(error, send)

    async def _whole(self, send: Send, body: Mapping[str, Any], charged: Charged) -> None:
        headers = self._call_headers | {"Purser-Cost-Nano-Usd": str(charged.nano_usd)}
        await self._json(send, 200, body, headers)

    async def _fail(self, error: Exception, send: Send) -> None:
        known = isinstance(error, NotAdmitted | ProviderError) or problem_of(error) is not None
        if not known:
            _log.error("call failed", error=type(error).__name__)
            if not isinstance(error, OSError):  # of a client that is gone
                self._use.metrics.proxy_failed()
        if isinstance(error, LedgerUnavailable):
            self._use.metrics.calls.ledger_unavailable("http")
        denial = denial_of(error, self._use.public_url)
        if self._begun:
            await self._break_off(send, denial)
        else:
            await self._json(send, denial.status, self._error_of(denial), self._call_headers | denial.all_headers())

    async def _break_off(self, send: Send, denial: Denial) -> None:
        """Ends a stream that has begun; nothing follows an answer that was sent whole."""

    async def _json(self, send: Send, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        # ASCII: halves of surrogate pairs, which models do send, have no other form.
        content = json.dumps(body).encode()
        self._begun = True
        length = (b"content-length", str(len(content)).encode())
        about = [(b"content-type", b"application/json"), length, *_raw(headers)]
        await send({"type": "http.response.start", "status": status, "headers": about})
        await send({"type": "http.response.body", "body": content})


class ChatAnswer(ProxyAnswer):
    """Answers a chat request, streamed or not."""

    def __init__(
        self, call: ChatCall, dialect: Dialect, error_of: Callable[[Denial], dict[str, Any]], use: Services
    ) -> None:
        super().__init__(call, use, error_of)
        self._chat = call
        self._dialect = dialect

    async def _reply(self, send: Send) -> None:
        partial = PartialReply()
        self._dialect.called(self._chat.held.model)
        charged = await self._chat.run(partial, self._on_choice(send))
        if self._dialect.streams:
            await self._begin(send)
            await _send(send, self._dialect.end(partial, charged), more=False)
        else:
            await self._whole(send, self._dialect.whole(partial, charged), charged)

    def _on_choice(self, send: Send) -> OnChoice:
        async def on_choice(choice: Mapping[str, Any]) -> None:
            if self._dialect.streams:
                if await self._key_ended():
                    raise _KeyEnded
                await self._begin(send)
                await _send(send, self._dialect.part(choice))
            else:
                self._dialect.add(choice)

        return on_choice

    async def _begin(self, send: Send) -> None:
        """Begins a stream with the first part of the reply: until then an error has its own status."""
        if not self._begun:
            self._begun = True
            headers = [*_EVENTS, *_raw(self._call_headers)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _break_off(self, send: Send, denial: Denial) -> None:
        if self._dialect.streams:
            await _send(send, self._dialect.error_event(denial), more=False)


class EmbeddingsAnswer(ProxyAnswer):
    """Answers a request for vectors."""

    def __init__(
        self,
        call: EmbeddingCall,
        answer: Callable[[Embeddings, Charged], dict[str, Any]],
        error_of: Callable[[Denial], dict[str, Any]],
        use: Services,
    ) -> None:
        super().__init__(call, use, error_of)
        self._embedding = call
        self._body_of = answer

    async def _reply(self, send: Send) -> None:
        found, charged = await self._embedding.run()
        await self._whole(send, self._body_of(found, charged), charged)


def _admitted(call: Call) -> dict[str, str]:
    """Headers of an admitted call: what is left on the tightest scope after it, and how it was held."""
    gate, amount = call.held.held.gate, call.held.held.amount
    headers = {
        "Purser-Hold-Id": call.held.hold_id,
        "Purser-Verdict": str(gate.verdict),
        "Purser-Max-Tokens": str(call.cap),
        "Purser-Delay-Ms": str(gate.delay_ms),
    }
    scopes = [one for one in gate.scopes if not one.view.shadow]
    lefts = ((one.headroom_tokens, one.scope) for one in scopes)
    tokens = min(((left - amount.tokens, scope) for left, scope in lefts if left is not None), default=None)
    money = (one.headroom_nano_usd for one in scopes)
    nano = min((left - amount.nano_usd for left in money if left is not None), default=None)
    if tokens is not None:
        headers |= {"Purser-Scope": str(tokens[1]), "Purser-Remaining-Tokens": str(tokens[0])}
        headers["x-ratelimit-remaining-tokens"] = str(max(0, tokens[0]))
    if nano is not None:
        headers["Purser-Remaining-Nano-Usd"] = str(nano)
    return headers


def _eased(held: HeldCall) -> dict[str, str]:
    """Headers of a call that took steps of ladders: the model that is called, and what each step changed."""
    if not held.steps:
        return {}
    return {"Purser-Model": held.model, "Purser-Ladder": "; ".join(map(step_text, held.steps))}


async def _cancel(work: asyncio.Task[None]) -> None:
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await send({"type": "http.response.body", "body": body, "more_body": more})
    except TimeoutError:
        raise asyncio.CancelledError("the client does not read") from None


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
