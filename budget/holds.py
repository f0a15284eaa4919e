"""Requests and answers of the hold life cycle: hold, attempt, settle, release, extend."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from purser.budget.errors import InvalidRequest
from purser.budget.gate import Amount, GateAnswer
from purser.budget.labels import check_labels, labels_of
from purser.budget.scopes import Path, Scope
from purser.budget.usage import Usage
from purser.wire.enums import HoldState as HoldState
from purser.wire.limits import MAX_AMOUNT, MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_KEY, MAX_LEASE_MS

MAX_ATTEMPT = 2**31 - 1
UNPRICED = "unpriced"
"""Marks the stored usage of a report without a known price."""
PROVIDER_REQUEST = "provider_request_id"
BESIDE = (UNPRICED, PROVIDER_REQUEST)
"""Names that are stored beside the figures of a report and are no part of its digest."""


def usage_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of a stored report, without what is stored beside it."""
    return {name: value for name, value in stored.items() if name not in BESIDE}


def check_name(value: str, what: str) -> None:
    """Raises `InvalidRequest`, naming `what`, unless `value` can be a key or the name of a model."""
    if not 1 <= len(value) <= MAX_KEY or not value.isprintable():
        raise InvalidRequest(f"{what} {value[:80]!r} is not valid: use 1 to {MAX_KEY} printable characters")


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """An ask for tokens and money on every scope of a path."""

    key: str
    """Identifies the hold, unique per tenant. Must not contain an attempt number: a retry repeats the key."""
    path: Path
    ask: Amount
    """The most that the call may use: input + output."""
    least: Amount | None = None
    """The smallest ask that still makes sense; `None`: all or nothing."""
    model: str | None = None
    lease_ms: int | None = None
    """Milliseconds until a hold that is not renewed expires; `None`: the configured lease."""
    patient: bool = True
    """Whether the caller can wait for open holds to end; if not, the mode applies at once."""
    stated: Path | None = None
    """The scopes and tags that the caller named, if others were added to `path`: the key is bound to them. `None`: all
    of `path`."""
    labels: tuple[Scope, ...] = ()
    """Labels of the call, in addition to the tags of its path and that of its model."""
    priced: bool = True
    """False if the cost of the call is unknown and `ask` has no money. Such a hold is refused if a scope limits money,
    and nothing is written."""
    last_of: tuple[int, ...] | None = None
    """Of an agent's last call: for each scope of `path`, how many last calls share its reserve; 0: it may use none.
    `None`: an ordinary call."""
    sent: bytes | None = None
    """SHA-256 of what the caller sent, if model and amounts were derived from it: the key is bound to that in place of
    them. `None`: to model and amounts."""
    derived: bool = False
    """Whether the money is a price, which may change, and was not stated: then the key is not bound to it."""
    start: bool = False
    """Whether a hold that is admitted starts attempt 1 in the same transaction. The key is not bound to it."""

    def __post_init__(self) -> None:
        check_name(self.key, "key")
        if self.model is not None:
            check_name(self.model, "model")
        least = self.least or self.ask
        # A tool may cost money alone.
        check_range(self.ask.tokens, "tokens", 0 if self.ask.nano_usd > 0 else 1, MAX_CALL_TOKENS)
        check_range(self.ask.nano_usd, "nano_usd", 0, MAX_CALL_NANO_USD)
        check_range(least.tokens, "min_tokens", min(1, self.ask.tokens), self.ask.tokens)
        check_range(least.nano_usd, "min_nano_usd", 0, self.ask.nano_usd)
        if not self.priced and self.ask.nano_usd:
            raise InvalidRequest("an ask without a price has no money: leave out nano_usd, or state it as the price")
        if self.last_of is not None and len(self.last_of) != len(self.path.scopes):
            raise InvalidRequest(f"last_of {self.last_of!r} is not valid: give one number for each scope of the path")
        if self.lease_ms is not None:
            check_range(self.lease_ms, "lease_ms", 1, MAX_LEASE_MS)
        check_labels((*self.path.tags, *self.labels))

    @property
    def all_labels(self) -> tuple[Scope, ...]:
        """All labels of the call. It draws on those that have a policy."""
        return labels_of(self.path, self.model, *self.labels)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the payload to which the key is bound: the same key with another digest is an error."""
        path = self.stated or self.path
        labels = sorted(map(str, (*path.tags, *self.labels)))
        if self.sent is not None:
            return _sha256([path.texts(), labels, self.sent.hex()])
        least = self.least or self.ask
        money = (self.ask.nano_usd, least.nano_usd) if self.priced and not self.derived else (None, None)
        payload = [path.texts(), labels, self.ask.tokens, money[0], least.tokens, money[1], self.model, self.last_of]
        return _sha256(payload)


@dataclass(frozen=True, slots=True)
class HoldAnswer:
    """The answer to an ask. Once a hold exists, asking again returns the same answer."""

    gate: GateAnswer
    """The verdict, and how it came about."""
    hold_id: str | None
    """`None` unless the verdict admits."""
    state: HoldState
    amount: Amount
    """Amount held, or the amount asked for if nothing is held."""
    expires_at: datetime | None
    retry_after_ms: int | None = None
    """When to ask again; set for `wait`."""
    repeated: bool = False
    attempt: int | None = None
    """The attempt that has started with the hold, if the request says `start` and the verdict admits."""


@dataclass(frozen=True, slots=True)
class AttemptAnswer:
    """A started attempt, or the verdict on a top-up that did not fit."""

    attempt: int
    started: bool
    amount: Amount
    """Amount held for the attempt, or the amount of the top-up that did not fit."""
    expires_at: datetime | None
    gate: GateAnswer | None = None
    """Set when the top-up did not fit: `wait`, `ask` or `refuse`."""


@dataclass(frozen=True, slots=True)
class Report:
    """Usage and cost of an attempt."""

    usage: Usage
    nano_usd: int
    priced: bool = True
    """False if the price is unknown: then `nano_usd` is not the price of this usage."""
    provider_request_id: str = ""
    """The provider's own id of the request, to compare the ledger with its usage files; empty: unknown."""

    def __post_init__(self) -> None:
        check_range(self.usage.total, "usage", 0, MAX_CALL_TOKENS)
        check_range(self.nano_usd, "nano_usd", 0, MAX_CALL_NANO_USD)

    @property
    def amount(self) -> Amount:
        """Charged tokens and money."""
        return Amount(self.usage.total, self.nano_usd)

    @property
    def stored(self) -> Mapping[str, Any]:
        """The usage as it is stored with the attempt."""
        about: dict[str, Any] = {} if self.priced else {UNPRICED: True}
        if self.provider_request_id:
            about[PROVIDER_REQUEST] = self.provider_request_id
        return self.usage.to_dict() | about

    @property
    def digest(self) -> bytes:
        """SHA-256 of the report: a repeated report has the same digest and has no effect."""
        return digest_of(self.usage.to_dict(), self.nano_usd)


