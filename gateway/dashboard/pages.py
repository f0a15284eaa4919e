"""Pages by path: `@page("/tasks", "Tasks")` above the coroutine that builds one inside the shell."""

import asyncio
import importlib
import inspect
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.dependencies.utils import get_dependant
from markupsafe import Markup
from starlette.datastructures import QueryParams

from purser.gateway.access.roles import Permission
from purser.gateway.dashboard import shell
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.visit import open_visit
from purser.gateway.http.routing import QueryParameters

MODULES = (
    "overview",
    "approvals",
    "budgets",
    "tasks",
    "sessions",
    "ledger",
    "changes",
    "keys",
    "webhooks",
    "health",
    "search",
)
"""Packages whose module `page` registers pages when it is imported."""
_BUILD_WITHIN_S = 20.0

Build = Callable[..., Awaitable[Markup]]

router = APIRouter(include_in_schema=False)
_log = structlog.get_logger(__name__)


def page(path: str, name: str, *, needs: Permission = Permission.READ) -> Callable[[Build], Build]:
    """Registers a page. Its coroutine receives `Visit`, `Live` and its further parameters from path and query; it
    returns the main part with its current content.

    Args:
        path: path in FastAPI's notation.
        name: shown in the navigation and in the window's title.
        needs: permission that the caller's role must have.
    """

    def register(build: Build) -> Build:
        async def shown(request: Request, **given: Any) -> Response:
            visit = await open_visit(request)
            live = Live(visit)
            frame = shell.Frame(name, live)
            caller = visit.caller
            if not caller.may(needs):
                may_not = f"Your role may not {needs.replace('_', ' ')}"
                return frame.around(shell.error(may_not, f"You are signed in as {caller.name}, role {caller.role}."))
            if (fault := _fault(request.query_params, takes)) is not None:
                wrong = shell.error("The address of this page is not valid", fault)
                return frame.around(wrong, HTTPStatus.UNPROCESSABLE_ENTITY)
            return frame.around(await _guarded(build, live, given))

        own = list(inspect.signature(build).parameters.values())[2:]
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
        keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        shown.__signature__ = inspect.Signature([request, *keywords])  # type: ignore[attr-defined]
        takes = QueryParameters(get_dependant(path=path, call=shown))
        router.add_api_route(path, shown)
        return build

    return register


def load_pages() -> None:
    """Registers all pages."""
    for module in MODULES:
        importlib.import_module(f"purser.gateway.dashboard.{module}.page")


async def missing_page(request: Request) -> Response:
    """The page for an unknown address: status 404, with the navigation."""
    frame = shell.Frame("Page not found", Live(await open_visit(request)))
    lost = shell.error("There is no page at this address", "It may be mistyped. Choose a page from the navigation.")
    return frame.around(lost, HTTPStatus.NOT_FOUND)


def _fault(query: QueryParams, takes: QueryParameters) -> str | None:
    """What is wrong with the parameters of an address, and what helps."""
    if (name := takes.unknown(query)) is not None:
        known = f", or use one of these instead: {', '.join(takes.names)}" if takes.names else ""
        return f"“{name[:80]}” is not a parameter of this page. Remove it from the address{known}."
    if (name := takes.repeated(query)) is not None:
        return f"“{name}” is in the address more than once. Leave one."
    return None


async def _guarded(build: Build, live: Live, given: dict[str, Any]) -> Markup:
    try:
        async with asyncio.timeout(_BUILD_WITHIN_S):
            return await build(live.visit, live, **given)
    except Exception:
        _log.exception("a dashboard page could not be built", page=live.visit.path)
        return shell.error(
            "This page could not be shown", "Load it again. If that does not help, the gateway's log says why."
        )
