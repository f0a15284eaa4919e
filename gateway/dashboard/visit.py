"""Who looks at a page, and what the page works with."""

from dataclasses import dataclass
from urllib.parse import quote

from fastapi import Request

from purser.gateway.access.auth import browser_session
from purser.gateway.access.roles import Principal
from purser.gateway.services import Services
from purser.workflows.contract import TaskRef

STATE = "purser.dashboard"
"""Where the ASGI scope of a page's request carries the `Dashboard`."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What all pages of one gateway share."""

    services: Services
    temporal_ui: str | None
    """Address of Temporal's Web UI."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One opened page."""

    request: Request
    dashboard: Dashboard
    caller: Principal
    """Who opened it. Ask `caller_now` before anything is changed: the sign-in may have ended since."""

    @property
    def services(self) -> Services:
        """Stores, clients and settings of the gateway."""
        return self.dashboard.services

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
        opened = browser_session(self.request)
        found = None if opened is None else await self.services.browser_sessions.find(opened.secret)
        return None if found is None else found.caller


def dashboard_of(request: Request) -> Dashboard:
    """What the request of a page carries."""
    dashboard: Dashboard = request.scope[STATE]
    return dashboard
