"""The parts that endpoints work with, put together by `compose`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request
from temporalio.client import Client

from purser.activities.postgres.overviews import Overviews as TaskOverviews
from purser.activities.postgres.purposes import Purposes
from purser.activities.postgres.tasks import Tasks
from purser.activities.postgres.timeline import Timelines
from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.ceilings import Ceilings
from purser.activities.tasks.vanished import Vanished
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.approvals.queue import ApprovalQueue
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.changes import Changes
from purser.budget.postgres.reports.entries import Entries
from purser.budget.postgres.reports.scope_tree import ScopeTree
from purser.budget.postgres.reports.usage import UsageReports
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.overviews import Overviews as SessionOverviews
from purser.context.postgres.sessions.payers import Payers
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.retention import Retention
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.postgres.sessions.windows import SessionWindows
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
class SessionServices:
    """Stores of conversations."""

    sessions: Sessions
    conversations: Conversations
    pins: Pins
    settings: PersonalSettings
    retention: Retention
    summaries: Summaries
    facts: Facts
    memory: Memory
    memory_across_sessions: bool
    """Whether a search may look into other sessions of the same user."""
    windows: SessionWindows


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServices:
    """What only pages read."""

    timelines: Timelines
    tasks: TaskOverviews
    sessions: SessionOverviews
    standing: Standing
    audits: Audits
    setup: Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Stores, clients and settings of one gateway."""

    keys: Keys
    browser_sessions: BrowserSessions
    limits: Limits
    changes: Changes
    answers: Answers
    ledger: Ledger
    holds: Holds
    payers: Payers
    policies: Policies
    burn: Burn
    entries: Entries
    usage: UsageReports
    approvals: Approvals
    queue: ApprovalQueue
    tree: ScopeTree
    tasks: Tasks
    vanished: Vanished
    purposes: Purposes
    sessions: SessionServices
    pages: PageServices
    pricing: Pricing
    temporal: Client
    metrics: Metrics
    feed: Feed
    webhooks: Webhooks
    deliveries: Deliveries
    targets: Targets
    """Where webhooks may lead."""
    wake: Callable[[], None]
    """Tells the dispatcher that a transaction has left it something to send."""
    task_queue: str
    """Of the workers."""
    ceilings: Ceilings
    """What task files may ask for."""
    allowed_tools: AllowedTools
    """Which activities tasks may name as tools."""
    allowed_api_bases: tuple[str, ...] = ()
    """Addresses that a task may name as `api_base`."""
    max_wait: timedelta = timedelta(minutes=10)
    """Longest wait for open holds before the mode decides."""
    secure_cookies: bool = False
    """Whether browsers send the cookie of a session over https only, even where a request came otherwise."""


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Use = Annotated[Services, Depends(_services)]
