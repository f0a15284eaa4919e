"""Workflows that do nothing: what Temporal itself costs, on the same server and with a worker on the same machine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

QUEUE = "bench-baselines"
LIMIT = timedelta(seconds=30)


@activity.defn(name="nothing")
async def nothing() -> None:
    """Does nothing."""


@workflow.defn(name="FiveActivities")
class FiveActivities:
    """Five regular activities, one after the other: a turn written as counting, holding, calling, settling, storing."""

    @workflow.run
    async def run(self) -> None:
        """Returns after the last one."""
        for _ in range(5):
            await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)


@workflow.defn(name="EmptyPair")
class EmptyPair:
    """One local and one regular activity: as many as a plain turn of an agent has."""

    @workflow.run
    async def run(self) -> None:
        """Returns after the regular one."""
        await workflow.execute_local_activity(nothing, start_to_close_timeout=LIMIT)
        await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)


@asynccontextmanager
async def baseline_worker(client: Client) -> AsyncIterator[None]:
    """A worker for these workflows. They run without a sandbox, which makes them a little quicker."""
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[FiveActivities, EmptyPair],
        activities=[nothing],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield
