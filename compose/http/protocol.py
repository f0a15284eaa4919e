"""HTTP protocol with limits on size and time for each connection, on top of uvicorn's protocol."""

import asyncio
from collections.abc import Callable, Sized
from functools import partial
from http import HTTPStatus
from typing import Any, NoReturn

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from purser.compose.http.connections import (
    LINGER_S,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_SMALL_CHUNKS,
    MIN_BODY_BYTES_PER_S,
    MIN_CHUNK_BYTES,
    WRITE_STALL_S,
    Connections,
)

_TOO_MANY = "too many connections are open: close some, or try again later"
_TOO_LARGE = f"address and headers take more than {MAX_HEADER_BYTES} bytes or {MAX_HEADERS} headers: send less"
_TOO_SMALL = f"the chunks of the body have less than {MIN_CHUNK_BYTES} bytes on average: send larger ones"


class LimitedProtocol(HttpToolsProtocol):
    """One connection. A request that exceeds a limit is answered with 400, 408, 431 or 503, and the connection is
    closed. It is also closed after the answers to `MAX_PIPELINED` requests that came too early, if there are more.
    """

    def __init__(self, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._connections = connections
        self._limits = connections.limits
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._then: Callable[[], None] | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._begun = False
        self._in_body = False
        self._progress = False
        self._is_full = False
        self._pending = 0
        self._body_bytes = 0
        self._chunks = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        if self._connections.admit(self._address, transport):
            self._start_timer(self._limits.header_s, self._head_overdue)
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, _TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._timer is not None:
            self._timer.cancel()
        self._stop_write_timer()
        self._connections.release(self._address, self.transport)
        if self._running is not None:  # uvicorn tells only the last request, which may still wait
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._is_full:
            return
        if self._then is None:
            self._start_timer(self._limits.header_s, self._head_overdue)
        self._progress = False
        super().data_received(data)
        # The parser reports a header, trailer or chunk size only once it is complete, and buffers it until then.
        self._pending = 0 if self._progress else self._pending + len(data)
        if self._pending > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            self._is_full, self.cycle.keep_alive = True, False
            raise ValueError  # the parser stops here
        super().on_message_begin()
        self._begun = self._progress = True
        self._start_timer(self._limits.header_s, self._head_overdue)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEADER_BYTES:
            self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
        self._in_body = self._progress = True
        self._body_bytes = self._chunks = 0
        self._start_timer(self._limits.body_s, partial(self._body_overdue, self.loop.time()))
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._progress = True
        self._body_bytes += len(body)
        self._chunks += 1
        if self._chunks > MAX_SMALL_CHUNKS + self._body_bytes // MIN_CHUNK_BYTES:
            self._stop(HTTPStatus.BAD_REQUEST, _TOO_SMALL)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._begun = self._in_body = False
        self._progress = True
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body and self.cycle.response_complete:
            self._start_timer(LINGER_S, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing() and not self._is_full:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(WRITE_STALL_S, self._write_overdue, self._unsent)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request
        return cycle is not None and not cycle.response_complete

    @property
    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _stop(self, status: HTTPStatus, detail: str) -> NoReturn:
        self._refuse(status, detail)
        raise ValueError(detail)  # the parser stops here

    def _head_overdue(self) -> None:
        if self._is_answering:
            self._start_timer(self._limits.header_s, self._head_overdue)  # the previous response is still being sent
        elif self._begun:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the headers did not arrive in time: send them at once")
        else:
            self.transport.close()

    def _body_overdue(self, began: float) -> None:
        left = began + self._limits.body_s + self._body_bytes / MIN_BODY_BYTES_PER_S - self.loop.time()
        if self.flow.read_paused:
            left = max(left, self._limits.body_s)  # the application is slow, not the client
        if left > 0:
            self._start_timer(left, partial(self._body_overdue, began))
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time: send it faster")

    def _write_overdue(self, unsent: int) -> None:
        if self._unsent < unsent:
            self._write_timer = self.loop.call_later(WRITE_STALL_S, self._write_overdue, self._unsent)
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answers the request that is being received, and closes the connection."""
        self._stop_timer()
        if self.pipeline or (self.cycle.response_started if self._in_body else self._is_answering):
            self.transport.abort()  # the client would take it for a part of another answer
            return
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\ncontent-type: text/plain\r\n"
        self.transport.write(f"{head}content-length: {len(detail)}\r\n\r\n{detail}".encode("ascii"))
        self.transport.close()

    def _start_timer(self, seconds: float, then: Callable[[], None]) -> None:
        """Call `then` once the time is over, in place of what was to be called.

        Each request has several such times, and setting a timer of the event loop takes long. So one timer stays: it is
        set anew only if it would end too late, and if it ends too early it waits for the rest.
        """
        self._due, self._then = self.loop.time() + seconds, then
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.loop.call_at(self._due, self._timer_ended)

    def _timer_ended(self) -> None:
        self._timer, then = None, self._then
        if then is None:
            return
        if self.loop.time() < self._due:
            self._timer = self.loop.call_at(self._due, self._timer_ended)
        else:
            self._then = None
            then()

    def _stop_timer(self) -> None:
        self._then = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


class _Flow(FlowControl):
    """Reads nothing while requests wait: each one that begins or ends would resume reading."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()
