"""Deployment data that the dashboard shows: readiness checks, versions, schema revision, settings."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic_core import to_jsonable_python
from temporalio.client import Client

from purser.budget.postgres.connections.pools import Pool, fetchval
from purser.compose.migrate import REVISION, head
from purser.compose.processes.readiness import readiness
from purser.compose.settings import Settings
from purser.compose.settings.required import required
from purser.gateway.deployment import Setting, Setup

_PARTS = ("temporalio", "asyncpg", "fastapi")


def setup(settings: Settings, pool: Pool, client: Client) -> Setup:
    """How this gateway is deployed, for its pages."""
    versions = {"purser": version("purser"), "python": platform.python_version()}
    return Setup(
        checks=readiness(required(settings, "dsn"), pool, client),
        versions=versions | {part: version(part) for part in _PARTS},
        revision=lambda: fetchval(pool, REVISION),
        revision_needed=head(),
        settings=shown_settings(settings),
    )


def shown_settings(settings: Settings) -> tuple[Setting, ...]:
    """The effective settings by name, without secrets."""
    return tuple(
        Setting(name, _text(name, getattr(settings, name)), settings.source(name))
        for name in sorted(type(settings).model_fields)
    )


def _text(name: str, value: object) -> str:
    """Format a value as text, without secrets."""
    if value is None:
        return "not set"
    if name == "dsn":
        return _without_password(str(value))
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, Mapping):
        return ", ".join(map(str, value)) or "none"  # values may be secrets
    plain = to_jsonable_python(value)
    if isinstance(plain, list | tuple):
        return ", ".join(map(str, plain)) or "none"
    return str(plain)


def _without_password(dsn: str) -> str:
    """Hosts, ports and database: user, password and options may be secrets."""
    parts = urlsplit(dsn)
    hosts = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{hosts or 'local socket'}{parts.path}"
