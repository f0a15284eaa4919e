"""The fixtures that all other tests use."""

import tempfile
from pathlib import Path

import asyncpg
import pytest
from temporalio.client import Client

from tests.support.servers.forked import Forks, start_forks
from tests.support.shared import shared

Pool = asyncpg.Pool


async def test_each_test_gets_its_own_migrated_database(pool: "Pool[asyncpg.Record]") -> None:
    assert await pool.fetchval("SELECT version_num FROM alembic_version")
    await pool.execute("CREATE TABLE only_here (x int)")


async def test_no_test_sees_the_database_of_another(pool: "Pool[asyncpg.Record]") -> None:
    assert await pool.fetchval("SELECT to_regclass('only_here')") is None


async def test_the_temporal_server_answers(temporal_client: Client) -> None:
    assert await temporal_client.service_client.check_health()


@pytest.mark.stack
def test_forks_that_the_last_worker_stopped_start_again_for_a_later_one(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as place:  # the path of a socket has to be short
        for _ in range(2):
            with shared(Path(place), "forks", lambda: start_forks(Path(place), warm=False)) as address:
                assert Forks(address).purser(tmp_path).run("--version").returncode == 0
