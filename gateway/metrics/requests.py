"""Request metrics of the gateway. Labels are bounded: route templates and codes, never ids."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from functools import cache

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from purser.activities.models.instruments import Instruments
from purser.activities.models.metrics import CallMetrics
from purser.gateway.errors import Unauthenticated
from purser.gateway.http.problems import problem_of

Source = Callable[[], Awaitable[bytes]]
"""Reads current metrics in the text format."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The request counters of one process, in a separate registry."""

    def __init__(self, calls: CallMetrics | None = None) -> None:
        """Args:
        calls: metrics of a process that is also a worker and exports them itself; `None`: they are exported here.
        """
        self.registry = CollectorRegistry()
        self.calls = calls or CallMetrics(self.registry)
        made = Instruments(self.registry)
        requests = made.counter(
            "http_requests", "HTTP requests by route template and status.", "method", "route", "status"
        )
        seconds = made.histogram(
            "http_request_seconds",
            "From a request to the beginning of its answer, by route template.",
            _SECONDS,
            "method",
            "route",
        )
        steps = made.counter("hold_steps", "Steps of open holds over HTTP.", "step")
        self._webhook_failures = made.counter(
            "webhook_failures",
            "Webhook messages that were given up, or that could not be created.",
            "reason",
            values=("given_up", "not_created"),
        )
        self._proxy_failures = made.counter(
            "proxy_failures", "Calls through the proxy that an error of the gateway's own has ended."
        )
        # Looking up labels takes longer than counting; there are few of them.
        self._requests, self._seconds, self._steps = cache(requests.labels), cache(seconds.labels), cache(steps.labels)

    def answered(self, method: str, route: str, status: int, seconds: float | None = None) -> None:
        """Counts an HTTP request.

        Args:
            method, route: method and route template of the request.
            status: status of the response; 0: the client disconnected.
            seconds: time to the start of the response; `None` if there was none.
        """
        method = method if method in METHODS else "other"
        self._requests(method, route, str(status)).inc()
        if seconds is not None:
            self._seconds(method, route).observe(seconds)

    def stepped(self, step: str) -> None:
        """Counts a step of a hold: `attempted`, `settled`, `released`, `extended`, or `refused` for an addition."""
        self._steps(step).inc()

    def proxy_failed(self) -> None:
        """Counts a call through the proxy that ends with an error which is neither its provider's nor its budget's."""
        self._proxy_failures.inc()

    def webhook_failed(self, reason: str) -> None:
        """Counts a webhook message that is not delivered: `given_up`, or `not_created`."""
        self._webhook_failures.labels(reason).inc()


def source(registry: CollectorRegistry) -> Source:
    """A source that collects a registry."""

    async def text() -> bytes:
        return generate_latest(registry)

    return text


def metrics_app(sources: Sequence[Source], token: str | None) -> Starlette:
    """Creates an application that serves `/metrics` on a separate address.

    Args:
        sources: sources to concatenate. No family may be in two of them.
        token: bearer token that a scraper has to send; `None` only if the address is reachable from loopback alone.
    """

    async def show(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            problem = problem_of(
                Unauthenticated("the metrics token is missing or wrong: send `Authorization: Bearer …`")
            )
            assert problem is not None
            return problem.response()
        shown = await asyncio.gather(*(text() for text in sources))
        return Response(b"".join(shown), media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/metrics", show)])
