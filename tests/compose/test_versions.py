"""Worker versioning, and the replay of running workflows before a new version takes over."""

import asyncio
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion

from purser.activities.runtime.registry import all_activities
from purser.compose.demo.provider import Match
from purser.compose.processes.worker import make_worker, worker_version
from purser.compose.settings import Settings
from purser.compose.stack.temporal import find_temporal
from purser.compose.versions import ReplayResult, replay_running
from purser.workflows.gate import Gate
from tests.support.servers.forked import Forks
from tests.support.world import World, eventually, world

COMPLETED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


@pytest.fixture
async def system(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    async with world(dsn, temporal_client, task_queue) as made:
        yield made


@asynccontextmanager
async def versioned(system: World, version: WorkerDeploymentVersion, address: str) -> AsyncIterator[None]:
    """A worker of this version, in a process that starts no tasks: those go first to the workers of their client."""
    activities, client = all_activities(system.dependencies), await Client.connect(address)
    async with make_worker(client, system.task_queue, activities, timedelta(seconds=5), version):
        yield


async def make_current(system: World, version: WorkerDeploymentVersion, address: str) -> None:
    """Set the current version as an operator does, once the server knows it from a poll of its worker, and wait until
    the task queues have heard of it."""

    async def set_version() -> bool | None:
        words = ("worker", "deployment", "set-current-version", "--yes", "--address", address)
        named = ("--deployment-name", version.deployment_name, "--build-id", version.build_id)
        done = await asyncio.to_thread(subprocess.run, [find_temporal(), *words, *named], capture_output=True)
        return done.returncode == 0 or None

    async def heard() -> bool:
        found = [
            await system.client.workflow_service.describe_task_queue(
                DescribeTaskQueueRequest(
                    namespace=system.client.namespace,
                    task_queue=TaskQueue(name=system.task_queue),
                    task_queue_type=kind,
                )
            )
            for kind in (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
        ]
        return {one.versioning_info.current_deployment_version.build_id for one in found} == {version.build_id}

    await eventually(set_version)
    await eventually(heard)


async def build_of(system: World, task_id: str, agent_id: str = "") -> tuple[str, int]:
    """The build id that a workflow is pinned to."""
    description = await system.workflow(task_id, agent_id).describe()
    info = description.raw_description.workflow_execution_info.versioning_info
    return info.deployment_version.build_id, info.behavior


async def test_a_task_stays_with_the_version_it_began_on_and_later_tasks_go_to_the_current_one(
    system: World, temporal_address: str
) -> None:
    deployment, pinned = f"purser-{uuid.uuid4().hex[:8]}", int(VersioningBehavior.PINNED)
    blue, green = (WorkerDeploymentVersion(deployment, build) for build in ("blue", "green"))
    async with versioned(system, blue, temporal_address):
        await make_current(system, blue, temporal_address)
        system.provider.control.hold(Match(attempt=1))
        old = await system.submit(system.agent("a"), system.agent("b", depends_on=["a"]))
        await system.provider.control.wait_held()
        async with versioned(system, green, temporal_address):
            await make_current(system, green, temporal_address)
            system.provider.control.continue_held()
            new = await system.submit(system.agent("a"))
            ended = [await system.end(task) for task in (old, new)]
            assert [task["status"] for task in ended] == ["completed", "completed"]
            # The second agent of the old task began when the other version was current already.
            assert {await build_of(system, old), await build_of(system, old, "b")} == {("blue", pinned)}
            assert {await build_of(system, new), await build_of(system, new, "a")} == {("green", pinned)}
    await system.audited()


def test_workers_are_versioned_only_where_both_settings_are_there() -> None:
    assert worker_version(Settings()) is None
    named = Settings(worker_deployment="purser", worker_build_id="1.4.0")
    assert worker_version(named) == WorkerDeploymentVersion("purser", "1.4.0")


async def test_histories_name_the_release_of_a_worker_without_a_version(system: World) -> None:
    async with system.worker():
        task_id = await system.submit(system.agent("a"))
        await system.end(task_id)
    history = await system.workflow(task_id).fetch_history()
    completed = [
        event.workflow_task_completed_event_attributes for event in history.events if event.event_type == COMPLETED
    ]
    assert {attributes.worker_version.build_id for attributes in completed} == {f"purser-{version('purser')}"}


async def test_running_workflows_replay_with_this_code(system: World) -> None:
    task_id = await _waiting_task(system)
    replayed = await eventually(lambda: _replayed(system, task_id))
    assert replayed.ok


async def test_a_workflow_that_does_not_replay_is_named(system: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await system.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 100]])
    task_id = await _waiting_task(system, session_id="slow")
    await eventually(lambda: _replayed(system, task_id))

    async def at_once(gate: Gate, delay_ms: int) -> None:
        """A gate that no longer sleeps."""

    monkeypatch.setattr(Gate, "sleep_out", at_once)
    replayed = await replay_running(system.client, system.task_queue, 10)
    assert replayed.failed == {f"task-acme/{task_id}/a": "NondeterminismError"}


async def test_the_command_replays_and_ends(
    system: World, forks: Forks, dsn: str, temporal_address: str, tmp_path: Path
) -> None:
    task_id = await _waiting_task(system)
    await eventually(lambda: _replayed(system, task_id))
    places = {"dsn": dsn, "temporal_address": temporal_address, "task_queue": system.task_queue}
    shown = await asyncio.to_thread(forks.purser(tmp_path, **places).json, "worker", "--verify", "10")
    assert shown == {"ok": True, "replayed": 2, "failed": {}}


async def _waiting_task(system: World, **more: str) -> str:
    """A task that ran for a while and whose worker is gone."""
    system.provider.control.hold(Match(attempt=1))
    async with system.worker(grace=timedelta(0)):
        task_id = await system.submit(system.agent("a"), **more)
        await system.provider.control.wait_held()
    return task_id


async def _replayed(system: World, task_id: str) -> ReplayResult | None:
    """The replay of the task and its agent, once the list of workflows has both."""
    found = await replay_running(system.client, system.task_queue, 10)
    return found if found.workflows == 2 else None
