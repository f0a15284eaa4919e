"""The HTTP transport of requests to providers: each is sent once, to its own address, and its answer is bounded."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import httpx

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.egress.answers import (
    ByteLimit,
    OnUsageRefused,
    as_stream,
    countable,
    event_lines,
    first_bytes,
    whole_body,
)
from purser.activities.models.egress.routes import Route

_OWN_HEADERS = {"host", "accept", "connection", "content-type", "content-length", "user-agent"}
"""Headers that an `api_base` receives, in addition to its key and the id of the request."""
MAX_REQUEST_ID = 200
"""Characters of the longest id of a request that is kept."""
_BIG_BODY = 64 * 1024
"""Bytes above which JSON is parsed off the event loop."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of an answer, and of the delay that a provider may ask for."""

    error_bytes: int = 8 * 1024
    """Most bytes of the body of an error; the rest is not read, because LiteLLM searches it on the event loop."""
    line_bytes: int = 1024 * 1024
    """Most bytes of one line of a stream."""
    bytes_per_token: int = 1024
    """Most bytes of a reply for each token that it may have; one MiB is added."""
    reply_ceiling: int = 64 * 1024 * 1024
    """Most bytes of a reply, however many tokens it may have: the caller chooses their number."""
    retry_after_ms: int = 600_000
    """Longest delay that is honoured of a provider's `Retry-After`."""
    error_s: float = 5
    """Seconds after which the rest of the body of an error is not read: its status says enough."""

    def reply_bytes(self, tokens: int) -> int:
        """Most bytes of a reply that may have so many tokens."""
        return min(tokens * self.bytes_per_token + 1024 * 1024, self.reply_ceiling)


@dataclass(frozen=True, slots=True)
class SendPermit:
    """Permission to send one request."""

    request_id: str
    """`{hold_id}-{attempt}`, for the provider's log and Purser's."""
    cap: int
    """Most output tokens."""


OnSend = Callable[[], Awaitable[SendPermit]]
"""Called when a request is ready and nothing has been sent yet; an exception stops the request."""


class RequestStopped(httpx.TransportError):
    """The transport stopped the request or its answer; `ProviderTransport.failure` says why."""


