"""The terms of a call: what it asks for, and how long it waits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from purser_client.errors import invalid
from purser_client.paths import listed

_LEAST: Mapping[str, int] = {
    "max_output_tokens": 1,
    "min_output_tokens": 1,
    "input_tokens": 0,
    "attempt": 1,
    "tries": 1,
}
_OPTIONAL = frozenset(("min_output_tokens", "input_tokens", "attempt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a call asks for, and how long it waits."""

    path: Sequence[str]
    model: str | None = None
    messages: Sequence[Any] | str = ()
    tools: Sequence[Any] = ()
    max_output_tokens: int = 4_096
    min_output_tokens: int | None = None
    input_tokens: int | None = None
    nano_usd: int | None = None
    key: str | None = None
    tags: Mapping[str, str] | None = None
    attempt: int | None = None
    tries: int = 1
    lease_s: float = 60.0
    wait_s: float = 30.0
    approval_s: float = 0.0

    def __post_init__(self) -> None:
        listed(self.path)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= least) and not (value is None and name in _OPTIONAL):
                raise invalid(f"{name} is not valid: {value!r:.40}", f"Use a whole number of at least {least}.", name)
        for name in ("lease_s", "wait_s", "approval_s"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or math.isnan(value):
                raise invalid(f"{name} is not valid: {value!r:.40}", "Use a number of seconds.", name)
        if not 1 <= self.lease_s < math.inf:
            raise invalid(f"lease_s is not valid: {self.lease_s}", "Use at least one second.", "lease_s")

    @property
    def lease_ms(self) -> int:
        """The lease of the hold."""
        return round(self.lease_s * 1_000)
