"""Where a process serves its metrics."""

import asyncio
from typing import Literal

import structlog
from prometheus_client import CollectorRegistry

from compose.serving import serve
from compose.settings import Settings
from compose.stack.ports import choose_port
from gateway.metrics import metrics_app

PortSetting = Literal["metrics_port", "worker_metrics_port"]

log = structlog.get_logger(__name__)


async def serve_metrics(
    settings: Settings, port: PortSetting, stop: asyncio.Event, *registries: CollectorRegistry
) -> None:
    """Serve `/metrics` on an address of its own until `stop`.

    Args:
        settings: host, port and token.
        port: the setting that names the port.
        stop: ends it.
        registries: what to show.

    Raises:
        StackError: the port is taken.
    """
    token = settings.metrics_token.get_secret_value() if settings.metrics_token else None
    app = metrics_app(registries, token)
    await serve(app, settings.metrics_host, _port(settings, port), stop, lambda: None)


def _port(settings: Settings, name: PortSetting) -> int:
    """The configured port; without one, the usual port or, beside another Purser, any free one."""
    preferred: int = getattr(settings, name)
    if settings.source(name) != "default" and preferred:
        return preferred
    port = choose_port(preferred, settings.metrics_host)
    log.info("metrics", url=f"http://{settings.metrics_host}:{port}/metrics")
    return port
