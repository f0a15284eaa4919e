"""`/healthz`: the process lives. `/readyz`: everything that a request needs answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter
from fastapi.responses import JSONResponse

CHECK_TIMEOUT_S = 2.0

Check = Callable[[], Awaitable[object]]


def health_router(checks: Mapping[str, Check]) -> APIRouter:
    """Routes of both, with the checks of `/readyz` by name."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        results = await asyncio.gather(*(_answers(check) for check in checks.values()))
        ready = all(results)
        states = {name: "ok" if ok else "away" for name, ok in zip(checks, results, strict=True)}
        return JSONResponse({"status": "ready" if ready else "away", "checks": states}, 200 if ready else 503)

    return router


async def _answers(check: Check) -> bool:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check()
    except Exception:
        return False
    return True
