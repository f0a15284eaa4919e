"""Prometheus metrics of a process, and the server of `/metrics`."""

import asyncio
import platform
import socket
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

import prometheus_client
import structlog
from prometheus_client import CollectorRegistry, Info, ProcessCollector

from purser.activities.runtime.metrics import Metrics
from purser.compose.http.serving import listen, listen_locally, listen_near, port_of, serve
from purser.compose.processes.several import ALONE, Place
from purser.compose.settings import Settings
from purser.compose.telemetry.several import of_all
from purser.compose.telemetry.temporal_metrics import TemporalMetrics
from purser.gateway.metrics.requests import Source, metrics_app, source

PortSetting = Literal["metrics_port", "worker_metrics_port"]

log = structlog.get_logger(__name__)

# Prometheus does not use the `_created` series, which would double the number of series.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


def process_registry() -> CollectorRegistry:
    """Registry of process metrics: version, CPU seconds, memory, open files, start time."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    info = Info("purser_build", "The running version of Purser.", registry=registry)
    info.info({"version": version("purser"), "python": platform.python_version()})
    return registry


class ProcessMetrics:
    """Metrics of one process: a gateway, a worker or both."""

    def __init__(self) -> None:
        self.work = Metrics()
        """Metrics of activities, and of the gateway's verdicts and provider requests if the process is both."""
        self.temporal = TemporalMetrics()

    @property
    def sources(self) -> tuple[Source, Source]:
        """Sources of all metrics of this process."""
        return source(self.work.registry), self.temporal.text


async def serve_metrics(
    settings: Settings,
    port: PortSetting,
    stop: asyncio.Event,
    *own: Source,
    common: Sequence[Source] = (),
    place: Place = ALONE,
) -> None:
    """Serve `/metrics` until `stop` is set: on its own port, or for the first process of a gateway, which adds them.

    Args:
        settings: host, port and token.
        port: name of the setting that holds the port.
        stop: ends the server when set.
        own: metrics of this process.
        common: metrics of what all processes share, served once.
        place: this process among those of its gateway.

    Raises:
        StackError: the port is taken.
    """
    own = (*own, source(process_registry()))
    if place.number:
        await serve(metrics_app(own, None), listen_locally(place.socket(place.number)), stop, lambda: None)
        return
    token = settings.metrics_token.get_secret_value() if settings.metrics_token else None
    shown = own if place.count == 1 else (of_all(own, place),)
    listener = _listen(settings, port)
    await serve(metrics_app((*shown, *common), token), listener, stop, lambda: None)


def _listen(settings: Settings, name: PortSetting) -> socket.socket:
    """Listen on the configured port; without one, on the default port, or on any free one if that is taken."""
    preferred: int = getattr(settings, name)
    if settings.source(name) != "default" and preferred:
        return listen(settings.metrics_host, preferred)
    listener = listen_near(settings.metrics_host, preferred)
    log.info("metrics", url=f"http://{settings.metrics_host}:{port_of(listener)}/metrics")
    return listener
