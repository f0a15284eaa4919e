"""Health endpoints: `/healthz` (liveness) and `/readyz` (readiness)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from purser.gateway.errors import GatewayStopping
from purser.gateway.http.problems import not_ready
from purser.wire.base import View

CHECK_TIMEOUT_S = 2.0
CACHED_S = 1.0
"""Seconds for which the result of `/readyz` is cached."""


class Alive(View):
    """The process is alive."""

    status: Literal["alive"]


class Ready(View):
    """Everything that requests depend on is available, apart from what was excluded."""

    status: Literal["ready"]
    checks: list[str]
    """Names of the checks that count."""


Excluded = Annotated[
    list[str],
    Query(default_factory=list, max_length=20, description="Checks that do not count, for a load balancer; repeatable"),
]
Check = Callable[[], Awaitable[object]]
"""Returns if a dependency is available, raises if it is not."""


def health_router(checks: Mapping[str, Check], stopping: Callable[[], bool] = lambda: False) -> APIRouter:
    """Creates the routes of both endpoints.

    Args:
        checks: checks of `/readyz`, by the name of the dependency.
        stopping: whether the gateway has been asked to stop.
    """
    router, cached = APIRouter(tags=["health"]), _CachedChecks(checks)

    @router.head("/healthz", include_in_schema=False)  # as load balancers ask
    @router.get("/healthz")
    async def healthz() -> Alive:
        """Always 200: the process is alive."""
        return Alive(status="alive")

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", response_model=Ready)
    async def readyz(exclude: Excluded) -> Response:
        """200 if all dependencies are available, else 503: names those that are not, or says that the gateway stops."""
        if stopping():
            raise GatewayStopping
        counted = [name for name in checks if name not in exclude]
        missing = [name for name in await cached.missing() if name in counted]
        return not_ready(missing).response() if missing else JSONResponse({"status": "ready", "checks": counted})

    return router


class _CachedChecks:
    """Unavailable dependencies, checked at most once a second."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._missing: list[str] = []

    async def missing(self) -> list[str]:
        async with self._lock:
            if time.monotonic() >= self._until:
                answers = await asyncio.gather(*(is_up(check) for check in self._checks.values()))
                self._missing = [name for name, up in zip(self._checks, answers, strict=True) if not up]
                self._until = time.monotonic() + CACHED_S
        return self._missing


async def is_up(check: Check) -> bool:
    """Whether a dependency answers in time."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check()
    except Exception:
        return False
    return True
