"""Metrics of the Temporal SDK: Temporal's documented names, served by Purser, separately for each runtime."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.compose.settings import Settings
from purser.compose.telemetry.temporal_metrics import TemporalMetrics
from purser.compose.temporal import connect
from tests.support.runs.temporal_families import TEMPORAL
from tests.support.servers.alerts import Scrapes
from tests.support.servers.metrics import Scrape

ONCE = RetryPolicy(maximum_attempts=1)
UNREACHABLE = "temporal_long_request_failure_total"
FEW = 5
"""Failures a minute that a load balancer may cause: they set off no alert."""
LATE_S = 1.5
"""How long nobody polls: longer than a task may wait for a worker."""


@activity.defn
async def too_late() -> None:
    """Activity that ends after Temporal has timed it out."""
    await asyncio.sleep(2)


@activity.defn
async def too_large() -> str:
    return "x" * 3_000_000


@workflow.defn(name="Changed", sandboxed=False)
class Before:
    @workflow.run
    async def run(self) -> None:
        await workflow.sleep(0.1)
        await workflow.wait_condition(lambda: False)


@workflow.defn(name="Changed", sandboxed=False)
class After:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(too_late, start_to_close_timeout=timedelta(seconds=1))

    @workflow.signal
    def wake(self) -> None:
        """Trigger a workflow task."""


@workflow.defn(name="Failing", sandboxed=False)
class Failing:
    @workflow.run
    async def run(self) -> str:
        for way in (too_late, too_large):
            with suppress(Exception):
                await workflow.execute_activity(way, start_to_close_timeout=timedelta(seconds=1), retry_policy=ONCE)
        return "x" * 3_000_000


class FailureScenario:
    """Workers and workflows that produce every failure that alert rules cover."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self._client = client
        self._queue = task_queue
        self._started: list[WorkflowHandle[object, object]] = []

    def worker(self, version: type) -> Worker:
        return Worker(
            self._client,
            task_queue=self._queue,
            workflows=[version, Failing],
            activities=[too_late, too_large],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_cached_workflows=0,
        )

    async def start(self, name: str) -> WorkflowHandle[object, object]:
        handle = await self._client.start_workflow(name, id=f"{name}-{self._queue}", task_queue=self._queue)
        self._started.append(handle)
        return handle

    async def end(self) -> None:
        for handle in self._started:
            with suppress(RPCError):
                await handle.terminate()


@pytest.fixture
def settings(temporal_address: str) -> Settings:
    return Settings(temporal_address=temporal_address)


@pytest.fixture
async def scene(settings: Settings, task_queue: str) -> AsyncIterator[tuple[FailureScenario, TemporalMetrics]]:
    measured = TemporalMetrics()
    made = FailureScenario(await connect(settings, measured.runtime), task_queue)
    yield made, measured
    await made.end()


@asynccontextmanager
async def _line_to(address: str | None) -> AsyncIterator[tuple[str, Callable[[], Awaitable[None]]]]:
    """Another address of a server, and what ends all connections to it and refuses further ones."""
    host, _, port = (address or "").rpartition(":")
    writers: list[asyncio.StreamWriter] = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_connection(host, port)
        writers.extend((writer, to))
        await asyncio.gather(forward(reader, to), forward(there, writer))

    async def cut() -> None:
        server.close()
        for writer in writers:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", cut
    finally:
        await cut()


async def _events(handle: WorkflowHandle[object, object]) -> list[str | None]:
    return [event.WhichOneof("attributes") async for event in handle.fetch_history_events()]


async def _until(measured: TemporalMetrics, *parts: str) -> str:
    """The metrics text, once a line contains all these parts."""
    async with asyncio.timeout(60):
        while True:
            text = (await measured.text()).decode()
            if any(all(part in line for part in parts) for line in text.splitlines()):
                return text
            await asyncio.sleep(0.2)


