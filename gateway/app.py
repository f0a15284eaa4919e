"""The HTTP API, put together."""

from collections.abc import Callable, Mapping
from functools import partial

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from gateway import (
    approvals,
    budgets,
    changes,
    events,
    holds,
    keys,
    ledger,
    session_context,
    sessions,
    sign_in,
    tasks,
    usage,
    users,
    webhooks,
)
from gateway.authentication import Authentication
from gateway.health import Check, health_router
from gateway.layers import Boundary, Intake
from gateway.openapi import document
from gateway.problems import from_http, from_validation
from gateway.services import Services

MODULES = (
    *(holds, budgets, tasks, sessions, session_context, users, approvals),
    *(usage, ledger, events, webhooks, keys, changes, sign_in),
)
"""Whose endpoints there are."""
ROUTERS = (*(module.router for module in MODULES), sign_in.links)


def create_app(
    services: Services, checks: Mapping[str, Check], stopping: Callable[[], bool] = lambda: False
) -> FastAPI:
    """The application.

    Args:
        services: what endpoints work with.
        checks: what `/readyz` looks at, by name.
        stopping: whether it was told to stop.
    """
    app = FastAPI(
        title="Purser",
        version="1",
        summary="Budgets for multi-agent LLM work.",
        docs_url=None,  # both pages load their scripts from elsewhere
        redoc_url=None,
        middleware=[
            Middleware(Boundary, metrics=services.metrics),
            Middleware(Authentication, keys=services.keys, sessions=services.browser_sessions, limits=services.limits),
            Middleware(Intake),
        ],
        exception_handlers={RequestValidationError: _invalid, HTTPException: _refused},
    )
    app.state.services = services
    for router in ROUTERS:
        app.include_router(router)
    app.include_router(health_router(checks, stopping))
    app.openapi = partial(document, app, ROUTERS)  # type: ignore[method-assign] # the documented way
    return app


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return from_validation(error).response()


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return from_http(error).response()
