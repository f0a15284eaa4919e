"""`purser gateway --processes`: several processes that answer as one gateway."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.processes.several import STEADY_S, Member, Place
from purser.compose.stack.ports import free_port
from purser.compose.telemetry.several import merged
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.gateway.dashboard.test_streams import Opened
from tests.support.actors import TESTER
from tests.support.databases import create
from tests.support.servers.clients import plain_client
from tests.support.servers.forked import Forked, Forks
from tests.support.servers.purser import Started
from tests.support.world import WITHIN_S, eventually

COUNT = 3
NEW = httpx.Limits(max_keepalive_connections=0)
"""Every request has a connection of its own, which the kernel gives to any of the processes."""


@dataclass(frozen=True)
class Several:
    """A gateway of several processes."""

    purser: Forked
    started: Started
    dsn: str
    metrics_port: int

    @property
    def processes(self) -> dict[int, psutil.Process]:
        """Those that run, by process id."""
        running = {}
        for process in psutil.Process(self.started.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # ended meanwhile
                if process.status() != psutil.STATUS_ZOMBIE:
                    running[process.pid] = process
        return running

    def browser(self, **headers: str) -> httpx.AsyncClient:
        return plain_client(base_url=self.started.ready["gateway"], limits=NEW, headers=headers, timeout=30)

    async def client(self, name: str) -> httpx.AsyncClient:
        async with await create_pool(self.dsn, size=1) as pool:
            made = await Keys(pool).create("default", name, Role.ADMIN, by=TESTER)
        return self.browser(authorization=f"Bearer {made.secret}")

    async def answered(self, status: int) -> set[str]:
        """The processes that have answered a request with this status."""
        async with plain_client() as client:
            text = (await client.get(f"http://127.0.0.1:{self.metrics_port}/metrics")).text
        wanted = rf'^purser_http_requests_total{{process="(\d)",.*status="{status}"}}'
        return set(re.findall(wanted, text, re.MULTILINE))


@pytest.fixture(scope="module")
def several(
    postgres_server: str,
    template: str,
    worker_id: str,
    forks: Forks,
    temporal_address: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Several]:
    port = free_port()
    dsn = asyncio.run(create(postgres_server, f"several_{worker_id}", template))
    purser = forks.purser(
        tmp_path_factory.mktemp("several"), dsn=dsn, temporal_address=temporal_address, metrics_port=str(port)
    )
    started = purser.start("gateway", "--processes", str(COUNT), "--port", "0")
    try:
        yield Several(purser, started, dsn, port)
    finally:
        started.end(signal.SIGKILL)


async def _everywhere(several: Several, client: httpx.AsyncClient, status: int) -> set[int]:
    """Asks until each process has answered with this status; returns all statuses."""
    found: set[int] = set()
    async with asyncio.timeout(WITHIN_S):
        while len(await several.answered(status)) < COUNT:
            found |= {(await client.get("/v1/budgets/session:s1")).status_code for _ in range(5)}
    return found


@pytest.mark.stack
async def test_each_process_answers_and_refuses_a_key_that_another_one_has_revoked(several: Several) -> None:
    client, admin = await several.client("caller"), await several.client("boss")
    assert await _everywhere(several, client, 200) == {200}
    [key_id] = [key["key_id"] for key in (await admin.get("/v1/keys")).json()["items"] if key["name"] == "caller"]
    assert (await admin.delete(f"/v1/keys/{key_id}")).is_success
    assert await _everywhere(several, client, 401) == {401}


@pytest.mark.stack
async def test_a_killed_process_is_replaced_and_no_hold_is_lost(several: Several) -> None:
    client = await several.client("holder")
    holds: list[dict[str, Any]] = []

    async def hold(number: int) -> None:
        body = {"key": f"k{number}", "path": ["session:s2"], "tokens": 10}
        while True:
            try:
                answer = await client.post("/v1/holds", json=body)
                break
            except httpx.TransportError:  # its process was killed: the same key again
                pass
        holds.append(answer.json())

    asked = [asyncio.create_task(hold(number)) for number in range(60)]
    await asked[0]
    first = min(several.processes)
    several.processes[first].kill()
    await asyncio.gather(*asked)

    async def replaced() -> bool:
        """Another first process keeps the pages."""
        is_new = len(several.processes) == COUNT and first not in several.processes
        return is_new and (await client.get("/sign-in")).is_success

    await eventually(replaced)
    assert len({hold["hold_id"] for hold in holds}) == 60
    assert (await client.get("/v1/budgets/session:s2")).json()["tokens"]["held"] == 600
    async with await create_pool(several.dsn, size=1) as pool:
        assert (await audit(pool)).ok


async def _first(count: int, updates: AsyncGenerator[tuple[str, Any]]) -> AsyncIterator[Any]:
    """The first changes of the page's address."""
    async for kind, data in updates:
        if kind == "address":
            yield data
            count -= 1
        if not count:
            return


