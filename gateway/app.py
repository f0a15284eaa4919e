"""Creates the application that serves the HTTP API."""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Match, Route
from starlette.types import ASGIApp

from purser.gateway.access import keys, sign_in
from purser.gateway.access.authentication import Authentication
from purser.gateway.approvals import routes as approvals
from purser.gateway.budgets import policies
from purser.gateway.budgets import routes as budgets
from purser.gateway.events import routes as events
from purser.gateway.health import Check, health_router
from purser.gateway.holds import routes as holds
from purser.gateway.http import documentation
from purser.gateway.http.direct import DirectRoutes
from purser.gateway.http.middleware import Boundary, RequestLimits, StreamOpening
from purser.gateway.http.openapi import document, openapi_router
from purser.gateway.http.problems import from_http, from_validation
from purser.gateway.proxy import routes as proxy
from purser.gateway.reports import changes, ledger, usage
from purser.gateway.services import Services
from purser.gateway.sessions import comparisons
from purser.gateway.sessions import context_routes as session_context
from purser.gateway.sessions import routes as sessions
from purser.gateway.sessions import tool_routes as session_tools
from purser.gateway.sessions import user_routes as users
from purser.gateway.tasks import call_routes as calls
from purser.gateway.tasks import routes as tasks
from purser.gateway.webhooks import routes as webhooks

MODULES = (
    holds,
    budgets,
    policies,
    tasks,
    calls,
    sessions,
    session_context,
    session_tools,
    comparisons,
    users,
    approvals,
    usage,
    ledger,
    events,
    webhooks,
    keys,
    changes,
    sign_in,
)
"""Modules with API endpoints."""
ROUTERS = (*(module.router for module in MODULES), sign_in.links, proxy.of_openai, proxy.of_anthropic)


def create_app(
    services: Services, checks: Mapping[str, Check], stopping: Callable[[], bool] = lambda: False
) -> FastAPI:
    """Creates the application.

    Args:
        services: stores, clients and settings for the endpoints.
        checks: checks of `/readyz`, by name.
        stopping: whether the gateway has been asked to stop.
    """
    app = FastAPI(
        title="Purser",
        version="1",
        summary="Budgets for multi-agent LLM work.",
        openapi_url=None,  # `openapi_router` serves it as cached bytes
        docs_url=None,  # both pages load scripts from other sites
        redoc_url=None,
        middleware=[
            Middleware(Boundary, metrics=services.metrics),
            Middleware(proxy.ProxyErrors, metrics=services.metrics),
            Middleware(StreamOpening),
            Middleware(Authentication, keys=services.keys, sessions=services.browser_sessions, limits=services.limits),
            Middleware(RequestLimits, limits=services.limits),
        ],
        exception_handlers={RequestValidationError: _invalid, HTTPException: _refused},
    )
    app.state.services = services
    # `include_router` makes every endpoint a second time, on the first request of each application.
    for router in (*ROUTERS, health_router(checks, stopping), documentation.router, openapi_router(app)):
        app.router.routes += router.routes
    app.openapi = partial(document, app, ROUTERS)  # type: ignore[method-assign] # the way that FastAPI documents
    return app


def with_direct_routes(app: FastAPI) -> ASGIApp:
    """The application with a short way to its hot endpoints."""
    return DirectRoutes(app, (*holds.HOT, *budgets.READS, *tasks.READS, *approvals.READS), app.state.services)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return from_validation(error).response()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    problem = from_http(error, f"{request.method} {quote(path)}")
    answer = proxy.in_words(problem, path) or problem.response()
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        answer.headers["Allow"] = ", ".join(_methods(request))
    return answer


def _methods(request: Request) -> list[str]:
    """The methods that the path of a request accepts, over all endpoints that share it."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes if isinstance(route, Route) for method in route.methods or ()})
