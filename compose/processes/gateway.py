"""The gateway process: the HTTP API, its metrics, and what runs beside requests."""

import asyncio
import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import structlog
from fastapi import FastAPI
from temporalio.client import Client

from purser.activities.models.metrics import CallMetrics
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.purposes import Purposes
from purser.activities.postgres.sessions import SessionTasks
from purser.activities.postgres.tasks import Tasks
from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.ceilings import Ceilings
from purser.activities.tasks.vanished import Vanished
from purser.budget.actors import Actor
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.approvals.queue import ApprovalQueue
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.events.events import Events
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.checkpoints import Checkpoints
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.changes import Changes
from purser.budget.postgres.reports.entries import Entries
from purser.budget.postgres.reports.exporter import Exporter
from purser.budget.postgres.reports.scope_tree import ScopeTree
from purser.budget.postgres.reports.usage import UsageReports
from purser.compose.http.connections import ConnectionLimits, connections_of, raise_file_limit
from purser.compose.http.serving import after, serve
from purser.compose.migrate import require_schema
from purser.compose.models import embedder, model_provider
from purser.compose.prices import price_book
from purser.compose.processes.dashboard import page_services
from purser.compose.processes.deliveries import Deliverer
from purser.compose.processes.dispatcher import Dispatcher, repeat, run_background
from purser.compose.processes.retention import EVERY_S as FORGET_EVERY_S
from purser.compose.processes.retention import Forgetting
from purser.compose.settings import Settings
from purser.compose.settings.context import context_settings
from purser.compose.settings.ledger import ledger_settings
from purser.compose.settings.required import required
from purser.compose.telemetry.metrics import ProcessMetrics, serve_metrics
from purser.compose.telemetry.temporal_metrics import TemporalMetrics
from purser.compose.temporal import connect
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.payers import Payers
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.retention import Retention
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.postgres.sessions.windows import SessionWindows
from purser.gateway import dashboard
from purser.gateway.access.roles import Role
from purser.gateway.access.sealing import Seal
from purser.gateway.app import create_app
from purser.gateway.events.feed import Feed
from purser.gateway.http.rate_limits import Limits
from purser.gateway.metrics.ledger import LedgerMetrics
from purser.gateway.metrics.requests import Metrics, source
from purser.gateway.postgres.browser_sessions import LINK_LIFE, BrowserSessions
from purser.gateway.postgres.deliveries import Deliveries
from purser.gateway.postgres.idempotency import Answers
from purser.gateway.postgres.keys import Keys
from purser.gateway.postgres.webhooks import Webhooks
from purser.gateway.services import Services, SessionServices
from purser.gateway.webhooks.targets import Targets

log = structlog.get_logger(__name__)
DEFAULT_TENANT = "default"
POOL_SIZE = 20


