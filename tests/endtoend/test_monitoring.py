"""A real Prometheus scrapes a running gateway and worker, and an alert really reaches somebody."""

import asyncio
import json
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client.registry import CollectorRegistry

from activities.metrics import Metrics as WorkMetrics
from budget.postgres.connection import create_pool
from compose.settings import Settings
from compose.stack.ports import free_port
from gateway.metrics import Metrics as GatewayMetrics
from gateway.postgres.keys import Keys
from gateway.roles import Role
from tests.support.metrics import Asked, Scrape
from tests.support.purser import Purser
from tests.support.temporal_families import TEMPORAL

pytestmark = pytest.mark.stack

ROOT = Path(__file__).parents[2]
PROMETHEUS, ALERTMANAGER = ROOT / "compose" / "prometheus", ROOT / "compose" / "alertmanager"
DASHBOARDS = sorted((ROOT / "compose" / "grafana" / "dashboards").glob("*.json"))
PAGES = sorted((ROOT / "docs").rglob("*.md"))
NO_METRICS = {*Settings.model_fields, "purser_url", "purser_docs", "purser_session"}
"""Names that look like metrics."""
REFERENCE = ROOT / "docs" / "reference" / "metrics.md"
TOKEN = "scrape-me"
_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\|", re.MULTILINE)
_NAMED = re.compile(r"`((?:purser|temporal)_[a-z0-9_]+)(?:\{[^`]*)?`")
_PARTS = re.compile(r"_(bucket|sum|count)$")


@dataclass(frozen=True)
class Running:
    """A gateway and a worker, each a process of its own."""

    url: str
    admin_key: str
    ports: Mapping[str, int]
    """Port of `/metrics` by process."""

    async def scrape(self) -> list[str]:
        """What both serve."""
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
            answers = [await client.get(f"http://127.0.0.1:{port}/metrics") for port in self.ports.values()]
        assert {answer.status_code for answer in answers} == {200}
        return [answer.text for answer in answers]

    def client(self) -> httpx.AsyncClient:
        """Somebody who may do everything."""
        headers = {"Authorization": f"Bearer {self.admin_key}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30)


@pytest.fixture
async def running(tmp_path: Path, dsn: str, temporal_address: str, task_queue: str) -> AsyncIterator[Running]:
    async with await create_pool(dsn, size=1) as pool:
        key = (await Keys(pool).create("default", "test", Role.ADMIN, by="test")).secret
    ports = {"gateway": free_port(), "worker": free_port()}
    purser = Purser.at(
        tmp_path,
        dsn=dsn,
        temporal_address=temporal_address,
        task_queue=task_queue,
        metrics_token=TOKEN,
        metrics_port=str(ports["gateway"]),
        worker_metrics_port=str(ports["worker"]),
        gateway_port="0",
    )
    started = [purser.start(part) for part in ports]
    try:
        yield Running(started[0].ready["gateway"], key, ports)
    finally:
        for one in started:
            one.end(signal.SIGTERM)


# --- every name exists -----------------------------------------------------------------------------------------------


def _labels_of(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Labels of our instruments by series, which no sample shows before something is counted."""
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


# --- an alert reaches somebody ---------------------------------------------------------------------------------------


class Pager:
    """Somebody whom Alertmanager calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Its address."""
        calls = self.calls

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                calls.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/alerts"
            server.shutdown()

    def alerts(self, name: str) -> list[dict[str, Any]]:
        """Everything that it was told of an alert, in order."""
        return [one for call in self.calls for one in call["alerts"] if one["labels"]["alertname"] == name]


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is missing: apt-get install prometheus prometheus-alertmanager")
    return path


@contextmanager
def _started(log: Path, *command: str) -> Iterator[None]:
    with log.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent) as process:
        try:
            yield
        finally:
            process.terminate()


def _shipped_alertmanager(folder: Path, pager: str) -> Path:
    """The configuration that ships, in a hurry and with another address."""
    given = yaml.safe_load((ALERTMANAGER / "alertmanager.yml").read_text("utf-8"))
    for route in (given["route"], *given["route"]["routes"]):
        route |= {"group_wait": "100ms", "group_interval": "1s"}
    given["receivers"][0]["webhook_configs"][0]["url"] = pager
    return _written(folder / "alertmanager.yml", given)


def _shipped_prometheus(folder: Path, running: Running, alertmanager: int) -> Path:
    """The configuration that ships, in a hurry and with other addresses; no expression is touched."""
    rules = yaml.safe_load((PROMETHEUS / "rules.yml").read_text("utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule |= {"for": "0s"}
    _written(folder / "rules.yml", rules)
    (folder / "token").write_text(TOKEN)
    given = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text("utf-8"))
    given["global"] |= {"scrape_interval": "4s", "scrape_timeout": "4s", "evaluation_interval": "1s"}
    given["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{alertmanager}"]
    for job in given["scrape_configs"]:
        port = running.ports[job["job_name"].removeprefix("purser-")]
        del job["dns_sd_configs"]
        job |= {"static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        job["authorization"]["credentials_file"] = str(folder / "token")
    return _written(folder / "prometheus.yml", given)


def _written(path: Path, document: object) -> Path:
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


async def test_a_budget_past_95_percent_calls_somebody_and_recovers(running: Running, tmp_path: Path) -> None:
    prometheus, alertmanager = _program("prometheus"), _program("prometheus-alertmanager")
    pager, port, own = Pager(), free_port(), free_port()
    with (
        pager.listening() as address,
        _started(
            tmp_path / "alertmanager.log",
            alertmanager,
            f"--config.file={_shipped_alertmanager(tmp_path, address)}",
            f"--storage.path={tmp_path / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ),
        _started(
            tmp_path / "prometheus.log",
            prometheus,
            f"--config.file={_shipped_prometheus(tmp_path, running, port)}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{own}",
        ),
    ):
        async with running.client() as client:
            await client.put("/v1/budgets/session:s1", json={"limit_tokens": 1_000, "mode": "hard"})
            hold = await client.post("/v1/holds", json={"key": "k1", "path": ["session:s1"], "tokens": 970})
            assert hold.json()["verdict"] in ("allow", "warn")
            told = await _told(pager, "PurserBudgetAbove95", "firing")
            assert told["labels"] | {"severity": "warning", "kind": "session", "mode": "hard"} == told["labels"]
            assert told["annotations"]["summary"] == "1 session budget(s), mode hard: 95 % or more is used"
            assert told["annotations"]["dashboard"] == "http://localhost:8787/budgets?over=0.95&kind=session"
            assert told["annotations"]["runbook_url"].endswith("/operations/runbooks.html#purserbudgetabove95")
            await client.put("/v1/budgets/session:s1", json={"limit_tokens": 10_000})
            await _told(pager, "PurserBudgetAbove95", "resolved")
    assert not pager.alerts("PurserDown")
    assert not pager.alerts("PurserWorkersGone")
    assert not pager.alerts("PurserMetricsMissing")


async def _told(pager: Pager, name: str, status: str) -> dict[str, Any]:
    async with asyncio.timeout(120):
        while True:
            for one in pager.alerts(name):
                if one["status"] == status:
                    return one
            await asyncio.sleep(0.2)
