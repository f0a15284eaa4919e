"""Connecting to a Temporal that requires certificates: a TLS proxy in front of the real server."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme

from purser.compose.errors import SettingsError, Unreachable
from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK, free_port
from purser.compose.temporal import connect


@dataclass(frozen=True)
class SecureServer:
    address: str
    ca: Path
    certificate: Path
    key: Path


@pytest.fixture
async def secure(temporal_address: str, tmp_path: Path) -> AsyncIterator[SecureServer]:
    """The server behind mutual TLS."""
    authority = trustme.CA()
    client = authority.issue_cert("client@example.com")
    files = SecureServer("", tmp_path / "ca.pem", tmp_path / "client.pem", tmp_path / "client.key")
    authority.cert_pem.write_to_path(str(files.ca))
    client.cert_chain_pems[0].write_to_path(str(files.certificate))
    client.private_key_pem.write_to_path(str(files.key))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    authority.issue_cert(LOOPBACK).configure_cert(context)
    authority.configure_trust(context)
    host, port = temporal_address.split(":")

    open_ends: list[asyncio.StreamWriter] = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(host, int(port))
        open_ends.extend((writer, behind_writer))
        await asyncio.gather(_pump(reader, behind_writer), _pump(behind_reader, writer))

    async with await asyncio.start_server(forward, LOOPBACK, 0, ssl=context) as server:
        address = f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
        yield replace(files, address=address)
        for writer in open_ends:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


async def test_a_client_certificate_is_shown_where_it_is_configured(secure: SecureServer) -> None:
    client = await connect(
        Settings(
            temporal_address=secure.address,
            temporal_tls_server_ca=secure.ca,
            temporal_tls_client_cert=secure.certificate,
            temporal_tls_client_key=secure.key,
        )
    )
    assert await client.service_client.check_health()


async def test_without_the_certificate_the_error_names_the_settings(secure: SecureServer) -> None:
    for incomplete in (
        Settings(temporal_address=secure.address, temporal_tls_server_ca=secure.ca),
        Settings(temporal_address=secure.address, temporal_tls=True),
        Settings(temporal_address=secure.address),
    ):
        with pytest.raises(Unreachable) as away:
            await connect(incomplete)
        assert secure.address in str(away.value)
        assert "PURSER_TEMPORAL_TLS" in away.value.remedy


async def test_an_api_key_is_sent_and_implies_tls(secure: SecureServer, temporal_address: str) -> None:
    settings = Settings(temporal_address=temporal_address, temporal_api_key="key")
    assert settings.uses_tls
    with pytest.raises(Unreachable):
        await connect(settings)


async def test_an_address_without_a_server_is_named() -> None:
    address = f"{LOOPBACK}:{free_port()}"
    with pytest.raises(Unreachable, match=address):
        await connect(Settings(temporal_address=address))


async def test_no_address_at_all_says_what_to_set() -> None:
    with pytest.raises(SettingsError) as missing:
        await connect(Settings())
    assert "PURSER_TEMPORAL_ADDRESS" in missing.value.remedy
