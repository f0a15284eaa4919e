"""The parts that endpoints work with, put together by `compose`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request
from temporalio.client import Client

from purser.activities.postgres.overviews import Overviews as TaskOverviews
from purser.activities.postgres.purposes import Purposes
from purser.activities.postgres.timeline import Timelines
from purser.activities.stores import Stores
from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.ceilings import Ceilings
from purser.activities.tasks.vanished import Vanished
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.pricing.prices import PriceBook
from purser.context.postgres.sessions.overviews import Overviews as SessionOverviews
from purser.context.postgres.sessions.windows import SessionWindows
from purser.context.settings import ContextSettings
from purser.gateway.access.sealing import Seal
from purser.gateway.deployment import Setup
from purser.gateway.events.feed import Feed
from purser.gateway.http.rate_limits import Limits
from purser.gateway.metrics.requests import Metrics
from purser.gateway.postgres.browser_sessions import BrowserSessions
from purser.gateway.postgres.deliveries import Deliveries
from purser.gateway.postgres.idempotency import Answers
from purser.gateway.postgres.keys import Keys
from purser.gateway.postgres.ledger_health import Standing
from purser.gateway.postgres.webhooks import Webhooks
from purser.gateway.reports.audits import Audits
from purser.gateway.webhooks.targets import Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServices:
    """What only pages read."""

    timelines: Timelines
    tasks: TaskOverviews
    sessions: SessionOverviews
    standing: Standing
    audits: Audits
    setup: Setup


@dataclass(kw_only=True, eq=False)
class Services(Stores):
    """Stores, clients and settings of one gateway."""

    temporal: Client
    poke: Callable[[], None]
    """Tells the dispatcher that a transaction has left it something to send."""
    metrics: Metrics
    limits: Limits
    prices: PriceBook
    seal: Seal
    """Encrypts the secrets of webhooks."""
    targets: Targets
    """Where webhooks may lead."""
    public_url: str
    """Where people reach the dashboard."""
    setup: Setup
    task_queue: str
    """Of the workers."""
    ceilings: Ceilings
    """What task files may ask for."""
    allowed_tools: AllowedTools
    """Which activities tasks may name as tools."""
    context: ContextSettings
    """Of agents, whose windows are previewed."""
    memory_tokens: int
    """What retrieved messages may take of a window."""
    browser_session_life: timedelta
    memory_across_sessions: bool = False
    """Whether a search may look into other sessions of the same user."""
    allowed_api_bases: tuple[str, ...] = ()
    """Addresses that a task may name as `api_base`."""
    max_wait: timedelta = timedelta(minutes=10)
    """Longest wait for open holds before the mode decides."""
    secure_cookies: bool = False
    """Whether browsers send the cookie of a session over https only, even where a request came otherwise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        pool = self.pool
        self.keys = Keys(pool)
        self.browser_sessions = BrowserSessions(pool, self.browser_session_life)
        self.answers = Answers(pool)
        self.webhooks = Webhooks(pool, self.seal)
        self.deliveries = Deliveries(pool, self.policies, self.public_url)
        self.feed = Feed(self.events)
        self.pricing = Pricing(self.prices, self.policies, self.holds, self.metrics.calls.unpriced)
        self.purposes = Purposes(pool, self.sessions.conversations)
        self.vanished = Vanished(self.temporal, pool, self.agents, self.ledger, self.approvals)
        self.windows = SessionWindows(
            pool,
            self.sessions.memory,
            self.memory_tokens,
            self.context,
            across_sessions=self.memory_across_sessions,
        )
        self.pages = PageServices(
            timelines=Timelines(pool),
            tasks=TaskOverviews(pool),
            sessions=SessionOverviews(pool),
            standing=Standing(pool),
            audits=Audits(pool),
            setup=self.setup,
        )

    def wake(self) -> None:
        """A transaction has just left something to send, and events to tell."""
        self.poke()
        self.feed.poke()


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Use = Annotated[Services, Depends(_services)]
