"""The audit: recomputes all balances from their entries and checks the ledger's invariants on a live database."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from purser.budget.holds import digest_of, usage_of
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.audit", "audit.sql")
CHECK_TIMEOUT_S = 3_600.0
"""Timeout of one check: a long ledger takes a while, and the pool's timeout is meant for short statements."""
_CHECKS: Mapping[str, str] = {
    "balances": "a balance differs from its entries, or from its holds, attempts and grants",
    "rolling": "what was posted as rolled off is not what has fallen out of the window, or more never will",
    "entries_without_balance": "entries exist for a balance that does not",
    "chain": "an entry does not follow from the previous one",
    "overspend": "more was admitted than fits",
    "paths": "the scopes of a hold are not those of its entries, its path and its labels",
    "charges": "the entries of a hold on a scope do not add up to what it holds and was charged",
    "holds": "a hold did not end exactly once, or its charges are not those of its attempts",
    "limits": "the limits or the mode of a balance or an entry are not those that were applied",
    "attempts": "the state or the usage of an attempt does not match its entries",
    "reports": "a report does not match its digest",
    "policies": "a policy is not stored as it was last recorded",
    "templates": "a template is not stored as it was last recorded, or a scope does not have what its templates give",
    "checkpoints": "entries of a closed range were erased or rewritten",
    "closings": "what was deleted, or what takes its place, is not what was recorded",
    "grants": "a grant, its entries, its approval and its balance do not match",
}


@dataclass(frozen=True, slots=True)
class Audit:
    """Result of an audit."""

    checked: Mapping[str, int]
    """Number of rows checked, by table."""
    differences: tuple[Mapping[str, Any], ...]
    """One object per difference: `check`, `what`, and the figures that differ."""
    ended_at: datetime
    """By the clock of Postgres, which says when the next one is due: those of its clients may differ."""

    @property
    def ok(self) -> bool:
        """Whether there is no difference."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """The JSON document of `purser audit`."""
        return {"ok": self.ok, "checked": dict(self.checked), "differences": [dict(item) for item in self.differences]}


async def audit(pool: Pool, on_check: Callable[[str, int, int], None] | None = None) -> Audit:
    """Checks the ledger's invariants on one snapshot of the database, without blocking writers.

    Args:
        pool: one of its connections is in use during the audit.
        on_check: called before each check with its name, the number of checks done, and their total number.

    Raises:
        LedgerUnavailable: Postgres did not answer.
    """
    differences: list[Mapping[str, Any]] = []
    async with connected(pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
        for done, (check, what) in enumerate(_CHECKS.items()):
            if on_check is not None:
                on_check(check, done, len(_CHECKS))
            differences += [
                {"check": check, "what": what, **{name: _plain(value) for name, value in found.items()}}
                for found in await _found(own, check)
            ]
        counts = await own.fetchrow(_SQL["counts"], timeout=CHECK_TIMEOUT_S)
        ended_at = await own.fetchval("select clock_timestamp()")
    return Audit(dict(counts or {}), tuple(differences), ended_at)


async def _found(own: Connection, check: str) -> Sequence[Mapping[str, Any]]:
    if check == "reports":
        return [report async for report in _altered_reports(own)]
    return [dict(row) for row in await own.fetch(_SQL[check], timeout=CHECK_TIMEOUT_S)]


async def _altered_reports(own: Connection) -> AsyncIterator[Mapping[str, Any]]:
    """Reports that do not match their digest, which was computed from usage and cost on arrival."""
    async for row in own.cursor(_SQL["reports"], prefetch=1_000, timeout=CHECK_TIMEOUT_S):
        if digest_of(usage_of(row["usage"] or {}), row["nano"]) != row["digest"]:
            yield {"tenant": row["tenant"], "hold_id": row["hold_id"], "attempt": row["attempt"]}


def _plain(value: Any) -> Any:
    """Converts sums, which arrive as Decimal, into integers."""
    return value if value is None or isinstance(value, str | bool | int) else int(value)
