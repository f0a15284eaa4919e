"""A worker that is killed repeatedly at random moments: the charges for requests that no provider received."""

import asyncio
import random
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.support.runs.proof import sized
from tests.support.servers.purser import Purser
from tests.support.world import World, eventually, world

pytestmark = [pytest.mark.stack, pytest.mark.proof]
KILLS = 30
LONGEST_LIFE_S = 10
"""Longest life of a worker in seconds: some die before their first request, while they import LiteLLM."""
TASKS = 2
"""Tasks submitted in the life of each worker."""
ENDS_WITHIN_S = 300.0


async def test_nearly_nothing_is_charged_that_no_provider_saw(
    dsn: str, temporal_client: Client, temporal_address: str, task_queue: str, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    async with world(dsn, temporal_client, task_queue) as made:
        settings = {"temporal_address": temporal_address, "task_queue": task_queue, "grace_s": "1", "lease_s": "4"}
        settings["worker_metrics_port"] = "0"
        purser = Purser.at(tmp_path, **settings, dsn=dsn, sweep_every_s="1", allowed_api_bases=made.provider.address)
        tasks = []
        for _ in range(sized(1, KILLS)):
            worker = await asyncio.to_thread(purser.start, "worker")
            tasks += [await submit(made) for _ in range(TASKS)]
            await asyncio.sleep(chance.uniform(0, LONGEST_LIFE_S))
            await asyncio.to_thread(worker.kill)
        worker = await asyncio.to_thread(purser.start, "worker")
        try:
            for task_id in tasks:
                await ended(made, task_id)
        finally:
            await asyncio.to_thread(worker.kill)
        attempts, unseen = await counted(made)
    assert unseen <= max(1, attempts * 0.02), f"{unseen} of {attempts} attempts"


async def submit(made: World) -> str:
    """A task of four agents, one after the other."""
    names = "abcd"
    agents = [
        made.agent(name, "Done.", depends_on=[before] if before else [])
        for before, name in zip(["", *names], names, strict=False)
    ]
    return await made.submit(*agents)


async def ended(made: World, task_id: str) -> None:
    async def look() -> bool:
        return (await made.tasks.get("acme", task_id))["ended_at"] is not None

    await eventually(look, within_s=ENDS_WITHIN_S)


async def counted(made: World) -> tuple[int, int]:
    """Returns the number of attempts, and of presumed ones that the provider never received."""
    rows = await made.pool.fetch("select hold_id, attempt, state, tokens from attempts")
    served = {one.arrival.request_id for one in made.provider.served()}
    unseen = [row for row in rows if row["state"] == "presumed" and f"{row['hold_id']}-{row['attempt']}" not in served]
    return len(rows), len(unseen)
