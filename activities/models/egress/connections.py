"""Connections to providers: a request is never written to one that its server has closed."""

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

_KEPT = 100
"""Most idle connections."""
_IDLE_S = 3.0
"""Seconds after which an idle connection is closed. Common servers close theirs after 5."""
_READABLE_S = 0.01
"""Seconds for reading what has arrived while other tasks run; a new TLS connection with session tickets takes them."""


def pooled_connections(verify: ssl.SSLContext, proxy: httpx.Proxy | None) -> httpx.AsyncHTTPTransport:
    """Returns a pool of connections, of which idle ones are used again for a short time."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT, keepalive_expiry=_IDLE_S)
    transport = _Transport(verify=verify, proxy=proxy, limits=limits, retries=0)
    # httpx has no parameter for it.
    transport._pool._network_backend = _Network()
    return transport


class _Transport(httpx.AsyncHTTPTransport):
    """Closes what cancelled requests have left: the pool would keep such connections open, and unused, for good."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        used = {each.connection for each in self._pool._requests}
        left = [each for each in self._pool.connections if not (each in used or each.is_idle() or each.is_closed())]
        for connection in left:
            self._pool._connections.remove(connection)
        for connection in left:
            await connection.aclose()
        return await super().handle_async_request(request)


class _Network(httpcore.AsyncNetworkBackend):
    """Connects as usual, and looks whether a connection is still open before a request is written to it.

    The pool itself looks only when it chooses a connection. A request waits for its permit after that, and the server
    may close the connection meanwhile; the request would be charged its estimate although it never arrived.
    """

    def __init__(self) -> None:
        self._usual = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._usual.connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, usual: httpcore.AsyncNetworkStream) -> None:
        self._usual = usual
        self._answered = False
        """Whether an answer was the last that went over the connection."""
        self._new = True

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._answered = True
        return await self._usual.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._answered or self._new:
            await self._require_open()
        self._answered = self._new = False
        await self._usual.write(buffer, timeout)

    async def _require_open(self) -> None:
        """Raises if the server has closed the connection."""
        if not await self._is_closed():
            return
        if self._answered:
            raise httpcore.ConnectionNotAvailable  # the pool takes another connection
        raise httpcore.ConnectError("closed before the first request")

    async def _is_closed(self) -> bool:
        """Whether the server has closed the connection: between requests it has nothing else to send."""
        readable = bool(self._usual.get_extra_info("is_readable"))
        if self._usual.get_extra_info("ssl_object") is None:
            return readable
        # TLS sends session tickets too, and the last answer may have come together with the end of the connection.
        try:
            await self._usual.read(1, timeout=_READABLE_S if readable else 0)
        except httpcore.ReadTimeout:
            return False
        except (httpcore.ReadError, ssl.SSLError):
            pass
        return True

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._usual.start_tls(ssl_context, server_hostname, timeout))

    async def aclose(self) -> None:
        await self._usual.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._usual.get_extra_info(info)
