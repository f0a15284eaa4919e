"""A worker that is killed in a call, whether its activity sends heartbeats itself or not."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from doors import Door
from table import OUTPUT, PROMPT
from temporal_table import Project
from temporalio.client import Client

ROOT = Path(__file__).parents[2]
WORKER = (sys.executable, "-m", "client.tests.temporal_worker")


async def test_a_killed_worker_is_charged_its_estimate_and_another_goes_on(door: Door, project: Project) -> None:
    await door.limit(5_000)
    await door.script(faults=[{"kind": "hang"}])
    worker = await asyncio.create_subprocess_exec(*WORKER, project.folder, project.task_queue, cwd=ROOT)
    handle = await project.started(await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"]))
    await door.arrived()
    worker.kill()
    assert await worker.wait() == -signal.SIGKILL
    assert await door.figures() == (0, PROMPT + OUTPUT)
    async with project.working():
        assert "hello" in await handle.result()
    gone, served = await door.served()
    assert gone["end"]["outcome"] == "client_gone"
    await door.is_charged(PROMPT + OUTPUT, served["charged_tokens"])
