"""Who looks at a page, and what the page works with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from fastapi import Request

from purser.gateway.access.auth import browser_session
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal
from purser.gateway.dashboard.actions import Refused, explain
from purser.gateway.dashboard.open_pages import OpenPage, OpenPages
from purser.gateway.dashboard.screen import Screen
from purser.gateway.errors import Unauthenticated
from purser.gateway.postgres.browser_sessions import BrowserSession
from purser.gateway.services import Services
from purser.workflows.contract import TaskRef

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What all pages of one gateway share."""

    services: Services
    temporal_ui: str | None
    """Address of Temporal's Web UI."""
    pages: OpenPages = field(default_factory=OpenPages)


@dataclass(frozen=True, slots=True)
class Visit:
    """One opened page."""

    path: str
    dashboard: Dashboard
    session: BrowserSession
    """Who opened it. Ask `caller_now` before anything is changed: the sign-in may have ended since."""
    page: OpenPage

    @property
    def caller(self) -> Principal:
        """Who opened the page."""
        return self.session.caller

    @property
    def services(self) -> Services:
        """Stores, clients and settings of the gateway."""
        return self.dashboard.services

    @property
    def screen(self) -> Screen:
        """What the page shows."""
        return self.page.screen

    def workflow_url(self, task_id: str) -> str | None:
        """A task's workflow in Temporal's Web UI; `None` where there is no UI."""
        if self.dashboard.temporal_ui is None:
            return None
        return f"{self.dashboard.temporal_ui}/workflows/{quote(TaskRef(task_id, self.tenant).workflow_id, safe='')}"

    @property
    def tenant(self) -> str:
        """Whose figures are shown."""
        return self.caller.tenant

    async def caller_now(self) -> Principal | None:
        """Who is signed in at this moment, by the cookie that the page came with; `None` if nobody is any more."""
        found = await self.services.browser_sessions.find(self.session.secret)
        return None if found is None else found.caller

    async def perform(self, needs: Permission, what: str, do: Callable[[Principal], Awaitable[T]]) -> T:
        """Does something in the name of whoever is signed in now. Pages change nothing otherwise.

        Args:
            needs: what the role has to carry at this moment, whatever it carried when the page was opened.
            what: the same in words, after "may not".
            do: gets the caller.

        Raises:
            Refused: it was not done, or nobody knows; the message says why, and what helps.
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


def open_visit(request: Request) -> Visit:
    """A new page for whoever asks for one."""
    session = browser_session(request)
    if session is None:  # the guard in front lets nobody else through
        raise Unauthenticated("nobody is signed in: open /sign-in")
    dashboard: Dashboard = request.app.state.dashboard
    return Visit(request.scope["path"], dashboard, session, dashboard.pages.open(session.session_id))
