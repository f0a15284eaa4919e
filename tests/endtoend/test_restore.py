"""A restored backup: the ledger is right, and workflows that Temporal ran since the backup spend nothing."""

import asyncio
import json
import subprocess
import uuid
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from temporalio.client import Client, WorkflowFailureError

from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.demo.provider import Match
from purser.compose.stack.temporal import find_temporal
from purser.workflows.contract import TaskRef
from tests.support.databases import TOOLS
from tests.support.world import TENANT, World, world

pytestmark = pytest.mark.stack


def dump(dsn: str, file: Path) -> None:
    """Dumps a database as docs/operations/backup.md describes."""
    subprocess.run([TOOLS / "pg_dump", "--format=custom", f"--file={file}", dsn], check=True)


async def restore(dsn: str, file: Path) -> str:
    """Restores a dump into a new database on the same server; returns its DSN."""
    name = f"restored_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    await connection.close()
    there = dsn.replace(f"{urlsplit(dsn).path}?", f"/{name}?")
    command = [str(TOOLS / "pg_restore"), "--exit-on-error", "--no-owner", f"--dbname={there}", str(file)]
    subprocess.run(command, check=True)
    return there


@pytest.fixture
async def system(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    async with world(dsn, temporal_client, task_queue) as made:
        yield made


async def test_a_restored_dump_has_every_figure_and_passes_the_audit(system: World, dsn: str, tmp_path: Path) -> None:
    async with system.worker():
        task = await system.run(system.agent("a"), system.agent("b", depends_on=["a"]))
    dump(dsn, tmp_path / "purser.dump")
    restored = await restore(dsn, tmp_path / "purser.dump")
    async with await create_pool(restored, size=2) as pool:
        found = await audit(pool)
        assert found.ok, found.differences
        assert found.checked == (await audit(system.pool)).checked
        async with world(restored, system.client, system.task_queue) as again, again.worker():
            assert await again.tasks.get(TENANT, str(task["task_id"])) == task
            assert (await again.run(again.agent("a")))["status"] == "completed"
            await again.audited()


async def test_a_task_that_the_restored_database_does_not_know_ends_and_spends_nothing(
    system: World, dsn: str, tmp_path: Path
) -> None:
    dump(dsn, tmp_path / "before.dump")
    system.provider.control.hold(Match(attempt=1))
    async with system.worker():
        task_id = await system.submit(system.agent("a"))
        await system.provider.control.wait_held()
    system.provider.control.continue_held()
    restored = await restore(dsn, tmp_path / "before.dump")
    async with world(restored, system.client, system.task_queue) as again, again.worker():
        with pytest.raises(WorkflowFailureError):
            await again.workflow(task_id).result()
        assert again.provider.served() == ()
        await again.audited()


async def test_a_task_that_went_on_after_the_backup_ends_in_part_and_spends_nothing(
    system: World, dsn: str, tmp_path: Path
) -> None:
    control = system.provider.control
    control.hold(Match(attempt=1))
    async with system.worker():
        task_id = await system.submit(system.agent("a"), system.agent("b", depends_on=["a"]))
        await control.wait_held()
        dump(dsn, tmp_path / "before.dump")
        control.continue_held()
        control.hold(Match(agent="b"))
        await control.wait_held()
    control.continue_held()
    restored = await restore(dsn, tmp_path / "before.dump")
    async with world(restored, system.client, system.task_queue) as again, again.worker():
        ended = await again.end(task_id)
        assert ended["status"] == "partial", "the agent that had ended is not known to have"
        assert again.provider.served() == ()
        assert (await audit(again.pool)).ok


async def test_a_task_whose_workflow_is_lost_goes_on_when_it_is_started_again(
    system: World, temporal_address: str
) -> None:
    system.provider.control.hold(Match(attempt=1, agent="b"))
    async with system.worker():
        task_id = await system.submit(system.agent("a"), system.agent("b", depends_on=["a"]))
        await system.provider.control.wait_held()
    # Terminating them is as good as losing them: neither runs any code of the workflow.
    for workflow in (system.workflow(task_id, "b"), system.workflow(task_id)):
        await workflow.terminate()
    system.provider.control.continue_held()
    async with system.worker():
        words = ("workflow", "start", "--type", "AgentTask", "--task-queue", system.task_queue)
        lost = TaskRef(task_id, TENANT)
        named = ("--workflow-id", lost.workflow_id, "--input", json.dumps(asdict(lost)))
        command = [find_temporal(), *words, *named, "--address", temporal_address]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
        task = await system.end(task_id)
    assert task["status"] == "completed"
    assert task["agents"]["a"]["turns"] == 2, "an agent that had ended takes its turns again"
    # The hold of the lost call ends with its lease; its attempt is charged as presumed then.
    assert await system.open_holds() == 1
    assert (await audit(system.pool)).ok
