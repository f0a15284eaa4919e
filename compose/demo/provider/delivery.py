"""The delivery of one answer to a client that may disconnect, by a provider that may fail on purpose."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from purser.compose.demo.provider.answers import Answer
from purser.compose.demo.provider.control import Control
from purser.compose.demo.provider.embeddings import embedding_list
from purser.compose.demo.provider.script import Fault, FaultKind, RequestInfo, Rule
from purser.compose.demo.provider.service_log import End, Outcome
from purser.compose.demo.provider.tokens import Completion, Piece
from purser.compose.demo.provider.wire import EmbeddingRequest, ModelRequest, Usage

TOKENS_PER_CHUNK = 16

HangUp = Callable[[Scope], None]
"""Closes the connection of a request."""


class _Dropped(Exception):
    """The provider drops the connection here."""


@dataclass(frozen=True)
class Exchange:
    """A request and how it is answered."""

    seq: int
    """Its number in the log."""
    info: RequestInfo
    """What is known of the request without its prompt."""
    request: ModelRequest
    """The body of the request."""
    prompt: Sequence[int] = field(repr=False)
    """The tokens of the prompt."""
    completion: Completion = field(repr=False)
    """The completion to send; empty for embeddings."""
    answer: Answer
    """How the completion is written."""
    rule: Rule = field(repr=False)
    """The rule that answers it."""
    fault: Fault | None
    """The fault to apply, if any."""


class Delivery:
    """Sends one completion, streamed or whole, and logs how it ended."""

    def __init__(self, exchange: Exchange, control: Control, hang_up: HangUp) -> None:
        self._exchange = exchange
        self._control = control
        self._hang_up = hang_up
        self._chunks = list(_chunks(exchange.completion.pieces, exchange.rule.chunks))
        self._status: int | None = None
        self._produced = 0
        self._usage: Usage | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers until the answer is complete, the client disconnects, or the provider stops, whichever is first."""
        answering = asyncio.create_task(self._answer(scope, receive, send))
        leaving = asyncio.create_task(_client_left(receive))
        stopping = asyncio.create_task(self._control.stopping.wait())
        try:
            await asyncio.wait((answering, leaving, stopping), return_when=asyncio.FIRST_COMPLETED)
            outcome = _interruption(answering, leaving)
            if outcome is None:
                return answering.result()
            answering.cancel()
            await asyncio.wait((answering,))
            self._log_end(outcome)
            self._hang_up(scope)
            await leaving
        finally:
            for task in (answering, leaving, stopping):
                task.cancel()
            await asyncio.gather(answering, leaving, stopping, return_exceptions=True)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._apply_fault(None)
        usage = self._count()
        self._produced = self._exchange.completion.reasoning_tokens
        if self._exchange.request.stream:
            await self._stream(send, usage)
        else:
            await self._send_whole(scope, receive, send, usage)
        # Nothing is awaited between the last byte and this line: a client that has the answer finds it in the log.
        self._log_end(Outcome.ANSWERED, self._exchange.completion.finish_reason)

    def _count(self) -> Usage | None:
        """The usage to report, or None; adds the prompt to the cache."""
        exchange = self._exchange
        cached = 0
        if not isinstance(exchange.request, EmbeddingRequest):
            cached = self._control.cache.admit(exchange.info.conversation, exchange.prompt)
        if not (exchange.request.wants_usage and exchange.rule.report_usage):
            return None
        return exchange.rule.usage or Usage(
            prompt_tokens=len(exchange.prompt),
            completion_tokens=exchange.completion.tokens,
            cached_tokens=cached,
            reasoning_tokens=exchange.completion.reasoning_tokens,
        )

    async def _send_whole(self, scope: Scope, receive: Receive, send: Send, usage: Usage | None) -> None:
        async for _ in self._paced():
            pass
        exchange = self._exchange
        if isinstance(exchange.request, EmbeddingRequest):
            body = embedding_list(exchange.request) | ({"usage": usage.payload()} if usage else {})
        else:
            body = exchange.answer.whole(exchange.completion, usage)
        await JSONResponse(body, headers={"x-request-id": exchange.answer.id})(scope, receive, send)
        self._status, self._usage = 200, usage

    async def _stream(self, send: Send, usage: Usage | None) -> None:
        answer = self._exchange.answer
        headers = [(b"content-type", b"text/event-stream"), (b"x-request-id", answer.id.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._status = 200
        for payload in answer.begin():
            await _send_event(send, payload)
        async for pieces in self._paced():
            await _send_event(send, answer.part(pieces))
        for payload in answer.end(self._exchange.completion, usage):
            await _send_event(send, payload)
        self._usage = usage
        await send({"type": "http.response.body", "body": answer.last, "more_body": False})

    async def _paced(self) -> AsyncIterator[Sequence[Piece]]:
        """The chunks, each after its delay, with the fault applied at its point."""
        for index, pieces in enumerate(self._chunks):
            await self._apply_fault(index)
            await asyncio.sleep(self._exchange.rule.chunk_delay_ms / 1000)
            yield pieces
            self._produced += sum(piece.tokens for piece in pieces)
        await self._apply_fault(len(self._chunks))

    async def _apply_fault(self, point: int | None) -> None:
        """Applies the fault if this is its point: before the answer (None), or after so many chunks."""
        fault = self._exchange.fault
        if fault is None or point != _point(fault, len(self._chunks)):
            return
        match fault.kind:
            case FaultKind.DROP:
                raise _Dropped
            case FaultKind.HANG:
                await asyncio.Event().wait()
            case FaultKind.SLOW:
                await asyncio.sleep(fault.delay_ms / 1000)
            case FaultKind.HOLD:
                await self._control.wait(self._exchange.seq, self._exchange.info)

    def _log_end(self, outcome: Outcome, finish_reason: str | None = None) -> None:
        fault = self._exchange.fault
        kind = None if fault is None else fault.kind.value
        self._control.log.ended(
            self._exchange.seq, End(outcome, self._status, finish_reason, self._produced, self._usage, kind)
        )


def _interruption(answering: asyncio.Task[None], leaving: asyncio.Task[None]) -> Outcome | None:
    """Why an answer was interrupted; None if it is complete, or failed in a way that is not scripted."""
    if answering.done():
        return Outcome.DROPPED if isinstance(answering.exception(), _Dropped) else None
    return Outcome.CLIENT_GONE if leaving.done() else Outcome.STOPPED


def _point(fault: Fault, chunks: int) -> int | None:
    return None if fault.after_chunks is None else min(fault.after_chunks, chunks)


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_event(send: Send, payload: dict[str, Any]) -> None:
    body = f"data: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()
    await send({"type": "http.response.body", "body": body, "more_body": True})


def _chunks(pieces: Sequence[Piece], wanted: int | None) -> Iterator[Sequence[Piece]]:
    """The pieces in about equal chunks."""
    count = min(wanted or -(-len(pieces) // TOKENS_PER_CHUNK), len(pieces))
    edges = [len(pieces) * index // count for index in range(count + 1)] if count else []
    return (pieces[start:end] for start, end in itertools.pairwise(edges))
