"""Connect to Temporal as the settings say: plain, TLS, mTLS or API key."""

from pathlib import Path

from temporalio.client import Client, TLSConfig
from temporalio.runtime import Runtime

from compose.errors import Unreachable
from compose.settings import Settings
from compose.settings.required import required


async def connect(settings: Settings, runtime: Runtime | None = None) -> Client:
    """A client of the configured namespace.

    Args:
        settings: where and how.
        runtime: what runs it; `None`: the usual one of the process, which measures nothing.

    Raises:
        SettingsError: no address is configured.
        Unreachable: nobody answers there, or not with these credentials.
    """
    address = required(settings, "temporal_address")
    key = settings.temporal_api_key
    try:
        return await Client.connect(
            address,
            namespace=settings.temporal_namespace,
            tls=_tls(settings),
            api_key=key.get_secret_value() if key else None,
            runtime=runtime,
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