@dataclass(frozen=True, slots=True)
class Settlement:
    """The effect of a usage report."""

    hold_id: str
    state: HoldState
    charged: Amount
    overrun: Amount
    """The part of the charge that exceeds the amount held."""
    late: bool
    """Whether the attempt had been presumed, or its hold had ended, before the report."""


@dataclass(frozen=True, slots=True)
class Released:
    """A closed hold."""

    hold_id: str
    state: HoldState
    charged: Amount
    """Total charge of its attempts, including presumed ones."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A renewed lease, or the verdict on an addition that did not fit."""

    extended: bool
    amount: Amount
    """Amount held, or the addition if it does not fit."""
    expires_at: datetime | None
    gate: GateAnswer | None = None


def check_range(value: object, name: str, least: int, most: int = MAX_AMOUNT) -> None:
    """Raises `InvalidRequest`, naming the field, unless `value` is an integer in range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidRequest(f"{name} {value!r} is not valid: use a whole number from {least} to {most}")


def digest_of(usage: Mapping[str, Any], nano_usd: int) -> bytes:
    """SHA-256 of a usage report."""
    return _sha256([dict(sorted(usage.items())), nano_usd])


def _sha256(payload: object) -> bytes:
    return hashlib.sha256(to_json(payload)).digest()  # the standard library's encoder takes several times as long
