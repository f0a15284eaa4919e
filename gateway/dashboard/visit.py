"""A visit: one open page with its caller, and the services that it uses."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from fastapi import Request

from purser.gateway.access.auth import signed_in
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal
from purser.gateway.dashboard.actions import Refused, explain
from purser.gateway.dashboard.serving.open_pages import OpenPage, OpenPages
from purser.gateway.dashboard.serving.screen import Screen
from purser.gateway.postgres.browser_sessions import BrowserSession
from purser.gateway.services import Services
from purser.workflows.contract import TaskRef

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """State that all pages of one gateway share."""

    services: Services
    temporal_ui: str | None
    """URL of Temporal's Web UI; `None` if there is none."""
    pages: OpenPages = field(default_factory=OpenPages)


@dataclass(frozen=True, slots=True)
class Visit:
    """One open page and its caller."""

    path: str
    dashboard: Dashboard
    session: BrowserSession
    """The session that opened it. Check `caller_now` before any change: the sign-in may have ended since."""
    page: OpenPage

    @property
    def caller(self) -> Principal:
        """The caller who opened the page."""
        return self.session.caller

    @property
    def services(self) -> Services:
        """Stores, clients and settings of the gateway."""
        return self.dashboard.services

    @property
    def screen(self) -> Screen:
        """The content of the page."""
        return self.page.screen

    def workflow_url(self, task_id: str) -> str | None:
        """A task's workflow in Temporal's Web UI; `None` if there is no UI."""
        if self.dashboard.temporal_ui is None:
            return None
        return f"{self.dashboard.temporal_ui}/workflows/{quote(TaskRef(task_id, self.tenant).workflow_id, safe='')}"

    @property
    def tenant(self) -> str:
        """The tenant whose data is shown."""
        return self.caller.tenant

    async def caller_now(self) -> Principal | None:
        """The currently signed-in caller of the page's browser session; `None` if the session has ended."""
        found = await self.services.browser_sessions.find(self.session.secret)
        return None if found is None else found.caller

    async def perform(self, needs: Permission, what: str, do: Callable[[Principal], Awaitable[T]]) -> T:
        """Performs an action as the currently signed-in caller. Pages change nothing in any other way.

        Args:
            needs: permission that the caller's role must have now, whatever it had when the page was opened.
            what: the action in words, after "may not".
            do: the action; receives the caller.

        Raises:
            Refused: it was not done, or its outcome is unknown; the message says why, and what helps.
        """
        try:
            caller = await self._permitted(needs, what)
            return await do(caller)
        except Exception as error:
            raise Refused(explain(error)) from error

    async def _permitted(self, needs: Permission, what: str) -> Principal:
        caller = await self.caller_now()
        if caller is None:
            raise Refused("Your sign-in has ended. Sign in again.")
        if not caller.may(needs):
            able = " or ".join(role for role, carried in PERMISSIONS.items() if needs in carried)
            raise Refused(f"Your role {caller.role} may not {what}: it takes {able}.")
        return caller


async def open_visit(request: Request) -> Visit:
    """Opens a page for the browser session of a request."""
    session = await signed_in(request)
    dashboard: Dashboard = request.app.state.dashboard
    return Visit(request.scope["path"], dashboard, session, dashboard.pages.open(session.session_id))
