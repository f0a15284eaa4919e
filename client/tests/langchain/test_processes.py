"""Runs of a process that this one goes on with: after a kill in the middle of a call, and after an interrupt."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from langgraph.types import Command
from roads import HELLO
from table import OUTPUT, PROMPT

from client.tests.langchain.process import run

PROCESS = Path(__file__).with_name("process.py")
SAYS = {"messages": [["user", HELLO]]}


async def started(door: Door, folder: Path, **options: Any) -> asyncio.subprocess.Process:
    """A process that runs the agent."""
    arguments = map(json.dumps, (SAYS, {"path": door.path, **options}))
    return await asyncio.create_subprocess_exec(
        sys.executable, str(PROCESS), str(folder / "checkpoints"), *arguments, stdout=asyncio.subprocess.PIPE
    )


@pytest.mark.parametrize("lapsed", [False, True], ids=["within the lease", "after the lease"])
async def test_a_killed_run_is_charged_its_estimate_once_and_goes_on(door: Door, tmp_path: Path, lapsed: bool) -> None:
    await door.limit(5_000)
    await door.script(faults=[{"kind": "hang"}])
    lease = {"lease_s": 3 if lapsed else 60}
    killed = await started(door, tmp_path, **lease)
    await door.arrived()
    killed.kill()
    assert await killed.wait() == -signal.SIGKILL
    if lapsed:
        await door.is_charged(PROMPT + OUTPUT)
    else:
        assert await door.figures() == (0, PROMPT + OUTPUT)
    resumed = await run(str(tmp_path / "checkpoints"), None, {"path": door.path, **lease})
    assert "hello" in resumed["said"]
    gone, served = await door.served()
    assert gone["end"]["outcome"] == "client_gone"
    await door.is_charged(PROMPT + OUTPUT, served["charged_tokens"])
    entries = (await door.purser.reports.ledger(scope=door.session, kind="hold")).items
    first, *others = [one.key for one in reversed(entries)]
    assert others == ([f"{first}/2"] if lapsed else [])
    assert resumed["keys"] == [first, *others]


async def test_a_run_that_is_interrupted_keeps_its_key_in_another_process(door: Door, tmp_path: Path) -> None:
    await door.limit(10, mode="approval")
    process = await started(door, tmp_path, interrupts=True)
    printed, _ = await process.communicate()
    assert process.returncode == 0
    interrupted = json.loads(printed)
    assert len(interrupted["interrupts"]) == 1
    await door.approve()
    goes_on = Command(resume=True)
    resumed = await run(str(tmp_path / "checkpoints"), goes_on, {"path": door.path, "interrupts": True})
    assert "hello" in resumed["said"]
    assert len(resumed["keys"]) == 1
    assert resumed["keys"] == interrupted["keys"]
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])
