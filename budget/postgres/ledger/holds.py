"""Reads holds; changes go through the ledger."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from purser.budget.errors import NotFound
from purser.budget.gate import Amount
from purser.budget.holds import HoldState
from purser.budget.postgres.connections.pools import Pool, fetch, fetchrow, fetchval
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Path, Scope, agent_scope
from purser.budget.texts import number_of

_SQL = load("purser.budget.postgres.ledger", "holds.sql")
_MOST_TRIES = 1_000
"""Bounds what one ask costs, whatever keys a caller has used."""


@dataclass(frozen=True, slots=True)
class StoredHold:
    """A hold that was admitted, open or ended."""

    hold_id: str
    key: str
    path: Path
    task_id: str
    """Id of the task on its path, or empty."""
    model: str | None
    state: HoldState
    asked_nano_usd: int
    """Nano-dollars held at first."""
    amount: Amount
    """Amount held now."""
    charged: Amount
    attempts: int
    expires_at: datetime | None
    created_at: datetime
    ended_at: datetime | None


class Holds:
    """Read access to the holds of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, tenant: str, hold_id: str) -> StoredHold:
        """Reads a hold; raises `NotFound` unless it is an admitted hold of this tenant."""
        found = await fetchrow(self._pool, _SQL["get"], tenant, number_of(hold_id))
        if found is None:
            raise NotFound(f"hold {hold_id[:80]!r} does not exist: use the hold_id of an admitted ask")
        return StoredHold(
            hold_id=found["hold_id"],
            key=found["key"],
            path=Path(_scopes(found["path"]), tuple(one for one in _scopes(found["labels"]) if one.kind is Kind.TAG)),
            task_id=found["task"],
            model=found["model"],
            state=HoldState(found["state"]),
            asked_nano_usd=found["asked_nano"],
            amount=Amount(found["tokens"], found["nano"]),
            charged=Amount(found["charged_tokens"], found["charged_nano"]),
            attempts=found["attempts"],
            expires_at=found["expires_at"],
            created_at=found["created_at"],
            ended_at=found["ended_at"],
        )

    async def asking_for(self, tenant: str, key: str) -> timedelta:
        """Time since the key was first used, or since it last stopped waiting for an approval."""
        age: timedelta | None = await fetchval(self._pool, _SQL["asking_for"], tenant, key)
        return age or timedelta()

    async def ended_tries(self, tenant: str, key: str) -> int:
        """How many holds of work that is tried again have ended: of `key`, which has, `key/2`, `key/3` and so on.

        At most 1,000.
        """
        return int(await fetchval(self._pool, _SQL["ended_tries"], tenant, key, _MOST_TRIES))

    async def open_of_task(self, tenant: str, task_id: str, agent_id: str | None = None) -> list[str]:
        """Ids of open holds of a task, or of one of its agents without those of its sub-agents."""
        agent = None if agent_id is None else str(agent_scope(task_id, agent_id))
        return [row["hold_id"] for row in await fetch(self._pool, _SQL["open_of_task"], tenant, task_id, agent)]


def _scopes(names: Iterable[str]) -> tuple[Scope, ...]:
    return tuple(map(Scope.stored, names))