async def run_gateway(
    settings: Settings, stop: asyncio.Event, ready: Callable[[], None], shared: ProcessMetrics | None = None
) -> None:
    """Serve until `stop`; calls `ready` once requests are answered.

    Args:
        settings: where and with what.
        stop: ends it.
        ready: told when it serves.
        shared: what a worker in the same process measures: it is shown beside the gateway's own.

    Raises:
        StackError: a port is taken.
        SchemaMismatch: the database is not migrated.
        Unreachable: Temporal does not answer.
    """
    dsn = required(settings, "dsn")
    await require_schema(dsn)
    temporal = shared.temporal if shared else TemporalMetrics()
    client = await connect(settings, temporal.runtime)
    async with await create_pool(dsn, size=POOL_SIZE) as pool:
        dispatcher = Dispatcher(Outbox(pool), client, settings.task_queue)
        own = Metrics(shared.work.calls if shared else None)
        services = build_services(settings, pool, client, dispatcher.poke, own)
        if unreadable := await services.webhooks.renew_secrets():
            log.warning("secrets of webhooks were encrypted with keys that are not configured", webhooks=unreadable)
        app = _app(settings, services, stop.is_set)
        exporter = Exporter(pool, ledger_settings(settings), idle=timedelta(seconds=settings.budget_idle_s))
        figures = LedgerMetrics(exporter, services.burn)
        others = shared.sources if shared else (temporal.text,)
        age = timedelta(days=settings.events_retention_days)
        forgetting = Forgetting(Events(pool), Outbox(pool), services.deliveries, age)
        # Until then a gateway that was told to stop goes on as before, and only says so.
        drained = asyncio.Event()
        metrics = serve_metrics(settings, "metrics_port", drained, source(own.registry), figures.text, *others)
        sweeping = (services.ledger, services.approvals, dispatcher, drained, settings.sweep_every_s)
        background = run_background(
            *sweeping, services.sessions.retention, services.burn, services.vanished, Checkpoints(pool)
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(after(stop, settings.drain_s, drained))
                group.create_task(
                    serve(
                        app,
                        settings.gateway_host,
                        settings.gateway_port,
                        drained,
                        ready,
                        grace_s=settings.shutdown_grace_s,
                        limits=_connection_limits(settings),
                    )
                )
                group.create_task(metrics)
                group.create_task(background)
                group.create_task(services.feed.run(drained))
                group.create_task(Deliverer(services.deliveries, services.targets, seal(settings)).run(drained))
                group.create_task(repeat("forgetting", forgetting.sweep, drained, FORGET_EVERY_S))
                group.create_task(repeat("answers", services.answers.sweep, drained, FORGET_EVERY_S))
        except ExceptionGroup as failed:
            # The first failure ended the others; it is the one to tell.
            raise failed.exceptions[0] from None


def build_services(
    settings: Settings, pool: Pool, client: Client, wake: Callable[[], None], metrics: Metrics
) -> Services:
    """The parts that endpoints work with."""
    ledger = ledger_settings(settings)
    policies, feed = Policies(pool, ledger), Feed(Events(pool))

    def poke() -> None:
        wake()
        feed.poke()

    return Services(
        keys=Keys(pool),
        browser_sessions=BrowserSessions(pool, timedelta(seconds=settings.browser_session_s)),
        limits=Limits(
            settings.rate_limit_per_s,
            settings.sign_in_failures_per_min,
            open_per_s=settings.open_requests_per_s,
            streams_per_key=settings.streams_per_key,
            streams_per_tenant=settings.streams_per_tenant,
            large_bodies_per_key=settings.large_bodies_per_key,
        ),
        answers=Answers(pool),
        changes=Changes(pool),
        ledger=Ledger(pool, ledger),
        holds=Holds(pool),
        payers=Payers(pool),
        policies=policies,
        burn=Burn(pool, policies),
        entries=Entries(pool),
        usage=UsageReports(pool),
        approvals=Approvals(pool, ledger, trust_temporal_identity=settings.trust_temporal_identity),
        queue=ApprovalQueue(pool, ledger),
        tree=ScopeTree(pool),
        tasks=Tasks(pool, policies, Conversations(pool)),
        vanished=Vanished(client, pool, Agents(pool), Ledger(pool, ledger), Approvals(pool, ledger)),
        purposes=Purposes(pool, Conversations(pool)),
        sessions=_session_services(settings, pool, metrics.calls),
        pages=page_services(settings, pool, client),
        pricing=Pricing(price_book(settings), policies, Holds(pool), metrics.calls.unpriced),
        temporal=client,
        metrics=metrics,
        feed=feed,
        webhooks=Webhooks(pool, seal(settings)),
        deliveries=Deliveries(pool, policies, settings.public_url or _address(settings)),
        targets=Targets(settings.webhook_targets),
        wake=poke,
        task_queue=settings.task_queue,
        ceilings=Ceilings(
            settings.task_limit_ceiling_tokens,
            settings.task_limit_ceiling_nano_usd,
            {kind: policy.mode for kind, policy in ledger.defaults.items()},
        ),
        allowed_tools=AllowedTools(settings.tool_activities, settings.tool_task_queues, settings.task_queue),
        allowed_api_bases=settings.allowed_api_bases,
        max_wait=timedelta(seconds=settings.max_wait_s),
        secure_cookies=settings.secure_cookies,
    )


def seal(settings: Settings) -> Seal:
    """What encrypts secrets."""
    return Seal(settings.secrets_keys)


def _session_services(settings: Settings, pool: Pool, calls: CallMetrics) -> SessionServices:
    vectors = embedder(settings, pool, model_provider(settings, calls), price_book(settings), calls)
    memory, across = Memory(pool, vectors), settings.memory_across_sessions
    agents = context_settings(settings)
    return SessionServices(
        sessions=Sessions(pool),
        conversations=Conversations(pool, settings.pin_token_budget),
        pins=Pins(pool, settings.pin_token_budget),
        settings=PersonalSettings(pool),
        retention=Retention(pool, SessionTasks()),
        summaries=Summaries(pool),
        facts=Facts(pool),
        memory=memory,
        memory_across_sessions=across,
        windows=SessionWindows(pool, memory, settings.memory_token_budget, agents, across_sessions=across),
    )


async def renew_admin_key(dsn: str, owner: Path) -> str:
    """Make the admin key of one local `up`, and revoke the one that it had before.

    Args:
        dsn: where keys are kept.
        owner: data directory of that `up`: others on the same database keep theirs.
    """
    async with await create_pool(dsn, size=1) as pool:
        made = await Keys(pool).create(
            DEFAULT_TENANT, _key_name(owner), Role.ADMIN, by=Actor("purser up", None), replace=True
        )
    return made.secret


async def sign_in_token(dsn: str, key: str) -> str:
    """The token of a new sign-in link for the owner of a live key."""
    async with await create_pool(dsn, size=1) as pool:
        caller = await Keys(pool).find(key)
        assert caller is not None
        return (await BrowserSessions(pool, LINK_LIFE).link(caller)).token


def _app(settings: Settings, services: Services, stopping: Callable[[], bool]) -> FastAPI:
    app = create_app(services, services.pages.setup.checks, stopping)
    if settings.dashboard:
        dashboard.mount(app, services, _temporal_ui(settings))
    return app


def _connection_limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(
        connections=connections_of(raise_file_limit(), settings.max_connections),
        per_address=settings.max_connections_per_address,
        header_s=settings.header_timeout_s,
        body_s=settings.body_timeout_s,
        keep_alive_s=settings.keep_alive_s,
    )


def _temporal_ui(settings: Settings) -> str | None:
    address = settings.temporal_ui_url
    return address and f"{address.rstrip('/')}/namespaces/{quote(settings.temporal_namespace, safe='')}"


def _address(settings: Settings) -> str:
    return f"http://{settings.gateway_host}:{settings.gateway_port}"


def _key_name(owner: Path) -> str:
    return f"local-admin-{hashlib.sha256(str(owner.resolve()).encode()).hexdigest()[:6]}"
