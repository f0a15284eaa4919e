"""Documents of policies that meet calls and each other."""

import asyncio
from collections.abc import Mapping
from typing import Any

from purser.budget.policies.sets import PolicyChange, read_policies
from purser.budget.postgres.ledger.policy_sets import _AT_ONCE, PolicySets
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, until_waiting


async def apply(books: Books, document: Mapping[str, Any], **options: bool) -> list[PolicyChange]:
    sets = PolicySets(books.pool, books.policies)
    return await sets.apply(TENANT, read_policies(document), by=TESTER, **options)


async def lock_balances(connection: Any) -> None:
    await connection.execute("select from balances for update")


async def test_scopes_appear_while_a_document_without_templates_is_applied(books: Books) -> None:
    await books.spend("k", 1)

    async def ask(_: Any) -> None:
        async with asyncio.timeout(5):
            await books.hold("new", 1, 0, "session:new")

    assert await meet(books.pool, lock_balances, lambda: apply(books, {"session:s1": {"limit_tokens": 100}}), ask)


async def test_a_document_creates_its_scopes_before_it_locks_the_templates(books: Books) -> None:
    """Else it would wait for an ask that creates the same scope, and that ask for the lock of the templates."""
    await books.spend("k", 1)
    document = {"session:*": {"limit_tokens": 100}, "session:new": {"limit_tokens": 5}}
    created: list[asyncio.Task[str]] = []

    async def create(_: Any) -> None:
        insert = "insert into scopes (tenant, kind, id) values ($1, 'session', 'new') on conflict do nothing"
        created.append(asyncio.create_task(books.pool.execute(insert, TENANT)))
        await until_waiting(books.pool, 2)

    await meet(books.pool, lock_balances, lambda: apply(books, document), create)
    assert await created[0] == "INSERT 0 0"


async def test_documents_are_applied_one_after_the_other(books: Books) -> None:
    """Else none of two documents that prune would remove what the other one stores."""
    await books.budget("session:s1", limit_tokens=5)

    async def lock_scopes(connection: Any) -> None:
        await connection.execute("select from scopes for update")

    async def both_wait(_: Any) -> None:
        await until_waiting(books.pool, 2)

    await meet(
        books.pool,
        lock_scopes,
        lambda: asyncio.gather(
            *(apply(books, {name: {"limit_tokens": 1}}, prune=True) for name in ("session:a", "session:b"))
        ),
        both_wait,
    )
    assert len(await PolicySets(books.pool, books.policies).stored(TENANT)) == 1


async def test_a_document_has_more_policies_than_one_statement_stores(books: Books) -> None:
    names = [f"session:s{number}" for number in range(_AT_ONCE + 1)]
    await books.spend("k", 60)
    assert len(await apply(books, {name: {"limit_tokens": 50} for name in names})) == len(names)
    assert (await PolicySets(books.pool, books.policies).stored(TENANT)).keys() == set(names)
    for recorded in ("changes where action = 'policy.set'", "events where kind = 'budget'"):
        assert await books.pool.fetchval(f"select count(*) from {recorded}") == len(names)
    assert await books.entries() == ["hold", "settle", "limit_lowered"]


async def test_what_an_approval_raises_stays_when_its_task_asks_for_another_field(books: Books) -> None:
    await books.budget("session:s1", task="t1", limit_tokens=100)

    async def grant(connection: Any) -> None:
        await connection.execute("update policies set limit_tokens = 150 where task = 't1'")

    await meet(books.pool, grant, lambda: books.budget("session:s1", task="t1", mode="hard"))
    assert await books.pool.fetchval("select (limit_tokens, mode) from policies where task = 't1'") == (150, "hard")
