"""Pages by path: `@page("/tasks", "Tasks")` above the coroutine that builds one inside the shell."""

import importlib
import inspect
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import Request, Response
from nicegui import Client, ui

from purser.gateway.access.auth import page_caller
from purser.gateway.access.roles import Permission
from purser.gateway.dashboard import shell
from purser.gateway.dashboard.visit import Visit, dashboard_of
from purser.gateway.errors import Unauthenticated

MODULES = ("approvals", "budgets", "tasks", "sessions", "ledger", "health")
"""Subjects, whose `page` registers pages when it is imported."""
_BUILD_WITHIN_S = 20.0

_paths: list[str] = []
_log = structlog.get_logger(__name__)


def page(
    path: str, name: str, *, needs: Permission = Permission.READ
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Registers a page. Its coroutine gets the `Visit`, and what else it names from path and query.

    Args:
        path: as FastAPI writes it.
        name: shown in the navigation and in the window's title.
        needs: what the caller's role has to carry.
    """

    def register(build: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def shown(request: Request, **given: Any) -> None:
            visit = _visit(request)
            caller = visit.caller
            with shell.frame(name, visit):
                if not caller.may(needs):
                    what = needs.replace("_", " ")
                    shell.error(f"Your role may not {what}", f"You are signed in as {caller.name}, role {caller.role}.")
                    return
                await _guarded(build, visit, given)

        own = list(inspect.signature(build).parameters.values())[1:]
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
        keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        shown.__signature__ = inspect.Signature([request, *keywords])  # type: ignore[attr-defined]
        ui.page(path, title=f"{name} · Purser", response_timeout=_BUILD_WITHIN_S)(shown)
        _paths.append(path)
        return build

    return register


def load_pages() -> None:
    """Registers all pages."""
    for module in MODULES:
        importlib.import_module(f"purser.gateway.dashboard.{module}.page")


def page_paths() -> Sequence[str]:
    """The paths of all pages, as FastAPI writes them."""
    return tuple(_paths)


def missing_page(request: Request) -> Response:
    """What a browser gets for an address that no page has: status 404, and the way back."""
    with Client(ui.page("", title="Page not found · Purser"), request=request) as client:
        with shell.frame("Page not found", _visit(request)):
            shell.error("There is no page at this address", "It may be mistyped. Choose a page from the navigation.")
        return client.build_response(request, HTTPStatus.NOT_FOUND)


def _visit(request: Request) -> Visit:
    caller = page_caller(request)
    if caller is None:  # the guard in front lets nobody else through
        raise Unauthenticated("nobody is signed in: open /sign-in")
    return Visit(request, dashboard_of(request), caller)


async def _guarded(build: Callable[..., Awaitable[None]], visit: Visit, given: dict[str, Any]) -> None:
    try:
        await build(visit, **given)
    except Exception:
        _log.exception("a page could not be built", page=visit.request.scope["path"])
        shell.error("This page could not be shown", "Load it again. If that does not help, the gateway's log says why.")
