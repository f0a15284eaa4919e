"""Metrics of the gateway. Labels are bounded: route templates and codes, never a session, task, agent or tenant."""

import hmac
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from budget.decisions import Decision
from gateway.errors import Unauthenticated
from gateway.problems import problem_of

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The counters of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "purser_http_requests",
            "HTTP requests by route template and status.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._decisions = Counter(
            "purser_decisions",
            "Verdicts on asks, with the reason of the scope that decided.",
            ("verdict", "reason"),
            registry=self.registry,
        )
        self._steps = Counter("purser_hold_steps", "Steps of open holds over HTTP.", ("step",), registry=self.registry)

    def answered(self, method: str, route: str, status: int) -> None:
        """One HTTP request was answered; status 0: the caller went away."""
        self._requests.labels(method if method in METHODS else "other", route, str(status)).inc()

    def decided(self, decision: Decision) -> None:
        """The gate gave a verdict."""
        self._decisions.labels(str(decision.verdict), decision.decisive.reason).inc()

    def stepped(self, step: str) -> None:
        """A hold went on: `attempted`, `settled`, `released`, `extended`, or an addition was `refused`."""
        self._steps.labels(step).inc()


def metrics_app(registries: Sequence[CollectorRegistry], token: str | None) -> Starlette:
    """Serves `/metrics` on an address of its own.

    Args:
        registries: what to show, one after the other.
        token: bearer token that a scraper has to send; `None` only where loopback alone can reach it.
    """

    async def show(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            problem = problem_of(
                Unauthenticated("the metrics token is missing or wrong: send `Authorization: Bearer …`")
            )
            assert problem is not None
            return problem.response()
        shown = b"".join(map(generate_latest, registries))
        return Response(shown, media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/metrics", show)])
