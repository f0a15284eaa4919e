"""The worker process: workflows, activities, metrics, and background work."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version as version_of

from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from purser.activities.models.metrics import CallMetrics
from purser.activities.runtime.background import run_together
from purser.activities.runtime.metrics import Metrics
from purser.activities.runtime.registry import Activity, Dependencies, all_activities
from purser.activities.runtime.safety import SafeErrors
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.runtime.stores import Stores
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.ledger import Ledger
from purser.compose.migrate import require_schema
from purser.compose.models import embedder, model_provider, pacer_of
from purser.compose.prices import price_book
from purser.compose.processes.dispatcher import Dispatcher, run_background
from purser.compose.processes.shared import Shared, opened_ledger
from purser.compose.settings import Settings
from purser.compose.settings.context import resolved_context
from purser.compose.settings.required import required
from purser.compose.telemetry.metrics import ProcessMetrics, serve_metrics
from purser.compose.temporal import connect
from purser.context.redaction import custom_detectors
from purser.gateway.postgres.keys import Keys
from purser.wire.enums import Summarizer
from purser.workflows.agent_run import AgentRun
from purser.workflows.agent_task import AgentTask
from purser.workflows.compress_session import CompressSession
from purser.workflows.signals import DropMismatchedSignals

POOL_SIZE, QUICK_POOL_SIZE = 20, 8
LOCK_TIMEOUT_MS = 300
"""Lock timeout for admission inside a workflow task (local activity); the regular activity waits longer."""
HEARTBEAT_THROTTLE = timedelta(seconds=1)
"""Longest delay before a cancellation reaches a model call."""
WORKFLOW_TASKS = 16
"""Workflow tasks at a time. They share one core: of a hundred at once, as after a decision for which a thousand tasks
waited, each took longer than Temporal waits for it, and was done again."""
CACHED_WORKFLOWS = 2_500
"""Workflows in memory: those of a thousand tasks that wait, with some room. Others are replayed when they go on."""
WORKFLOWS = (AgentTask, AgentRun, CompressSession)


async def run_worker(
    settings: Settings, stop: asyncio.Event, ready: Callable[[], None], shared: Shared | None = None
) -> None:
    """Run a worker until `stop` is set; calls `ready` once the task queue is polled.

    Args:
        settings: settings of this process.
        stop: ends the worker when set.
        ready: called once the worker polls.
        shared: resources of a gateway in the same process, which serves the metrics of both; with `None` the worker
            serves its own metrics.

    Raises:
        SchemaMismatch: the database is not migrated.
        StackError: the port for metrics is taken.
        Unreachable: Temporal does not answer.
    """
    dsn = required(settings, "dsn")
    await require_schema(dsn)
    measured = shared.metrics if shared else ProcessMetrics()
    client = shared.client if shared else await connect(settings, measured.temporal.runtime)
    async with (
        opened_ledger(settings, POOL_SIZE, shared) as ledger,
        await create_pool(dsn, size=QUICK_POOL_SIZE, lock_timeout_ms=LOCK_TIMEOUT_MS) as quick_pool,
    ):
        dispatcher = Dispatcher(Outbox(ledger.pool), client, settings.task_queue)
        given = dependencies(settings, ledger, quick_pool, dispatcher.poke, measured.work)
        grace = timedelta(seconds=settings.shutdown_grace_s)
        version, calls = worker_version(settings), measured.work.calls
        worker = make_worker(client, settings.task_queue, all_activities(given), grace, version, calls)
        work = [_work(worker, stop, ready), run_background(given.stores, dispatcher, stop, settings.sweep_every_s)]
        if shared is None:
            work.append(serve_metrics(settings, "worker_metrics_port", stop, *measured.sources))
        await run_together(*work)


async def _work(worker: Worker, stop: asyncio.Event, ready: Callable[[], None]) -> None:
    async with worker:
        ready()
        await stop.wait()


def make_worker(
    client: Client,
    task_queue: str,
    activities: Sequence[Activity],
    grace: timedelta,
    version: WorkerDeploymentVersion | None = None,
    calls: CallMetrics | None = None,
) -> Worker:
    """Build a worker of all workflows and these activities; `calls` counts activities that fail without the ledger.

    With a `version` its workflows are pinned: a task, its agents and their activities stay on the version on which the
    task began, so a release never replays a history that an older release has written.
    """
    return Worker(
        client,
        task_queue=task_queue,
        workflows=WORKFLOWS,
        activities=activities,
        interceptors=[SafeErrors(calls), DropMismatchedSignals()],
        # Temporal's sandbox checks no module that all workflows share, and so none of these; a test does. It took a
        # sixth of a task's processor time.
        workflow_runner=UnsandboxedWorkflowRunner(),
        graceful_shutdown_timeout=grace,
        max_concurrent_workflow_tasks=WORKFLOW_TASKS,
        max_cached_workflows=CACHED_WORKFLOWS,
        max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        deployment_config=WorkerDeploymentConfig(version, True, VersioningBehavior.PINNED) if version else None,
        # Histories name it. By default the SDK reads and hashes the code of all imported modules, for a second or more.
        build_id=None if version else f"purser-{version_of('purser')}",
    )


def worker_version(settings: Settings) -> WorkerDeploymentVersion | None:
    """The deployment version of a worker; `None` if workers are not versioned."""
    if settings.worker_deployment is None or settings.worker_build_id is None:
        return None
    return WorkerDeploymentVersion(settings.worker_deployment, settings.worker_build_id)


def dependencies(
    settings: Settings, ledger: Ledger, quick_pool: Pool, poke: Callable[[], None], metrics: Metrics
) -> Dependencies:
    """Build the dependencies of activities from the settings."""
    prices = price_book(settings)
    provider = model_provider(settings, metrics.calls, pacer_of(settings, ledger.pool, prices))
    stores = Stores(
        ledger=ledger,
        trust_temporal_identity=settings.trust_temporal_identity,
        pin_budget=settings.pin_token_budget,
        embedder=embedder(settings, ledger, provider, prices, metrics.calls),
        on_search=metrics.calls.searched,
        redaction=custom_detectors(settings.redaction_patterns),
    )
    return Dependencies(
        stores=stores,
        quick=replace(stores, ledger=Ledger(quick_pool, ledger.settings)),
        settings=_activity_settings(settings),
        prices=prices,
        provider=provider,
        poke=poke,
        summarizer_model="" if settings.summarizer in tuple(Summarizer) else settings.summarizer,
        summarizer_api_base=settings.summarizer_api_base,
        signer_of=Keys(ledger.pool).signer,
        metrics=metrics,
    )


def _activity_settings(settings: Settings) -> ActivitySettings:
    return ActivitySettings(
        context=resolved_context(settings),
        cooldown_s=settings.compression_cooldown_s,
        # A summary that outlived its hold would be paid for without one.
        summarizer_timeout_s=min(settings.summarizer_timeout_s, settings.lease_s),
        memory_tokens=settings.memory_token_budget,
        memory_across_sessions=settings.memory_across_sessions,
        max_parallel_agents=settings.max_parallel_agents,
        max_wait_s=settings.max_wait_s,
        max_output_tokens=settings.max_output_tokens,
        min_output_tokens=settings.min_output_tokens,
        max_attempts=settings.max_attempts,
        lease_ms=settings.lease_s * 1_000,
    )
