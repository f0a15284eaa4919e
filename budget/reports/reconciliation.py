"""The ledger beside what a provider says it served: what was captured, what nobody held, and figures that differ."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from purser.budget.errors import InvalidRequest
from purser.budget.reports.provider_usage import ProviderUse, may_be_of, plain_model


@dataclass(frozen=True, slots=True)
class LedgerUse:
    """What the ledger charged: one attempt, or all attempts of a model on a day."""

    ids: tuple[str, ...]
    """Ids by which a file may name the request: the provider's, and the one that Purser sent; empty for a sum."""
    day: date | None
    model: str
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Gap:
    """One line in which provider and ledger differ."""

    request_id: str
    """Empty for a sum."""
    day: str | None
    model: str
    provider_calls: int | None
    ledger_calls: int
    provider_tokens: int
    ledger_tokens: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The comparison of one file with the ledger."""

    provider_calls: int | None
    """`None`: the file does not count requests."""
    provider_tokens: int
    captured_tokens: int
    """Tokens of the provider for which the ledger has a charge."""
    unguarded_calls: int | None
    """Calls that nobody held; `None`: the file does not count requests."""
    unguarded: tuple[Gap, ...]
    """Where the provider served more than the ledger knows of: whole requests, or days of a model."""
    differing: tuple[Gap, ...]
    """Held calls with other tokens than the provider's; days of a model that the ledger charged higher or has alone."""
    not_compared: int
    """Lines of days of which retention has deleted entries; they are in no other figure."""
    complete_after: datetime | None
    """Time of the latest deleted entry, if there are such lines, or `unguarded` has requests without a day."""

    @property
    def ok(self) -> bool:
        """Whether both agree."""
        return not self.unguarded and not self.differing

    @property
    def captured_ppm(self) -> int:
        """Share of the provider's tokens that the ledger captured, in millionths; rounded down."""
        return 1_000_000 if not self.provider_tokens else self.captured_tokens * 1_000_000 // self.provider_tokens

    def to_json(self) -> dict[str, Any]:
        """The answer of `purser reconcile`."""
        return {
            "ok": self.ok,
            "provider_calls": self.provider_calls,
            "provider_tokens": self.provider_tokens,
            "captured_tokens": self.captured_tokens,
            "captured_share": f"{self.captured_ppm / 1_000_000:.6f}",
            "purser_provider_calls_unguarded": self.unguarded_calls,
            "unguarded": [asdict(gap) for gap in self.unguarded],
            "differing": [asdict(gap) for gap in self.differing],
            "not_compared": self.not_compared,
            "complete_after": None if self.complete_after is None else self.complete_after.isoformat(),
        }


def compare_requests(
    served: Sequence[ProviderUse], charged: Iterable[LedgerUse], deleted_until: datetime | None = None
) -> Reconciliation:
    """Compares single requests, by their ids and models. A request that the file names twice counts once.

    Args:
        served: requests of the provider.
        charged: attempts of the ledger.
        deleted_until: time of the latest entry that retention has deleted.
    """
    known = {name: use for use in charged for name in use.ids}
    unique = {use.request_id: use for use in served}
    compared = [use for use in unique.values() if use.request_id in known or not _is_deleted(use, deleted_until)]
    gone = _not_compared(compared, len(unique), deleted_until)
    unguarded, differing, captured = [], [], 0
    for use in compared:
        found = known.get(use.request_id)
        if found is None:
            unguarded.append(_gap(use, 0, 0))
            continue
        captured += use.tokens
        if found.tokens != use.tokens or plain_model(found.model) != use.model:
            differing.append(_gap(use, 1, found.tokens))
    total = sum(use.tokens for use in compared)
    after = deleted_until if gone or any(gap.day is None for gap in unguarded) else None
    return Reconciliation(
        len(compared), total, captured, len(unguarded), tuple(unguarded), tuple(differing), gone, after
    )


def compare_days(
    provider: str, served: Sequence[ProviderUse], charged: Iterable[LedgerUse], deleted_until: datetime | None = None
) -> Reconciliation:
    """Compares sums by day and model. Models that the file does not name may be of another provider.

    Args:
        provider: LiteLLM's name of the provider; charges of models whose name begins with another one are left out.
        served: sums of the provider.
        charged: sums of the ledger on the days from the first to the last of the file.
        deleted_until: as in `compare_requests`.
    """
    compared = [use for use in served if not _is_deleted(use, deleted_until)]
    gone = _not_compared(compared, len(served), deleted_until)
    named = {plain_model(use.model) for use in served}
    theirs = _by_day(compared)
    billed = (use for use in charged if may_be_of(provider, use.model) and plain_model(use.model) in named)
    ours = _by_day(use for use in billed if not _is_deleted(use, deleted_until))
    unguarded, differing, captured, calls = [], [], 0, 0
    counted = all(count is not None for count, _ in theirs.values())
    for key in sorted({*theirs, *ours}):
        provider_calls, tokens = theirs.get(key, (0 if counted else None, 0))
        ledger_calls, known = ours.get(key, (0, 0))
        captured += min(tokens, known)
        missing = max(0, (provider_calls or 0) - (ledger_calls or 0))
        calls += missing
        gap = Gap("", key[0].isoformat(), key[1], provider_calls, ledger_calls or 0, tokens, known)
        if missing or tokens > known:
            unguarded.append(gap)
        elif tokens != known:
            differing.append(gap)
    total = sum(tokens for _, tokens in theirs.values())
    sent = sum(count or 0 for count, _ in theirs.values()) if counted else None
    return Reconciliation(
        sent, total, captured, calls if counted else None, tuple(unguarded), tuple(differing),
        gone, deleted_until if gone else None,
    )  # fmt: skip


def _is_deleted(use: ProviderUse | LedgerUse, deleted_until: datetime | None) -> bool:
    """Whether retention has deleted entries of the day of a line or a sum."""
    return deleted_until is not None and use.day is not None and use.day <= deleted_until.astimezone(UTC).date()


def _not_compared(compared: Sequence[ProviderUse], lines: int, deleted_until: datetime | None) -> int:
    """Number of lines that cannot be compared; raises `InvalidRequest` if none can be."""
    if lines and not compared:
        assert deleted_until is not None
        raise InvalidRequest(
            f"no day of the file can be compared: retention has deleted entries, and the ledger is complete after "
            f"{deleted_until.isoformat()}: export later days"
        )
    return lines - len(compared)


def _by_day(uses: Iterable[ProviderUse | LedgerUse]) -> Mapping[tuple[date, str], tuple[int | None, int]]:
    found: dict[tuple[date, str], tuple[int | None, int]] = defaultdict(lambda: (0, 0))
    for use in uses:
        assert use.day is not None
        key = (use.day, plain_model(use.model))
        calls, tokens = found[key]
        both = None if calls is None or use.calls is None else calls + use.calls
        found[key] = both, tokens + use.tokens
    return found


def _gap(use: ProviderUse, calls: int, tokens: int) -> Gap:
    day = use.day.isoformat() if use.day else None
    return Gap(use.request_id, day, use.model, use.calls, calls, use.tokens, tokens)
