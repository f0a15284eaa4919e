"""Stores, clients and settings that endpoints use, assembled by `compose`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request
from temporalio.client import Client

from purser.activities.models.provider import ModelProvider
from purser.activities.postgres.calls.purposes import Purposes
from purser.activities.postgres.overviews import Overviews as TaskOverviews
from purser.activities.postgres.timeline import Timelines
from purser.activities.runtime.stores import Stores
from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.ceilings import Ceilings
from purser.activities.tasks.vanished import Vanished
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.postgres.reports.replay import Replays
from purser.budget.pricing.price_book import PriceBook
from purser.context.postgres.sessions.overviews import Overviews as SessionOverviews
from purser.context.postgres.sessions.windows import SessionWindows
from purser.context.resolution import ResolvedContext
from purser.gateway.access.sealing import Seal
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.deployment import Setup
from purser.gateway.events.feed import Feed
from purser.gateway.http.limits import Limits
from purser.gateway.http.turns import Turns
from purser.gateway.metrics.requests import Metrics
from purser.gateway.postgres.browser_sessions import BrowserSessions
from purser.gateway.postgres.deliveries import Deliveries
from purser.gateway.postgres.idempotency import IdempotentAnswers
from purser.gateway.postgres.keys import Keys
from purser.gateway.postgres.ledger_health import LedgerHealth
from purser.gateway.postgres.webhooks import Webhooks
from purser.gateway.reports.audits import Audits
from purser.gateway.sessions.compressions import SessionCompressions
from purser.gateway.webhooks.targets import Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServices:
    """Services that only pages use."""

    timelines: Timelines
    tasks: TaskOverviews
    sessions: SessionOverviews
    ledger_health: LedgerHealth
    audits: Audits


@dataclass(kw_only=True, eq=False)
class Services(Stores):
    """Stores, clients and settings of one gateway."""

    temporal: Client
    poke: Callable[[], None]
    """Notifies the dispatcher of new messages in the outbox."""
    metrics: Metrics
    limits: Limits
    prices: PriceBook
    provider: ModelProvider
    """Sends the calls of the proxy."""
    seal: Seal
    """Encrypts the secrets of webhooks."""
    targets: Targets
    """Allowed addresses of webhooks."""
    public_url: str
    """Address of the dashboard for people."""
    setup: Setup
    task_queue: str
    """Task queue of the workers."""
    ceilings: Ceilings
    """Upper bounds on what task files may request."""
    allowed_tools: AllowedTools
    """Activities that tasks may name as tools."""
    context: ResolvedContext
    """Context settings of the process, with the source of each."""
    memory_tokens: int
    """Most tokens of retrieved messages in a window."""
    browser_session_life: timedelta
    proxy_output_tokens: int
    """Most output tokens of a call through the proxy that states no cap."""
    min_output_tokens: int
    """Output tokens to which a step of a ladder never falls below."""
    compress_sessions: bool
    """Whether sessions are compressed when an append over HTTP passes the trigger."""
    router_budget: int
    """Tokens of a window as plain text if a request names none."""
    memory_across_sessions: bool
    """Whether a search may include other sessions of the same user."""
    allowed_api_bases: tuple[str, ...]
    """Addresses that a task may name as `api_base`."""
    max_wait: timedelta
    """Longest wait for open holds before the mode applies."""
    secure_cookies: bool
    """Whether session cookies are restricted to https, even if a request arrives over http."""

    def __post_init__(self) -> None:
        super().__post_init__()
        pool = self.pool
        self.keys = Keys(pool)
        self.browser_sessions = BrowserSessions(pool, self.browser_session_life)
        self.idempotency = IdempotentAnswers(pool)
        self.webhooks = Webhooks(pool, self.seal)
        self.links = ApprovalLinks(self.seal, self.public_url)
        self.deliveries = Deliveries(pool, self.policies, self.public_url, self.links)
        self.feed = Feed(self.events)
        # Of keys: at counts of long texts, and at requests for approval.
        self.counting, self.asking = Turns(), Turns()
        self.replays = Replays(pool, self.ledger.settings, self.policy_sets, self.prices, self.min_output_tokens)
        self.pricing = Pricing(self.prices, self.ledger, self.holds, self.metrics.calls.unpriced)
        self.purposes = Purposes(pool, self.sessions.conversations)
        self.vanished = Vanished(self.temporal, pool, self.agents, self.ledger, self.approvals)
        self.windows = SessionWindows(
            pool,
            self.sessions.memory,
            self.memory_tokens,
            self.context,
            self.sessions.placeholders,
            across_sessions=self.memory_across_sessions,
        )
        self.compressions = SessionCompressions(
            self.temporal,
            self.task_queue,
            self.sessions,
            self.prices,
            self.context,
            by_itself=self.compress_sessions,
        )
        self.pages = PageServices(
            timelines=Timelines(pool),
            tasks=TaskOverviews(pool),
            sessions=SessionOverviews(pool),
            ledger_health=LedgerHealth(pool),
            audits=Audits(pool),
        )

    def wake(self) -> None:
        """Notifies dispatcher and feed that a transaction has written messages or events."""
        self.poke()
        self.feed.poke()


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Use = Annotated[Services, Depends(_services)]
