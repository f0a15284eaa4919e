"""Completed work raises no alert: tasks end, an hour passes, and a real Prometheus with the shipped rules is silent."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from temporalio.client import Client

from purser.budget.postgres.reports.burn import SAMPLE_EVERY_S, SPACING, Burn
from purser.compose.stack.ports import free_port
from tests.support.ledger import Books
from tests.support.runs.proof import sized
from tests.support.servers.forked import Forks
from tests.support.servers.monitoring import Running, program, running_processes, shipped_prometheus, started_program
from tests.support.world import World, eventually, world

pytestmark = [pytest.mark.stack, pytest.mark.proof]
TASKS = sized(6, 220)
ENDS_WITHIN_S = 500
REST = """
update balances set updated_at = updated_at - interval '67 minutes';
update balance_samples set at = at - interval '67 minutes';
update balance_sampling set sampled_at = sampled_at - interval '67 minutes';
update scopes set ended_at = ended_at - interval '67 minutes';
"""
"""Ages by an hour and the time until the last sample every row on which alerts about budgets depend."""
UNSAMPLED = """
select exists (
    select from balances b cross join lateral (
        select s.spent_tokens from balance_samples s
        where s.tenant = b.tenant and s.scope_id = b.scope_id and s.window_start = b.window_start
        order by s.at desc limit 1) l
    where l.spent_tokens <> b.spent_tokens)
"""


@pytest.fixture
async def system(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    async with world(dsn, temporal_client, task_queue, background=False) as made:
        yield made


@pytest.fixture
async def running(
    forks: Forks, tmp_path: Path, system: World, dsn: str, temporal_address: str
) -> AsyncIterator[Running]:
    bases = system.provider.api_base
    async with running_processes(
        forks, tmp_path, dsn, temporal_address, system.task_queue, allowed_api_bases=bases, backpressure="[]"
    ) as made:
        yield made


async def submit(system: World, number: int) -> str:
    """A task whose budgets its one call uses up, or nearly."""
    limits = {"limit_tokens": 15 + number % 8, "mode": "soft"}
    await system.budget(f"session:s{number}", **limits)
    agent = system.agent(max_output_tokens=20)
    return await system.submit(agent, session_id=f"s{number}", budget={"task": limits, "agent": limits})


async def test_finished_tasks_raise_no_alert_after_an_hour_of_rest(
    system: World, running: Running, tmp_path: Path
) -> None:
    prometheus, port = program("prometheus"), free_port()
    for number in range(TASKS):
        await submit(system, number)
    await eventually(lambda: ended(system), within_s=ENDS_WITHIN_S)
    used = {kind: await used_up(running, kind) for kind in ("session", "task", "agent")}
    assert used["session"] > 0, "the work did use up its budgets"
    assert (used["task"], used["agent"]) == (0, 0), "ended tasks and agents leave at once"
    await eventually(lambda: sampled(system))
    await system.pool.execute(REST)
    with started_program(
        tmp_path / "prometheus.log",
        prometheus,
        f"--config.file={shipped_prometheus(tmp_path, running, free_port())}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=30) as client:
            since = await eventually(lambda: scraped(client), within_s=120)
            await eventually(lambda: evaluated(client, since), within_s=120)
            assert [alert["labels"]["alertname"] for alert in (await asked(client, "/alerts"))["alerts"]] == []


async def ended(system: World) -> bool:
    """Whether all tasks completed."""
    return bool(await system.pool.fetchval("select count(*) from tasks where status = 'completed'") == TASKS)


async def sampled(system: World) -> bool:
    """Takes the samples that gateways would take within the next minutes, also of what they have sampled while its task
    ran; whether all that was spent is sampled."""
    books = Books.on(system.pool)
    books.at(datetime.now(UTC) + SPACING + timedelta(seconds=SAMPLE_EVERY_S))
    await Burn(books.pool, books.policies).sample()
    return not await system.pool.fetchval(UNSAMPLED)


async def used_up(running: Running, kind: str) -> float:
    """How many soft budgets of a kind `/metrics` shows at 80 % or more."""
    families = text_string_to_metric_families((await running.scrape())[0])
    scopes = next(family for family in families if family.name == "purser_budget_scopes")
    wanted = {"kind": kind, "mode": "soft"}
    return float(
        sum(
            sample.value
            for sample in scopes.samples
            if wanted.items() <= sample.labels.items() and sample.labels["band"] != "under_80"
        )
    )


async def scraped(client: httpx.AsyncClient) -> datetime | None:
    """When Prometheus had scraped both processes and the figures of the ledger."""
    with suppress(httpx.HTTPError):  # it starts
        seen = await asked(client, "/query", query='sum(up{job=~"purser-.*"}) == 2 and count(purser_budget_scopes) > 0')
        return datetime.now(UTC) if seen["result"] else None
    return None


async def evaluated(client: httpx.AsyncClient, since: datetime) -> bool:
    """Whether every rule was evaluated twice since a moment, without an error."""
    groups = (await asked(client, "/rules"))["groups"]
    assert all(rule["health"] != "err" for group in groups for rule in group["rules"]), groups
    return all(datetime.fromisoformat(group["lastEvaluation"]) > since + timedelta(seconds=2) for group in groups)


async def asked(client: httpx.AsyncClient, path: str, **query: str) -> Any:
    """What Prometheus answers."""
    answer = await client.get(path, params=query)
    answer.raise_for_status()
    return answer.json()["data"]