class SmallerCap(Exception):
    """The permit has a smaller output cap than the request: the request must be built again."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"build it again for {cap} tokens")
        self.cap = cap


class ProviderTransport(httpx.AsyncBaseTransport):
    """Sends one request to a provider and bounds its answer."""

    def __init__(
        self,
        connections: httpx.AsyncBaseTransport,
        route: Route,
        bounds: Bounds,
        on_send: OnSend,
        *,
        cap: int,
        most_bytes: int,
        streams: bool,
        timeout: Mapping[str, float | None],
        on_usage_refused: OnUsageRefused,
    ) -> None:
        """Args:
        connections: transport that connects and sends.
        route: the address to which the request may go, and its key.
        bounds: bounds of the answer.
        on_send: called before the request is sent.
        cap: most output tokens that the request asks for.
        most_bytes: most bytes of the answer.
        streams: whether the answer is to be a stream.
        timeout: as `httpx.Timeout.as_dict` returns it.
        on_usage_refused: called with the reason if a usage report is refused.
        """
        self._connections = connections
        self._route = route
        self._bounds = bounds
        self._on_send = on_send
        self._cap = cap
        self._most_bytes = most_bytes
        self._streams = streams
        self._timeout = timeout
        self._on_usage_refused = on_usage_refused
        self._permit: SendPermit | None = None
        self._answer: httpx.Response | None = None
        self.sent = False
        """Whether the request may have reached the provider."""
        self.streamed = False
        """Whether the answer arrives in pieces."""
        self.status: int | None = None
        """HTTP status of the answer."""
        self.provider_request_id = ""
        """The provider's own id of the request; empty: it sent none."""
        self.retry_after_ms: int | None = None
        self.failure: Exception | None = None
        """Why the request or its answer was stopped."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.sent or self.failure is not None:
            # One request per attempt: Purser retries instead of the library, and charges every attempt.
            raise RequestStopped("this attempt has already sent its request")
        try:
            return await self._exchange(request)
        except Exception as error:
            raise self.stopped(error) from None

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        if not self._route.covers(request.url):
            raise ProviderRejected("address_not_allowed", cost=Cost.NOTHING)
        leaving = httpx.Request(
            request.method,
            request.url,
            headers=self._headers(request.headers),
            content=await request.aread(),
            extensions={"timeout": self._timeout, "trace": self._before_headers},
        )
        try:
            response = await self._connections.handle_async_request(leaving)
        except httpx.HTTPError:
            if self._permit is None:  # a failed connection counts as an attempt too
                await self._on_send()
            raise
        self._answer = response
        self.status = response.status_code
        self.provider_request_id = _request_id(response.headers)
        self.retry_after_ms = _retry_after_ms(response.headers, self._bounds.retry_after_ms)
        return await self._bounded(response)

    async def _before_headers(self, event: str, details: Mapping[str, Any]) -> None:
        """Obtains the permit when the connection is open and nothing has been sent yet, and adds the request id.

        A worker that dies while connecting has started no attempt. Opening a tunnel through a proxy is part of
        connecting. If the connection turns out to be closed, the same permit is used on the next one.
        """
        if event.endswith("connect_tcp.started"):
            self.sent = False
        if not event.endswith("send_request_headers.started") or details["request"].method == b"CONNECT":
            return
        if self._permit is None:
            permit = await self._on_send()
            if permit.cap < self._cap:
                raise SmallerCap(permit.cap)
            details["request"].headers.append((b"x-client-request-id", permit.request_id.encode()))
            self._permit = permit
        self.sent = True

    def _headers(self, given: httpx.Headers) -> list[tuple[str, str]]:
        own = {name: value for name, value in given.items() if name in _OWN_HEADERS or not self._route.own}
        own["accept-encoding"] = "identity"
        if self._route.own:
            own["authorization"] = f"Bearer {self._route.key}"
        return list(own.items())

    async def _bounded(self, response: httpx.Response) -> httpx.Response:
        """Returns the bounded answer; that of a failed request is never a stream."""
        chunks = cast(AsyncIterator[bytes], response.stream)
        status, kind = response.status_code, response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if 200 <= status < 300:
            if response.headers.get("content-encoding", "identity") not in ("identity", ""):
                await _close(response)
                raise ProviderUnavailable("unreadable_reply", cost=Cost.UNKNOWN)
            if self._streams and kind != "application/json":
                headers = {"content-type": "text/event-stream"}
                self.streamed = True
                return httpx.Response(status, headers=headers, stream=_EventStream(self, response, chunks))
        try:
            if status >= 300:
                body = await first_bytes(chunks, self._bounds.error_bytes, self._bounds.error_s)
            else:
                body = await whole_body(chunks, ByteLimit(self._most_bytes))
        finally:
            await _close(response)
        if 300 <= status < 400:
            raise ProviderRejected("redirected", cost=Cost.NOTHING)
        if status == 407:
            raise ProviderUnavailable("proxy_refused", cost=Cost.NOTHING)
        if status >= 400:
            return httpx.Response(status, headers={"content-type": kind}, content=body)
        if len(body) > _BIG_BODY:
            return await asyncio.to_thread(self._in_one, body)
        return self._in_one(body)

    def _in_one(self, body: bytes) -> httpx.Response:
        body = countable(body, self._on_usage_refused)
        if self._streams:
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=as_stream(body))
        return httpx.Response(200, headers={"content-type": "application/json"}, content=body)

    def lines(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yields the lines of a streamed answer."""
        return event_lines(chunks, ByteLimit(self._most_bytes), self._bounds.line_bytes, self._on_usage_refused)

    def stopped(self, error: Exception) -> RequestStopped:
        """Records why the request or its answer was stopped."""
        self.failure = _provider_error(error, self.sent) if isinstance(error, httpx.HTTPError) else error
        return RequestStopped("stopped")

    async def close_answer(self) -> None:
        """Closes the answer, so that the provider does not go on: LiteLLM cannot close the streams of all providers."""
        if self._answer is not None:
            await _close(self._answer)


class _EventStream(httpx.AsyncByteStream):
    """A streamed answer."""

    def __init__(self, transport: ProviderTransport, response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
        self._provider_transport = transport
        self._response = response
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for line in self._provider_transport.lines(self._chunks):
                yield line
        except Exception as error:
            raise self._provider_transport.stopped(error) from None

    async def aclose(self) -> None:
        await _close(self._response)


async def _close(response: httpx.Response) -> None:
    with suppress(httpx.HTTPError):
        # If a cancellation stopped this halfway, httpcore would keep the connection open for good.
        await asyncio.shield(response.aclose())


def _provider_error(error: httpx.HTTPError, sent: bool) -> ProviderError:
    """Converts a failed HTTP exchange into a provider error."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return ProviderUnavailable("unreachable", cost=Cost.NOTHING)
    cost = Cost.UNKNOWN if sent else Cost.NOTHING
    if isinstance(error, httpx.TimeoutException):
        return ProviderUnavailable("timeout", cost=cost)
    if isinstance(error, httpx.ProxyError):
        return ProviderUnavailable("proxy_refused", cost=Cost.NOTHING)
    return ProviderUnavailable("connection_broken", cost=cost)


def _request_id(headers: httpx.Headers) -> str:
    stated = next((headers[name] for name in ("x-request-id", "request-id") if name in headers), "")
    return stated if len(stated) <= MAX_REQUEST_ID and stated.isascii() and stated.isprintable() else ""


def _retry_after_ms(headers: httpx.Headers, longest: int) -> int | None:
    """Delay that the provider asks for, at most `longest`; dates are rare and left to Purser's backoff."""
    for name, factor in (("retry-after-ms", 1), ("retry-after", 1_000)):
        with suppress(ValueError, OverflowError):
            if (delay := float(headers.get(name, "")) * factor) >= 0:
                return int(min(delay, longest))
    return None
