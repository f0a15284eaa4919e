"""Deployment details of this gateway, for the health page."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from purser.gateway.health import Check


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, with secrets hidden."""

    name: str
    value: str
    """Effective value; for a secret only whether it is set."""
    source: str
    """`command line`, `environment`, `file` or `default`."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Checks, versions and settings of a gateway."""

    checks: Mapping[str, Check]
    """Checks of `/readyz`, by name."""
    versions: Mapping[str, str]
    """Versions by component."""
    revision: Callable[[], Awaitable[str | None]]
    """Reads the revision of the database schema."""
    revision_needed: str
    """Revision that this code requires."""
    settings: tuple[Setting, ...]
