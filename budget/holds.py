"""Values of the hold life cycle: hold, attempt, settle, release, extend."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from budget.decisions import Amount, Decision
from budget.errors import InvalidRequest
from budget.policies import MAX_AMOUNT
from budget.scopes import Path
from budget.usage import Usage

MAX_KEY = 256
MAX_LEASE_MS = 24 * 3_600_000
MAX_ATTEMPT = 2**31 - 1


class HoldState(StrEnum):
    """Where a hold stands. It ends exactly once."""

    NONE = "none"
    """The key is bound to its payload, nothing is set aside."""
    HELD = "held"
    SETTLED = "settled"
    RELEASED = "released"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """An ask for tokens and money on every scope of a path."""

    key: str
    """Names the hold, unique per tenant. Never contains an attempt number: a retry repeats the key."""
    path: Path
    ask: Amount
    """What the call may use: input + output."""
    least: Amount | None = None
    """The smallest ask that still makes sense; `None`: all or nothing."""
    model: str | None = None
    lease_ms: int | None = None
    """Milliseconds until an unattended hold expires; `None`: the configured lease."""
    patient: bool = True
    """Whether the caller can wait for open holds to end; if not, the mode decides at once."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.key) <= MAX_KEY or not self.key.isprintable():
            raise InvalidRequest(f"key {self.key[:80]!r} is not valid: use 1 to {MAX_KEY} printable characters")
        if self.model is not None and (not 1 <= len(self.model) <= MAX_KEY or not self.model.isprintable()):
            raise InvalidRequest(f"model {self.model[:80]!r} is not valid: use 1 to {MAX_KEY} printable characters")
        least = self.least or self.ask
        check_range(self.ask.tokens, "tokens", 1)
        check_range(self.ask.nano_usd, "nano_usd", 0)
        check_range(least.tokens, "min_tokens", 1, self.ask.tokens)
        check_range(least.nano_usd, "min_nano_usd", 0, self.ask.nano_usd)
        if self.lease_ms is not None:
            check_range(self.lease_ms, "lease_ms", 1, MAX_LEASE_MS)

    @property
    def digest(self) -> bytes:
        """Binds the key: the same key with another digest is an error, whatever the verdict was."""
        least = self.least or self.ask
        payload = [self.path.texts(), self.ask.tokens, self.ask.nano_usd, least.tokens, least.nano_usd, self.model]
        return hashlib.sha256(json.dumps(payload).encode()).digest()


@dataclass(frozen=True, slots=True)
class HoldAnswer:
    """What an ask got. Once a hold exists, its answer repeats."""

    decision: Decision
    hold_id: str | None
    """`None` unless the verdict admits."""
    state: HoldState
    amount: Amount
    """What is held, or what was asked when nothing is."""
    expires_at: datetime | None
    retry_after_ms: int | None = None
    """When to ask again; set for `wait`."""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class AttemptAnswer:
    """A started attempt, or why its top-up did not fit."""

    attempt: int
    started: bool
    amount: Amount
    """What is held for the attempt, or what the top-up lacked."""
    expires_at: datetime | None
    decision: Decision | None = None
    """Set when the top-up did not fit: `wait`, `ask` or `refuse`."""


@dataclass(frozen=True, slots=True)
class Report:
    """What an attempt cost."""

    usage: Usage
    nano_usd: int

    def __post_init__(self) -> None:
        check_range(self.usage.total, "usage", 0)
        check_range(self.nano_usd, "nano_usd", 0)

    @property
    def amount(self) -> Amount:
        """Charged tokens and money."""
        return Amount(self.usage.total, self.nano_usd)

    @property
    def digest(self) -> bytes:
        """The same report again has the same digest and changes nothing."""
        payload: Mapping[str, Any] = self.usage.to_dict()
        return hashlib.sha256(json.dumps([payload, self.nano_usd], sort_keys=True).encode()).digest()


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a report changed."""

    hold_id: str
    state: HoldState
    charged: Amount
    overrun: Amount
    """The part of the charge beyond the amount held."""
    late: bool
    """Whether the attempt had been presumed, or its hold had ended, before it reported."""


@dataclass(frozen=True, slots=True)
class Released:
    """A closed hold."""

    hold_id: str
    state: HoldState
    charged: Amount
    """Everything its attempts were charged, presumed ones included."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A renewed lease, or why the addition did not fit."""

    extended: bool
    amount: Amount
    expires_at: datetime | None
    decision: Decision | None = None


def check_range(value: object, name: str, least: int, most: int = MAX_AMOUNT) -> None:
    """Raises `InvalidRequest` naming the field unless `value` is a whole number in range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidRequest(f"{name} {value!r} is not valid: use a whole number from {least} to {most}")
