"""A gateway and a worker as processes, monitored by a real Prometheus and Alertmanager as shipped."""

import asyncio
import json
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml

from purser.budget.postgres.connections.pools import create_pool
from purser.compose.stack.ports import free_port
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER
from tests.support.servers.clients import plain_client
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Started

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "compose" / "deploy"
PROMETHEUS, ALERTMANAGER = DEPLOY / "prometheus", DEPLOY / "alertmanager"
TOKEN = "scrape-me"


@dataclass(frozen=True)
class Running:
    """A gateway and a worker, each a separate process."""

    url: str
    admin_key: str
    ports: Mapping[str, int]
    """Port of `/metrics` by process."""
    processes: Mapping[str, Started]

    async def scrape(self) -> list[str]:
        """Returns the metrics of both processes."""
        async with plain_client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
            answers = [await client.get(f"http://127.0.0.1:{port}/metrics") for port in self.ports.values()]
        assert {answer.status_code for answer in answers} == {200}
        return [answer.text for answer in answers]

    def client(self) -> httpx.AsyncClient:
        """Returns a client with an admin's key."""
        headers = {"Authorization": f"Bearer {self.admin_key}"}
        return plain_client(base_url=self.url, headers=headers, timeout=30)


@asynccontextmanager
async def running_processes(
    forks: Forks, home: Path, dsn: str, temporal_address: str, task_queue: str, **settings: str
) -> AsyncIterator[Running]:
    """Runs a gateway and a worker on these servers until the end of the block."""
    async with await create_pool(dsn, size=1) as pool:
        key = (await Keys(pool).create("default", "test", Role.ADMIN, by=TESTER)).secret
    ports = {"gateway": free_port(), "worker": free_port()}
    purser = forks.purser(
        home,
        dsn=dsn,
        temporal_address=temporal_address,
        task_queue=task_queue,
        metrics_token=TOKEN,
        metrics_port=str(ports["gateway"]),
        worker_metrics_port=str(ports["worker"]),
        gateway_port="0",
        **settings,
    )
    started = {part: await asyncio.to_thread(purser.start, part) for part in ports}
    try:
        yield Running(started["gateway"].ready["gateway"], key, ports, started)
    finally:
        for one in started.values():
            await asyncio.to_thread(one.end, signal.SIGTERM)


class Pager:
    """A webhook receiver of Alertmanager."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Listens during the block; yields its address."""
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
        """All received messages about an alert, in order."""
        return [one for call in self.calls for one in call["alerts"] if one["labels"]["alertname"] == name]


def program(name: str) -> str:
    """Returns the path of an installed program; skips the test without it."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is missing: apt-get install prometheus prometheus-alertmanager")
    return path


@contextmanager
def started_program(log: Path, *command: str) -> Iterator[None]:
    """Runs a program until the end of the block."""
    with log.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent) as process:
        try:
            yield
        finally:
            process.terminate()


def shipped_alertmanager(folder: Path, pager: str) -> Path:
    """Writes the shipped configuration with shorter intervals and another address."""
    given = yaml.safe_load((ALERTMANAGER / "alertmanager.yml").read_text("utf-8"))
    for route in (given["route"], *given["route"]["routes"]):
        route |= {"group_wait": "100ms", "group_interval": "1s"}
    given["receivers"][0]["webhook_configs"][0]["url"] = pager
    return _written(folder / "alertmanager.yml", given)


def shipped_prometheus(folder: Path, running: Running, alertmanager: int) -> Path:
    """Writes the shipped configuration with shorter intervals and other addresses, but unchanged expressions."""
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
