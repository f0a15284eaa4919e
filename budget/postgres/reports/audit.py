"""The audit: recomputes every balance from the entries and checks the invariants on a live database."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from purser.budget.holds import UNPRICED, digest_of
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.reports", "audit.sql")
PATIENCE_S = 3_600.0
"""For one check: a long ledger takes a while, and the timeout of the pool is for short statements."""
_CHECKS: Mapping[str, str] = {
    "balances": "a balance differs from its entries or from the holds, attempts and grants behind it",
    "entries_without_balance": "entries exist for a balance that does not",
    "chain": "an entry does not follow from the one before it",
    "overspend": "more was admitted than fitted",
    "paths": "a hold touched some scopes of its path and not others",
    "charges": "what a hold moved on a scope is not what it holds and was charged",
    "holds": "a hold did not end exactly once, or its charges are not those of its attempts",
    "limits": "the limits or the mode of a balance or of an entry are not those that were applied",
    "attempts": "the state or the usage of an attempt is not that of its entries",
    "reports": "a report is not the one that its digest was made of",
    "policies": "a stored policy is not what the last recorded change made of it",
    "checkpoints": "entries of a closed range were erased or rewritten",
    "grants": "a grant, its entries and the approval behind it do not agree",
}


@dataclass(frozen=True, slots=True)
class Audit:
    """What was checked and what differs."""

    checked: Mapping[str, int]
    """Rows by table."""
    differences: tuple[Mapping[str, Any], ...]
    """One object each: `check`, `what`, and the figures that differ."""

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """The document of `purser audit`."""
        return {"ok": self.ok, "checked": dict(self.checked), "differences": [dict(item) for item in self.differences]}


async def audit(pool: Pool, tell: Callable[[str, int, int], None] | None = None) -> Audit:
    """Proves the ledger's invariants on one snapshot of the database, without stopping anybody.

    Args:
        pool: one of its connections is busy meanwhile.
        tell: called before each check with its name, how many are done, and how many there are.

    Raises:
        LedgerUnavailable: Postgres did not answer.
    """
    differences: list[Mapping[str, Any]] = []
    async with connected(pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
        for done, (check, what) in enumerate(_CHECKS.items()):
            if tell is not None:
                tell(check, done, len(_CHECKS))
            differences += [
                {"check": check, "what": what, **{name: _plain(value) for name, value in found.items()}}
                for found in await _found(own, check)
            ]
        counts = await own.fetchrow(_SQL["counts"], timeout=PATIENCE_S)
    return Audit(dict(counts or {}), tuple(differences))


async def _found(own: Connection, check: str) -> Sequence[Mapping[str, Any]]:
    if check == "reports":
        return [report async for report in _altered_reports(own)]
    return [dict(row) for row in await own.fetch(_SQL[check], timeout=PATIENCE_S)]


async def _altered_reports(own: Connection) -> AsyncIterator[Mapping[str, Any]]:
    """Reports whose digest is another one: it is made of usage and money as they arrived."""
    async for row in own.cursor(_SQL["reports"], prefetch=1_000, timeout=PATIENCE_S):
        usage = {name: value for name, value in (row["usage"] or {}).items() if name != UNPRICED}
        if digest_of(usage, row["nano"]) != row["digest"]:
            yield {"hold_id": row["hold_id"], "attempt": row["attempt"]}


def _plain(value: Any) -> Any:
    """Sums come back as Decimal; everything here is a whole number or text."""
    return value if value is None or isinstance(value, str | bool | int) else int(value)
