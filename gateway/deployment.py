"""How this gateway was set up, for the page that shows its health."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from purser.gateway.health import Check


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting without its secret."""

    name: str
    value: str
    """As it is in force; of a secret only whether it is set."""
    source: str
    """`command line`, `environment`, `file` or `default`."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a gateway runs with."""

    checks: Mapping[str, Check]
    """Those of `/readyz`."""
    versions: Mapping[str, str]
    """By name of the part."""
    revision: Callable[[], Awaitable[str | None]]
    """Of the database's schema, as it stands."""
    revision_needed: str
    """By this code."""
    settings: tuple[Setting, ...]
