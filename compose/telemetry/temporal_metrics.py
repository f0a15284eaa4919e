"""Metrics of the Temporal SDK, under the names that Temporal's documentation uses.

The SDK serves them on its own loopback port. They are fetched from there, so that Prometheus scrapes one address.
"""

import httpx
import structlog
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from purser.compose.stack.ports import LOOPBACK, free_port
from purser.compose.telemetry.bounded_labels import bounded
from purser.compose.temporal import CORE_LOGS
from purser.workflows.contract import ActivityName

KNOWN = frozenset(ActivityName)
"""Activities of Purser. Any other name is a tool that the submitter of a task chose."""
TIMEOUT_S = 2.0
_ATTEMPTS = 5
_log = structlog.get_logger(__name__)


class TemporalMetrics:
    """The SDK runtime for the clients and workers of one process, with its metrics."""

    def __init__(self) -> None:
        self.runtime, self._url = _start()

    async def text(self) -> bytes:
        """The metrics in the text format; empty if the SDK does not answer."""
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
                answer = await client.get(self._url)
        except httpx.HTTPError as error:
            _log.warning("metrics of the Temporal SDK are missing", error=type(error).__name__)
            return b""
        return bounded(answer.content, "activity_type", KNOWN)


def _start() -> tuple[Runtime, str]:
    """Start a runtime on a free port; tries another port if a process takes it in between."""
    for left in reversed(range(_ATTEMPTS)):
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
    raise AssertionError("the last attempt returns or raises")
