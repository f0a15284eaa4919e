"""`/healthz`: the process lives. `/readyz`: everything that a request needs answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from purser.gateway.http.problems import leaving, not_ready
from purser.gateway.http.views import View

CHECK_TIMEOUT_S = 2.0
CACHED_S = 1.0
"""How long an answer of `/readyz` stays."""


class Alive(View):
    """The process lives."""

    status: Literal["alive"]


class Ready(View):
    """Everything that a request needs answers."""

    status: Literal["ready"]
    checks: list[str]
    """What was looked at."""


Check = Callable[[], Awaitable[object]]
"""Returns if a part answers, raises if it does not."""


def health_router(checks: Mapping[str, Check], stopping: Callable[[], bool] = lambda: False) -> APIRouter:
    """Routes of both.

    Args:
        checks: of `/readyz`, by the name of what they look at.
        stopping: whether the gateway was told to stop.
    """
    router, looked = APIRouter(tags=["health"]), _Looked(checks)

    @router.get("/healthz")
    async def healthz() -> Alive:
        """Always 200: the process is alive."""
        return Alive(status="alive")

    @router.get("/readyz", response_model=Ready)
    async def readyz() -> Response:
        """200 if everything answers, else 503 naming what does not, or saying that the gateway stops."""
        if stopping():
            return leaving().response()
        missing = await looked.missing()
        return not_ready(missing).response() if missing else JSONResponse({"status": "ready", "checks": [*checks]})

    return router


class _Looked:
    """What is away, looked at once a second at most, whoever asks."""

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
    """Whether a part answers in time."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check()
    except Exception:
        return False
    return True