@pytest.mark.stack
async def test_a_page_is_the_same_whichever_process_is_asked(several: Several) -> None:
    key = (await several.client("ada")).headers["authorization"].removeprefix("Bearer ")
    browser = several.browser()
    assert (await browser.post("/sign-in", json={"key": key})).is_success
    page = Opened(key, browser, (await browser.get("/approvals", headers={"accept": "text/html"})).text)
    tabs = ("decided", "pending") * COUNT
    for count, tab in enumerate(tabs, 1):
        assert (await page.act("tab", tab=tab)).status_code == httpx.codes.NO_CONTENT
        async with aclosing(page.updates(0)) as updates:
            shown = [data["path"] async for data in _first(count, updates)]
        assert shown == (["/approvals?state=decided", "/approvals"] * COUNT)[:count]


@pytest.mark.stack
def test_what_all_processes_lack_is_reported_once(several: Several) -> None:
    purser = several.purser.having(dsn=f"postgresql://127.0.0.1:{free_port()}/nothing")
    problem = purser.json("gateway", "--processes", str(COUNT), "--port", "0", code=1)
    assert problem["type"] == "urn:purser:unreachable"


@pytest.mark.stack
async def test_sigterm_ends_all(several: Several) -> None:
    processes = several.processes
    several.started.process.send_signal(signal.SIGTERM)
    assert several.started.process.wait(30) == 0
    assert not [process for process in processes.values() if process.is_running()]


FORKS = """
import signal
from purser.compose.processes.several import fork_processes
place = fork_processes(2, lambda: print("all serve", flush=True))
place.report_ready()
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.stack
def test_a_supervisor_that_is_asked_to_stop_ends_its_processes_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    """A closed terminal is such a request, too."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, env=environment) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"all serve\n"
        supervisor.send_signal(number)
        assert supervisor.wait(WITHIN_S) == 0
    assert list(tmp_path.iterdir()) == []


async def test_a_process_stops_once_its_supervisor_is_gone() -> None:
    stop = asyncio.Event()
    life, supervisor = os.pipe()
    Place(life=life).stop_without_supervisor(stop)
    os.close(supervisor)
    async with asyncio.timeout(WITHIN_S):
        await stop.wait()
    os.close(life)


def test_a_process_that_ends_soon_is_replaced_later_and_later() -> None:
    member, pauses = Member(0, pid=1), []
    for began, ended in ((0.0, 1.0), (1.0, 2.0), (3.0, 4.0), (6.0, 7.0), (9.0, 9.0 + STEADY_S)):
        member.began = began
        member.end(ended)
        pauses.append(member.due - ended)
    assert pauses == [0, 1, 2, 4, 0]


def test_metrics_of_processes_are_one_text_with_each_family_once() -> None:
    head = b"# HELP a_total Some.\n# TYPE a_total counter\n"
    one, two = head + b"a_total 1.0\n", head + b'a_total{b="c"} 2.0\n# HELP d D.\n# TYPE d gauge\nd 3\n'
    assert merged([one, two]) == head + (
        b'a_total{process="0"} 1.0\na_total{process="1",b="c"} 2.0\n# HELP d D.\n# TYPE d gauge\nd{process="1"} 3\n'
    )