@pytest.mark.stack
async def test_failures_have_the_names_that_rules_ask_for_and_set_them_off(
    scene: tuple[FailureScenario, TemporalMetrics], tmp_path: Path
) -> None:
    made, measured = scene
    scrapes = Scrapes()
    async with made.worker(Before):
        changed = await made.start("Changed")
        async with asyncio.timeout(60):
            while "timer_fired_event_attributes" not in await _events(changed):
                await asyncio.sleep(0.1)
        scrapes.take(await measured.text(), minutes=11)
    quiet = scrapes.minute
    await changed.signal("wake")
    await made.start("Failing")
    await asyncio.sleep(LATE_S)
    async with made.worker(After):
        failed = "temporal_workflow_task_execution_failed_total"
        await _until(measured, failed, 'failure_reason="NonDeterminismError"')
        await _until(measured, failed, 'failure_reason="PayloadsTooLarge"')
        await _until(measured, "temporal_activity_execution_failed_total", 'failure_reason="PayloadsTooLarge"')
        orphaned = 'operation="RespondActivityTaskCompleted"', 'status_code="NOT_FOUND"'
        text = await _until(measured, "temporal_request_failure_total", *orphaned)
        assert 'temporal_num_pollers{namespace="default",poller_type="workflow_task"' in text
        scrapes.take(text.encode())
    assert 'activity_type="too_l' not in text, "callers choose the names of tools"
    assert 'activity_type="other"' in text
    series = Scrape.of(text).series
    assert {name: series.get(name) for name in TEMPORAL} == {**TEMPORAL, UNREACHABLE: None}
    first = scrapes.minute
    scrapes.check(tmp_path, "PurserAttemptOrphaned", firing=[first], silent=[quiet])
    scrapes.again(6)
    for alert in ("PurserNonDeterminism", "PurserPayloadsTooLarge", "PurserWorkersBehind"):
        scrapes.check(tmp_path, alert, firing=[scrapes.minute], silent=[quiet])
    scrapes.take(await measured.text(), minutes=2)
    scrapes.check(tmp_path, "PurserWorkersGone", firing=[scrapes.minute], silent=[quiet, first])


def _failures(text: str) -> float:
    lines = [line for line in text.splitlines() if line.startswith(UNREACHABLE)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


async def test_a_worker_that_no_longer_reaches_temporal_sets_off_its_alert_and_still_counts_its_pollers(
    settings: Settings, task_queue: str, tmp_path: Path
) -> None:
    measured, scrapes = TemporalMetrics(), Scrapes()
    pollers = "temporal_num_pollers", 'poller_type="workflow_task"'
    async with _line_to(settings.temporal_address) as (address, cut):
        client = await connect(settings.model_copy(update={"temporal_address": address}), measured.runtime)
        async with FailureScenario(client, task_queue).worker(Before):
            scrapes.take((await _until(measured, *pollers)).encode(), minutes=4)
            quiet = scrapes.minute
            await cut()
            text = await _until(measured, UNREACHABLE, "TRANSPORT_ERROR")
            scrapes.take(text.encode())
            async with asyncio.timeout(60):
                while _failures(again := (await measured.text()).decode()) <= _failures(text) + FEW:
                    await asyncio.sleep(0.2)
            scrapes.take(again.encode())
            scrapes.again(5)
    assert Scrape.of(text).series[UNREACHABLE] == TEMPORAL[UNREACHABLE]
    scrapes.check(tmp_path, "PurserTemporalUnreachable", firing=[scrapes.minute], silent=[quiet])
    scrapes.check(tmp_path, "PurserWorkersGone", firing=[], silent=[quiet, scrapes.minute])


async def test_durations_are_seconds_and_totals_say_so(scene: tuple[FailureScenario, TemporalMetrics]) -> None:
    _, measured = scene
    text = (await measured.text()).decode()
    assert "# TYPE temporal_request_latency_seconds histogram" in text
    assert "# TYPE temporal_request_total counter" in text
    assert "service_name" not in text


async def test_runtimes_of_one_process_measure_each_their_own(settings: Settings) -> None:
    runtimes = [TemporalMetrics() for _ in range(3)]
    await connect(settings, runtimes[1].runtime)
    texts = [(await one.text()).decode() for one in runtimes]
    assert ["DescribeNamespace" in text or "GetSystemInfo" in text for text in texts] == [False, True, False]


async def test_where_the_sdk_does_not_answer_its_metrics_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = TemporalMetrics()
    monkeypatch.setattr(measured, "_url", "http://127.0.0.1:1/metrics")
    assert await measured.text() == b""
