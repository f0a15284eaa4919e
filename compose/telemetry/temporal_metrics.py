"""Metrics of the Temporal SDK, under the names that Temporal's own alert pages use.

The SDK serves them on a loopback port of its own. Here they are fetched, so that a scraper sees one address.
"""

import httpx
import structlog
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from purser.compose.stack.ports import LOOPBACK, free_port
from purser.compose.telemetry.bounded_labels import bounded
from purser.compose.temporal import CORE_LOGS
from purser.workflows.contract import ActivityName

KNOWN = frozenset(ActivityName)
"""Activities that our workers run. Any other name was chosen by whoever submitted a task."""
TIMEOUT_S = 2.0
_TRIES = 5
_log = structlog.get_logger(__name__)


class TemporalMetrics:
    """A runtime for the clients and workers of one process, and what it measures."""

    def __init__(self) -> None:
        self.runtime, self._url = _start()

    async def text(self) -> bytes:
        """The families in the text format; nothing if the SDK does not answer."""
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
                answer = await client.get(self._url)
        except httpx.HTTPError as error:
            _log.warning("metrics of the Temporal SDK are missing", error=type(error).__name__)
            return b""
        return bounded(answer.content, "activity_type", KNOWN)


def _start() -> tuple[Runtime, str]:
    """A runtime on a free port. Another process may take the port in between: then another one is tried."""
    for left in reversed(range(_TRIES)):
        address = f"{LOOPBACK}:{free_port()}"
        metrics = PrometheusConfig(
            bind_address=address, counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
        )
        try:
            runtime = Runtime(telemetry=TelemetryConfig(logging=CORE_LOGS, metrics=metrics, attach_service_name=False))
        except ValueError:
            if not left:
                raise
        else:
            return runtime, f"http://{address}/metrics"
    raise AssertionError("the last try returns or raises")
