"""The one way out: requests to providers leave here, each to its own address, once, and with bounded answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import httpx

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.answers import Allowance, Notice, as_stream, countable, event_lines, first_bytes, whole
from purser.activities.models.routes import Route

_OWN_HEADERS = {"host", "accept", "connection", "content-type", "content-length", "user-agent"}
"""What an address of one's own gets to see, besides its key and the id of the request."""
_BIG_BODY = 64 * 1024
"""Above it JSON is read off the event loop."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of an answer is read, and how long a provider may put us off."""

    error_bytes: int = 8 * 1024
    """Of the body of an error; the rest is not read. LiteLLM searches it for many patterns, on the event loop."""
    line_bytes: int = 1024 * 1024
    """Of one line of a stream."""
    bytes_per_token: int = 1024
    """Of a reply, for each token that it may have; one MiB more is allowed."""
    retry_after_ms: int = 600_000
    """Longest delay that a provider's `Retry-After` is followed for."""

    def reply_bytes(self, tokens: int) -> int:
        """Of a reply that may have so many tokens."""
        return tokens * self.bytes_per_token + 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ticket:
    """Leave for one request."""

    request_id: str
    """`{hold_id}-{attempt}`, for the provider's log and ours."""
    cap: int
    """Output that it may produce."""


Leave = Callable[[], Awaitable[Ticket]]
"""Asked once a request is ready to be sent and before anything is; what it raises stops the request."""


class Stopped(httpx.TransportError):
    """The request or its answer was stopped here; `Departure.failure` says why."""


class SmallerCap(Exception):
    """The request may produce less than it asks for: it has to be built again."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"build it again for {cap} tokens")
        self.cap = cap


class Departure(httpx.AsyncBaseTransport):
    """One request to a provider: how it leaves, and what came back."""

    def __init__(
        self,
        way: httpx.AsyncBaseTransport,
        route: Route,
        bounds: Bounds,
        leave: Leave,
        *,
        cap: int,
        most_bytes: int,
        streams: bool,
        timeout: Mapping[str, float | None],
        notice: Notice,
    ) -> None:
        """Args:
        way: what connects.
        route: where the request may go.
        bounds: of the answer.
        leave: asked before it is sent.
        cap: output that the request asks for.
        most_bytes: of the answer.
        streams: whether the answer is to be a stream.
        timeout: as `httpx.Timeout.as_dict` gives it.
        notice: told why usage was not believed.
        """
        self._way = way
        self._route = route
        self._bounds = bounds
        self._leave = leave
        self._cap = cap
        self._most_bytes = most_bytes
        self._streams = streams
        self._timeout = timeout
        self._notice = notice
        self.sent = False
        """Whether the request may have reached the provider."""
        self.status: int | None = None
        """HTTP status of the answer."""
        self.retry_after_ms: int | None = None
        self.failure: Exception | None = None
        """Why the request or its answer was stopped."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.sent or self.failure is not None:
            # One request an attempt: what a library would try again is tried again by us, and charged.
            raise Stopped("this attempt has had its request")
        try:
            return await self._exchange(request)
        except Exception as error:
            raise self._stopped(error) from None

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
            response = await self._way.handle_async_request(leaving)
        except httpx.HTTPError:
            if not self.sent:  # there is no connection: that is an attempt, too
                await self._leave()
            raise
        self.status = response.status_code
        self.retry_after_ms = _retry_after_ms(response.headers, self._bounds.retry_after_ms)
        return await self._bounded(response)

    async def _before_headers(self, event: str, details: Mapping[str, Any]) -> None:
        """Asks for leave where a connection is open and nothing was sent over it yet, and names the request.

        Whoever dies while it connects has started no attempt. Opening a tunnel through a proxy is part of connecting.
        """
        if not event.endswith("send_request_headers.started") or details["request"].method == b"CONNECT":
            return
        ticket = await self._leave()
        if ticket.cap < self._cap:
            raise SmallerCap(ticket.cap)
        details["request"].headers.append((b"x-client-request-id", ticket.request_id.encode()))
        self.sent = True

    def _headers(self, given: httpx.Headers) -> list[tuple[str, str]]:
        own = {name: value for name, value in given.items() if name in _OWN_HEADERS or not self._route.own}
        own["accept-encoding"] = "identity"
        if self._route.own:
            own["authorization"] = f"Bearer {self._route.key}"
        return list(own.items())

    async def _bounded(self, response: httpx.Response) -> httpx.Response:
        """The answer, as far as it is wanted; a failed one in one piece."""
        chunks = cast(AsyncIterator[bytes], response.stream)
        status, kind = response.status_code, response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if 200 <= status < 300:
            if response.headers.get("content-encoding", "identity") not in ("identity", ""):
                await _close(response)
                raise ProviderUnavailable("unreadable_reply", cost=Cost.UNKNOWN)
            if self._streams and kind != "application/json":
                headers = {"content-type": "text/event-stream"}
                return httpx.Response(status, headers=headers, stream=_Events(self, response, chunks))
        try:
            if status >= 300:
                body = await first_bytes(chunks, self._bounds.error_bytes)
            else:
                body = await whole(chunks, Allowance(self._most_bytes))
        finally:
            await _close(response)
        if 300 <= status < 400:
            raise ProviderRejected("redirected", cost=Cost.NOTHING)
        if status >= 400:
            return httpx.Response(status, headers={"content-type": kind}, content=body)
        if len(body) > _BIG_BODY:
            return await asyncio.to_thread(self._in_one, body)
        return self._in_one(body)

    def _in_one(self, body: bytes) -> httpx.Response:
        body = countable(body, self._notice)
        if self._streams:
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=as_stream(body))
        return httpx.Response(200, headers={"content-type": "application/json"}, content=body)

    def lines(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The lines of a streamed answer."""
        return event_lines(chunks, Allowance(self._most_bytes), self._bounds.line_bytes, self._notice)

    def _stopped(self, error: Exception) -> Stopped:
        self.failure = _meaning(error, self.sent) if isinstance(error, httpx.HTTPError) else error
        return Stopped("stopped")

    def broken(self, error: Exception) -> Stopped:
        """Notes why a streamed answer ended early."""
        return self._stopped(error)


class _Events(httpx.AsyncByteStream):
    """A streamed answer."""

    def __init__(self, departure: Departure, response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
        self._departure = departure
        self._response = response
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for line in self._departure.lines(self._chunks):
                yield line
        except Exception as error:
            raise self._departure.broken(error) from None

    async def aclose(self) -> None:
        await _close(self._response)


async def _close(response: httpx.Response) -> None:
    with suppress(httpx.HTTPError):
        await response.aclose()


def _meaning(error: httpx.HTTPError, sent: bool) -> ProviderError:
    """What a broken exchange means."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return ProviderUnavailable("unreachable", cost=Cost.NOTHING)
    cost = Cost.UNKNOWN if sent else Cost.NOTHING
    if isinstance(error, httpx.TimeoutException):
        return ProviderUnavailable("timeout", cost=cost)
    return ProviderUnavailable("connection_broken", cost=cost)


def _retry_after_ms(headers: httpx.Headers, longest: int) -> int | None:
    """The provider's own delay; dates are rare enough to be left to our backoff."""
    for name, factor in (("retry-after-ms", 1), ("retry-after", 1_000)):
        with suppress(ValueError, OverflowError):
            if (delay := float(headers.get(name, "")) * factor) >= 0:
                return int(min(delay, longest))
    return None
