"""A real Prometheus scrapes a running gateway and worker, and an alert reaches its receiver."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.registry import CollectorRegistry

from purser.activities.runtime.metrics import Metrics as WorkMetrics
from purser.compose.settings import Settings
from purser.compose.stack.ports import free_port
from purser.gateway.metrics.requests import Metrics as GatewayMetrics
from tests.support.runs.temporal_families import TEMPORAL
from tests.support.servers.forked import Forks
from tests.support.servers.metrics import Asked, Scrape
from tests.support.servers.monitoring import (
    DEPLOY,
    PROMETHEUS,
    ROOT,
    Pager,
    Running,
    program,
    running_processes,
    shipped_alertmanager,
    shipped_prometheus,
    started_program,
)

pytestmark = [pytest.mark.stack, pytest.mark.proof]

DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
PAGES = sorted((ROOT / "docs").rglob("*.md"))
NO_METRICS = {*Settings.model_fields, "purser_url", "purser_session", "purser_provider_calls_unguarded"}
"""Names that look like metrics."""
REFERENCE = ROOT / "docs" / "reference" / "metrics.md"
_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\|", re.MULTILINE)
_NAMED = re.compile(r"`((?:purser|temporal)_[a-z0-9_]+)(?:\{[^`]*)?`")
_PARTS = re.compile(r"_(bucket|sum|count)$")


@pytest.fixture
async def running(
    forks: Forks, tmp_path: Path, dsn: str, temporal_address: str, task_queue: str
) -> AsyncIterator[Running]:
    async with running_processes(forks, tmp_path, dsn, temporal_address, task_queue) as made:
        yield made


# --- every name exists -----------------------------------------------------------------------------------------------


def _labels_of(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Labels of Purser's instruments by series, which no sample shows before something is counted."""
    return {name: set(one._labelnames) for name, one in registry._names_to_collectors.items()}  # type: ignore[attr-defined]


async def test_whatever_is_named_is_served_and_whatever_is_served_is_explained(running: Running) -> None:
    async with running.client() as client:
        await client.post("/v1/holds", json={"key": "k", "path": ["session:s1"], "tokens": 10})
    scrape = Scrape.of(*await running.scrape())
    known = scrape.series | {name: scrape.series.get(name, set()) | labels for name, labels in TEMPORAL.items()}
    for registry in (GatewayMetrics().registry, WorkMetrics().registry):
        for name, labels in _labels_of(registry).items():
            for part in ("", "_bucket", "_sum", "_count"):
                if name + part in known:
                    known[name + part] = known[name + part] | labels

    explained = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in _ROW.findall(
        REFERENCE.read_text("utf-8")
    )}  # fmt: skip
    ours = {name: kind for name, kind in scrape.types.items() if name.startswith("purser_")}
    assert {name: kind for name, (kind, _) in explained.items() if name.startswith("purser_")} == ours
    for name, (kind, labels) in explained.items():
        series = known[f"{name}_bucket" if kind == "histogram" else name]
        assert labels == series - {"le"}, name

    rules = yaml.safe_load((PROMETHEUS / "rules.yml").read_text("utf-8"))["groups"]
    expressions = [rule["expr"] for group in rules for rule in group["rules"]]
    for path in DASHBOARDS:
        panels = json.loads(path.read_text("utf-8"))["panels"]
        expressions += [target["expr"] for panel in panels for target in panel["targets"]]
    assert [
        (expression, missing) for expression in expressions if (missing := Asked.by(expression).missing(known))
    ] == []

    named = {(page.name, name) for page in PAGES for name in _NAMED.findall(page.read_text("utf-8"))}
    families = {_PARTS.sub("", name) for name in known} | set(known)
    assert {(page, name) for page, name in named if name not in families | NO_METRICS} == set()


# --- an alert reaches its receiver -----------------------------------------------------------------------------------


async def test_alerts_of_a_full_budget_and_of_a_worker_that_ended_reach_their_receiver(
    running: Running, tmp_path: Path
) -> None:
    prometheus, alertmanager = program("prometheus"), program("prometheus-alertmanager")
    pager, port, own = Pager(), free_port(), free_port()
    with (
        pager.listening() as address,
        started_program(
            tmp_path / "alertmanager.log",
            alertmanager,
            f"--config.file={shipped_alertmanager(tmp_path, address)}",
            f"--storage.path={tmp_path / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ),
        started_program(
            tmp_path / "prometheus.log",
            prometheus,
            f"--config.file={shipped_prometheus(tmp_path, running, port)}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{own}",
        ),
    ):
        async with running.client() as client:
            await client.put("/v1/budgets/session:s1", json={"limit_tokens": 1_000, "mode": "hard"})
            hold = await client.post("/v1/holds", json={"key": "k1", "path": ["session:s1"], "tokens": 970})
            assert hold.json()["verdict"] in ("allow", "warn")
            alert = await _received(pager, "PurserBudgetAbove95", "firing")
            assert alert["labels"] | {"severity": "warning", "kind": "session", "mode": "hard"} == alert["labels"]
            assert alert["annotations"]["summary"] == "1 session budget(s), mode hard: 95 % to 100 % is used"
            assert alert["annotations"]["dashboard"] == "http://localhost:8787/budgets?over=0.95&kind=session"
            assert alert["annotations"]["runbook_url"].endswith("/docs/operations/runbooks#purserbudgetabove95")
            await client.put("/v1/budgets/session:s1", json={"limit_tokens": 10_000})
            await _received(pager, "PurserBudgetAbove95", "resolved")
        assert not pager.alerts("PurserDown")
        assert not pager.alerts("PurserWorkersGone")
        assert not pager.alerts("PurserMetricsMissing")
        await asyncio.to_thread(running.processes["worker"].end, signal.SIGTERM)
        down = await _received(pager, "PurserDown", "firing")
        assert down["labels"]["job"] == "purser-worker"
        await _received(pager, "PurserWorkersGone", "firing")


async def _received(pager: Pager, name: str, status: str) -> dict[str, Any]:
    async with asyncio.timeout(120):
        while True:
            for one in pager.alerts(name):
                if one["status"] == status:
                    return one
            await asyncio.sleep(0.2)
