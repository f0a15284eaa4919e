"""Temporal client from the settings: plain, TLS, mTLS or API key."""

import logging
from functools import cache
from pathlib import Path

from temporalio.client import Client, TLSConfig
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from purser.compose.errors import Unreachable
from purser.compose.settings import Settings
from purser.compose.settings.required import required

# By default the core of the SDK logs to stdout, which is reserved for the output of commands.
CORE_LOGS = LoggingConfig(
    # It warns where a local activity ends after its workflow has, of which nothing follows.
    filter=",".join(
        (
            TelemetryFilter(core_level="WARN", other_level="ERROR").formatted(),
            "temporalio_sdk_core::worker::activities::local_activities=ERROR",
        )
    ),
    forwarding=LogForwardingConfig(logging.getLogger("temporalio.core")),
)


@cache
def plain_runtime() -> Runtime:
    """The SDK runtime for clients without metrics."""
    return Runtime(telemetry=TelemetryConfig(logging=CORE_LOGS))


async def connect(settings: Settings, runtime: Runtime | None = None, *, lazy: bool = False) -> Client:
    """Connect a client to the configured namespace.

    Args:
        settings: address, namespace and credentials.
        runtime: SDK runtime of the client; `None` means `plain_runtime`.
        lazy: connect with the first call. Until the server answers once, calls raise `RuntimeError`.

    Raises:
        SettingsError: no address is configured.
        Unreachable: no server answers at the address, or it rejects the credentials.
    """
    address = required(settings, "temporal_address")
    key = settings.temporal_api_key
    try:
        return await Client.connect(
            address,
            namespace=settings.temporal_namespace,
            tls=_tls(settings),
            api_key=key.get_secret_value() if key else None,
            runtime=runtime or plain_runtime(),
            lazy=lazy,
        )
    except RuntimeError as error:
        raise Unreachable(
            f"Temporal does not answer at {address!r}, namespace {settings.temporal_namespace!r}: {error}",
            remedy="Check PURSER_TEMPORAL_ADDRESS, PURSER_TEMPORAL_NAMESPACE and the PURSER_TEMPORAL_TLS_* settings.",
        ) from error


def _tls(settings: Settings) -> TLSConfig | bool:
    if not settings.uses_tls:
        return False
    return TLSConfig(
        server_root_ca_cert=_content(settings.temporal_tls_server_ca),
        client_cert=_content(settings.temporal_tls_client_cert),
        client_private_key=_content(settings.temporal_tls_client_key),
    )


def _content(file: Path | None) -> bytes | None:
    return file.read_bytes() if file else None
