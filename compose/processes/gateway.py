"""The gateway process: the HTTP API, the dashboard, metrics, and background work."""

import asyncio
import hashlib
import socket
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import structlog
from temporalio.client import Client

from purser.activities.runtime.background import repeat, run_together
from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.ceilings import Ceilings
from purser.budget.actors import Actor
from purser.budget.postgres.audit.checkpoints import EVERY_S as CHECKPOINT_EVERY_S
from purser.budget.postgres.audit.retention import LedgerRetention
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.reports.burn import SAMPLE_EVERY_S
from purser.budget.postgres.reports.exporter import Exporter
from purser.compose.errors import Unreachable
from purser.compose.http.connections import ConnectionLimits, connections_of, raise_file_limit
from purser.compose.http.forwarding import PagesElsewhere
from purser.compose.http.serving import after, listen, listen_locally, serve
from purser.compose.migrate import require_schema
from purser.compose.models import embedder, model_provider, pacer_of
from purser.compose.prices import price_book
from purser.compose.processes.dashboard import setup
from purser.compose.processes.dispatcher import Dispatcher, run_background
from purser.compose.processes.retention import EVERY_S as RETENTION_EVERY_S
from purser.compose.processes.retention import LedgerSweep, Retention
from purser.compose.processes.several import ALONE, Place
from purser.compose.processes.shared import Shared, opened_ledger
from purser.compose.settings import Settings
from purser.compose.settings.context import resolved_context
from purser.compose.settings.required import required
from purser.compose.telemetry.metrics import serve_metrics
from purser.compose.telemetry.temporal_metrics import TemporalMetrics
from purser.compose.temporal import connect
from purser.context.redaction import custom_detectors
from purser.gateway.access.roles import Role
from purser.gateway.access.sealing import Seal
from purser.gateway.app import create_app, with_direct_routes
from purser.gateway.dashboard.serving.mounting import mount
from purser.gateway.http.limits import Limits
from purser.gateway.metrics.ledger import LedgerMetrics
from purser.gateway.metrics.requests import Metrics, source
from purser.gateway.postgres.browser_sessions import LINK_LIFE, BrowserSessions
from purser.gateway.postgres.keys import Keys
from purser.gateway.services import Services
from purser.gateway.webhooks.delivery import Deliverer
from purser.gateway.webhooks.targets import Targets

log = structlog.get_logger(__name__)
DEFAULT_TENANT = "default"
POOL_SIZE = 20
AUDIT_CHECK_EVERY_S = 60.0
"""Seconds between two checks whether an audit is due."""


async def run_gateway(
    settings: Settings,
    stop: asyncio.Event,
    ready: Callable[[], None],
    shared: Shared | None = None,
    place: Place = ALONE,
    listener: socket.socket | None = None,
) -> None:
    """Serve until `stop` is set; calls `ready` once requests are answered.

    Args:
        settings: settings of this process.
        stop: ends the process when set.
        ready: called once the gateway serves.
        shared: resources of a worker in the same process; its metrics are served together with the gateway's.
        place: this process among those of the gateway. Each does everything but keep pages, which the first one does.
        listener: serves there; by default on the host and port of the settings.

    Raises:
        StackError: a port is taken.
        SchemaMismatch: the database is not migrated.
        Unreachable: Postgres does not answer.
    """
    await require_schema(required(settings, "dsn"))
    temporal = shared.metrics.temporal if shared else TemporalMetrics()
    client = shared.client if shared else await _connected_or_later(settings, temporal)
    async with opened_ledger(settings, POOL_SIZE, shared) as ledger:
        dispatcher = Dispatcher(Outbox(ledger.pool), client, settings.task_queue)
        own = Metrics(shared.metrics.work.calls if shared else None)
        services = build_services(settings, ledger, client, dispatcher.poke, own)
        if unreadable := await services.webhooks.renew_secrets():
            log.warning("secrets of webhooks were encrypted with keys that are not configured", webhooks=unreadable)
        exporter = Exporter(ledger.pool, ledger.settings, idle=timedelta(seconds=settings.budget_idle_s))
        figures = LedgerMetrics(exporter, services.burn)
        others = shared.metrics.sources if shared else (temporal.text,)
        # Until it is set, a stopping gateway still serves; only its readiness check fails.
        drained = asyncio.Event()
        await run_together(
            after(stop, settings.drain_s, drained),
            _serve(settings, services, stop, drained, ready, place, listener),
            serve_metrics(
                settings, "metrics_port", drained, source(own.registry), *others, common=[figures.text], place=place
            ),
            run_background(services, dispatcher, drained, settings.sweep_every_s),
            _maintain(settings, services, drained),
            figures.close_after(drained),
            services.feed.run(drained),
            Deliverer(services.deliveries, services.targets, services.seal, own.webhook_failed).run(drained),
        )


