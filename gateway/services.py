"""The parts that endpoints work with, put together by `compose`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request
from temporalio.client import Client

from activities.allowed_tools import AllowedTools
from activities.postgres.overviews import Overviews as TaskOverviews
from activities.postgres.purposes import Purposes
from activities.postgres.tasks import Tasks
from activities.postgres.timeline import Timelines
from activities.task_ceilings import Ceilings
from activities.vanished import Vanished
from budget.postgres.approval_queue import ApprovalQueue
from budget.postgres.approvals import Approvals
from budget.postgres.burn import Burn
from budget.postgres.changes import Changes
from budget.postgres.entries import Entries
from budget.postgres.holds import Holds
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.postgres.pricing import Pricing
from budget.postgres.scope_tree import ScopeTree
from budget.postgres.usage_reports import UsageReports
from context.postgres.conversations import Conversations
from context.postgres.facts import Facts
from context.postgres.memory import Memory
from context.postgres.overviews import Overviews as SessionOverviews
from context.postgres.payers import Payers
from context.postgres.pins import Pins
from context.postgres.preferences import PersonalSettings
from context.postgres.retention import Retention
from context.postgres.session_windows import SessionWindows
from context.postgres.sessions import Sessions
from context.postgres.summaries import Summaries
from gateway.audits import Audits
from gateway.feed import Feed
from gateway.limiting import Limits
from gateway.metrics import Metrics
from gateway.postgres.answers import Answers
from gateway.postgres.browser_sessions import BrowserSessions
from gateway.postgres.deliveries import Deliveries
from gateway.postgres.keys import Keys
from gateway.postgres.standing import Standing
from gateway.postgres.webhooks import Webhooks
from gateway.setup import Setup
from gateway.webhook_targets import Targets


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
