"""A guard of the ledger's SQL, and what fails without it."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.ledger import test_waiting
from tests.budget.postgres.ledger.limits import test_rollover
from tests.budget.postgres.ledger.parallel import test_batches
from tests.support.ledger import Books, without

Spec = Callable[..., Awaitable[None]]
CONTEXT = "select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;\n    "


@dataclass(frozen=True)
class Guard:
    """A piece of SQL, its replacement without the guard, and a specification that fails then."""

    sql: str
    instead: str
    spec: Spec


async def fails_without(guard: Guard, pool: Pool) -> bool:
    """Whether its specification, which otherwise passes, fails without the guard."""
    async with without(pool, guard.sql, guard.instead):
        return await failure(guard.spec, pool) is not None


async def failure(spec: Spec, pool: Pool) -> BaseException | None:
    """What a specification says of this database, the audit at its end included; None if it passes."""
    books = Books.on(pool)
    fixtures: dict[str, Callable[[], Awaitable[Any]]] = {
        "clock": lambda: test_waiting.Clock.of(books),
        "session": lambda: test_batches.used_session(books),
        "daily": lambda: test_rollover.roll_daily(books),
    }
    given: dict[str, Any] = {"books": books, "pool": pool}
    wanted = inspect.signature(spec).parameters
    given |= {name: await make() for name, make in fixtures.items() if name in wanted}
    try:
        await spec(**{name: value for name, value in given.items() if name in wanted})
        await books.check()
    except (Exception, pytest.fail.Exception) as error:
        return error
    return None