async def _connected_or_later(settings: Settings, temporal: TemporalMetrics) -> Client:
    """A client of Temporal: a gateway holds, decides and takes tasks without it, and so starts without it too."""
    try:
        return await connect(settings, temporal.runtime)
    except Unreachable as error:
        log.warning("without Temporal: tasks start and can be steered once it answers", error=str(error))
        return await connect(settings, temporal.runtime, lazy=True)


async def _serve(
    settings: Settings,
    services: Services,
    stop: asyncio.Event,
    drained: asyncio.Event,
    ready: Callable[[], None],
    place: Place,
    listener: socket.socket | None,
) -> None:
    if listener is None:
        listener = listen(settings.gateway_host, settings.gateway_port, shared=place.count > 1)
    app = create_app(services, services.setup.checks, stop.is_set)
    served = with_direct_routes(app)
    works: list[Coroutine[Any, Any, None]] = []
    if settings.dashboard and place.number:
        served = PagesElsewhere(served, place.socket(0))
    elif settings.dashboard:
        works.append(mount(app, services, _temporal_ui(settings)).close_after(drained))
        if place.count > 1:
            pages = listen_locally(place.socket(0))
            works.append(serve(app, pages, drained, lambda: None, grace_s=settings.shutdown_grace_s))
    limits = _connection_limits(settings)
    works.append(serve(served, listener, drained, ready, grace_s=settings.shutdown_grace_s, limits=limits))
    await run_together(*works)


async def _maintain(settings: Settings, services: Services, stop: asyncio.Event) -> None:
    """Run periodic maintenance, of which one gateway at a time does each round: samples, checkpoints, retention."""
    age = timedelta(days=settings.events_retention_days)
    retention, every_s = Retention(services.events, services.outbox, services.deliveries, age), settings.sweep_every_s
    await run_together(
        *_audits(settings, services, stop),
        *_ledger_retention(settings, services, stop),
        repeat("session_retention", services.sessions.retention.sweep, stop, every_s),
        repeat("session_compressions", services.compressions.start_due, stop, every_s, services.compressions.poked),
        repeat("vanished", services.vanished.sweep, stop, every_s),
        repeat("burn", services.burn.sample, stop, SAMPLE_EVERY_S),
        repeat("checkpoints", services.checkpoints.make, stop, CHECKPOINT_EVERY_S),
        repeat("event_retention", retention.sweep, stop, RETENTION_EVERY_S),
        repeat("answers", services.idempotency.sweep, stop, RETENTION_EVERY_S),
    )


def _audits(settings: Settings, services: Services, stop: asyncio.Event) -> Sequence[Coroutine[Any, Any, None]]:
    """The scheduled audit, unless it is off. It runs beside the loop, so that a stop does not wait for it."""
    every = timedelta(seconds=settings.audit_every_s)
    audits = services.pages.audits
    return [repeat("audit", lambda: audits.start_due(every), stop, AUDIT_CHECK_EVERY_S)] if every else []


def _ledger_retention(
    settings: Settings, services: Services, stop: asyncio.Event
) -> Sequence[Coroutine[Any, Any, None]]:
    """Retention of the ledger, unless it is kept for ever."""
    if settings.ledger_retention_days is None:
        return []
    age = timedelta(days=settings.ledger_retention_days)
    sweep = LedgerSweep(LedgerRetention(services.ledger.pool, age))
    return [repeat("ledger_retention", sweep.step, stop, sweep.pause_s)]


def build_services(
    settings: Settings, ledger: Ledger, client: Client, poke: Callable[[], None], metrics: Metrics
) -> Services:
    """Build the services that endpoints use."""
    prices = price_book(settings)
    provider = model_provider(settings, metrics.calls, pacer_of(settings, ledger.pool, prices))
    return Services(
        ledger=ledger,
        redaction=custom_detectors(settings.redaction_patterns),
        trust_temporal_identity=settings.trust_temporal_identity,
        pin_budget=settings.pin_token_budget,
        embedder=embedder(settings, ledger, provider, prices, metrics.calls),
        on_search=metrics.calls.searched,
        temporal=client,
        poke=poke,
        metrics=metrics,
        limits=Limits(
            settings.rate_limit_per_s,
            settings.sign_in_failures_per_min,
            open_per_s=settings.open_requests_per_s,
            streams_per_key=settings.streams_per_key,
            streams_per_tenant=settings.streams_per_tenant,
            large_bodies_per_key=settings.large_bodies_per_key,
            call_bytes_per_key=settings.call_bytes_per_key,
            call_bytes_per_tenant=settings.call_bytes_per_tenant,
            waiting_calls_per_key=settings.waiting_calls_per_key,
            session_reads_per_key=settings.session_reads_per_key,
            session_reads_per_tenant=settings.session_reads_per_tenant,
        ),
        prices=prices,
        provider=provider,
        proxy_output_tokens=settings.max_output_tokens,
        min_output_tokens=settings.min_output_tokens,
        seal=Seal(settings.secrets_keys),
        targets=Targets(settings.webhook_targets),
        public_url=settings.public_url or settings.gateway_url,
        setup=setup(settings, ledger.pool, client),
        task_queue=settings.task_queue,
        ceilings=Ceilings(
            settings.task_limit_ceiling_tokens,
            settings.task_limit_ceiling_nano_usd,
            {kind: policy.mode for kind, policy in ledger.settings.defaults.items()},
        ),
        allowed_tools=AllowedTools(settings.tool_activities, settings.tool_task_queues, settings.task_queue),
        context=resolved_context(settings),
        router_budget=settings.router_history_token_budget,
        memory_tokens=settings.memory_token_budget,
        browser_session_life=timedelta(seconds=settings.browser_session_s),
        compress_sessions=settings.compress_sessions,
        memory_across_sessions=settings.memory_across_sessions,
        allowed_api_bases=settings.allowed_api_bases,
        max_wait=timedelta(seconds=settings.max_wait_s),
        secure_cookies=settings.secure_cookies,
    )


async def renew_admin_key(dsn: str, owner: Path) -> str:
    """Create the admin key of one local `up` and revoke its previous one.

    Args:
        dsn: DSN of the database that stores the keys.
        owner: data directory of that `up`; keys of others on the same database stay valid.
    """
    async with await create_pool(dsn, size=1) as pool:
        made = await Keys(pool).create(
            DEFAULT_TENANT, _key_name(owner), Role.ADMIN, by=Actor("purser up", None), replace=True
        )
    return made.secret


async def sign_in_token(dsn: str, key: str) -> str:
    """The token of a new sign-in link for the owner of a valid key."""
    async with await create_pool(dsn, size=1) as pool:
        caller = await Keys(pool).find(key)
        assert caller is not None
        return (await BrowserSessions(pool, LINK_LIFE).link(caller)).token


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


def _key_name(owner: Path) -> str:
    return f"local-admin-{hashlib.sha256(str(owner.resolve()).encode()).hexdigest()[:6]}"
