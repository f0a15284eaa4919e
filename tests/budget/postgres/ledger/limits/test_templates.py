"""Templates: policies for all scopes whose name matches, and documents that set them."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from purser.budget.errors import InvalidPolicy
from purser.budget.gate import Verdict
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.policies.sets import PolicyAction, PolicyChange, read_policies
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Scope
from purser.budget.windows import Window
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books

WRITER = ("session:s1", "task:t1", "agent:t1/writer")


@pytest.fixture
def sets(books: Books, pool: Pool) -> PolicySets:
    return PolicySets(pool, books.policies)


async def apply(sets: PolicySets, document: Mapping[str, Any], **options: bool) -> list[PolicyChange]:
    return await sets.apply(TENANT, read_policies(document), by=TESTER, **options)


# --- what a template gives -------------------------------------------------------------------------------------------


async def test_a_template_binds_scopes_that_exist_and_scopes_that_appear_later(books: Books, sets: PolicySets) -> None:
    await books.spend("before", 60, 0, "session:s1")
    await apply(sets, {"session:*": {"limit_tokens": 100, "mode": "hard"}})
    for session, most in (("session:s1", 40), ("session:s2", 100)):
        assert (await books.ask(f"over {session}", most + 1, 0, session)).gate.verdict is Verdict.REFUSE
        assert (await books.ask(f"fits {session}", most, 0, session)).hold_id
    assert (await books.ask("another kind", 5_000, 0, "task:t1")).hold_id
    await books.check()


async def test_of_several_the_most_specific_sets_each_field_and_is_named_as_its_source(
    books: Books, sets: PolicySets
) -> None:
    await apply(
        sets,
        {
            "agent:*": {"limit_tokens": 10, "mode": "hard", "warn_at": [0.5]},
            "agent:*/writer": {"limit_tokens": 20},
            "agent:t1/*": {"limit_tokens": 30},
            "agent:t1/writer": {"warn_at": [0.9]},
        },
    )
    for key in ("before its first hold", "after it"):
        view = await books.policies.budget(TENANT, Scope.parse("agent:t1/writer"))
        assert (view.policy.limit_tokens, view.policy.mode) == (20, Mode.HARD)
        assert (view.sources["limit_tokens"], view.sources["mode"]) == ("template agent:*/writer", "template agent:*")
        assert ([str(ratio) for ratio in view.policy.warn_at], view.sources["warn_at"]) == (["0.9"], "stored")
        await books.hold(key, 1, 0, *WRITER)
    other = await books.policies.budget(TENANT, Scope.parse("agent:t1/editor"))
    assert (other.policy.limit_tokens, other.sources["limit_tokens"]) == (30, "template agent:t1/*")


async def test_characters_other_than_the_star_match_themselves(books: Books, sets: PolicySets) -> None:
    await apply(sets, {"session:a_*": {"limit_tokens": 5}})
    limits = [
        (await books.policies.budget(TENANT, Scope.parse(f"session:{name}"))).policy.limit_tokens
        for name in ("a_1", "ab1", "xa_1")
    ]
    assert limits == [5, None, None]


async def test_a_task_may_only_tighten_what_a_template_sets(books: Books, sets: PolicySets) -> None:
    await apply(sets, {"session:*": {"limit_tokens": 100, "mode": "hard"}})
    await books.budget("session:s1", task="t1", limit_tokens=1_000, mode="soft", window="hour")
    view = (await books.policies.budgets_of(TENANT, [Scope.parse("session:s1")], task_id="t1"))[0]
    assert (view.policy.limit_tokens, view.policy.mode, view.policy.window) == (100, Mode.HARD, Window.LIFETIME)
    assert (await books.ask("k", 101, 0, "session:s1", "task:t1")).gate.verdict is Verdict.REFUSE
    await books.budget("session:s1", task="t1", limit_tokens=50)
    assert (await books.ask("k2", 51, 0, "session:s1", "task:t1")).gate.verdict is Verdict.REFUSE


async def test_the_window_of_a_template_counts_and_other_tenants_have_none(books: Books, sets: PolicySets) -> None:
    books.at(datetime(2026, 11, 20, 12, tzinfo=UTC))
    await apply(sets, {"session:*": {"limit_tokens": 100, "mode": "hard", "window": "day"}})
    await books.spend("today", 100)
    assert (await books.ask("too much", 1)).hold_id is None
    books.at(datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert (await books.ask("tomorrow", 100)).hold_id
    assert (await books.policies.budget("other", Scope.parse("session:s1"))).policy.limit_tokens is None


# --- changes ---------------------------------------------------------------------------------------------------------


async def test_a_change_of_a_template_is_an_entry_of_each_balance_in_use(books: Books, sets: PolicySets) -> None:
    await books.budget("session:own", limit_tokens=500)
    for session in ("session:s1", "session:own"):
        await books.spend(session.replace(":", "-"), 60, 0, session)
    await apply(sets, {"session:*": {"limit_tokens": 100, "mode": "hard"}})
    await apply(sets, {"session:*": {"limit_tokens": 50, "mode": "hard"}})
    await apply(sets, {"session:*": {"limit_tokens": 50, "mode": "approval"}})
    assert await books.entries("session:s1") == ["hold", "settle", "limit_lowered", "limit_lowered", "mode_changed"]
    assert await books.entries("session:own") == ["hold", "settle", "mode_changed", "mode_changed"]
    await apply(sets, {"session:own": {"limit_tokens": 500}}, prune=True)
    assert (await books.entries("session:s1"))[-1] == "limit_raised"
    assert (await books.ask("free again", 5_000)).hold_id
    await books.check()


async def test_scopes_that_appear_while_a_template_is_set_do_not_miss_it(
    books: Books, sets: PolicySets, pool: Pool
) -> None:
    """Without the lock, a scope of a transaction that has not ended yet is not seen, nor does it see the template."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("insert into scopes (tenant, kind, id) values ($1, 'session', 'early')", TENANT)
        setting = asyncio.create_task(apply(sets, {"session:*": {"limit_tokens": 100, "mode": "hard"}}))
        while not await pool.fetchval("select count(*) from pg_locks where locktype = 'advisory' and not granted"):
            assert not setting.done(), "the template was set although a scope is about to appear"
    await setting
    assert (await books.ask("k", 101, 0, "session:early")).gate.verdict is Verdict.REFUSE


# --- documents -------------------------------------------------------------------------------------------------------


async def test_a_document_applies_once_and_its_difference_is_shown_first(
    books: Books, sets: PolicySets, pool: Pool
) -> None:
    document = {"session:*": {"limit_usd": "2"}, "session:s1": {"limit_tokens": 7, "mode": "hard"}}
    await books.budget("session:s1", limit_tokens=5, timezone="Europe/Berlin")
    await books.budget("user:u1", limit_tokens=5)
    planned = await apply(sets, document, dry_run=True)
    assert [(change.name, change.action) for change in planned] == [
        ("session:*", PolicyAction.CREATE),
        ("session:s1", PolicyAction.CHANGE),
    ]
    assert (await sets.stored(TENANT)).keys() == {"session:s1", "user:u1"}
    assert await apply(sets, document) == planned
    assert await sets.stored(TENANT) == read_policies(document) | {"user:u1": PolicyPatch(limit_tokens=5)}
    assert await apply(sets, document) == []
    removed = await apply(sets, document, prune=True)
    assert [(change.name, change.action) for change in removed] == [("user:u1", PolicyAction.REMOVE)]
    assert await sets.stored(TENANT) == read_policies(document)
    recorded = await pool.fetch("select action, target, by from changes where by = 'test' order by change_id desc")
    assert {("template.set", "session:*", "test"), ("policy.set", "user:u1", "test")} <= {
        tuple(row) for row in recorded
    }
    assert await sets.stored("other") == {}
    await books.check()


async def test_a_document_is_applied_as_a_whole_or_not_at_all(sets: PolicySets) -> None:
    wanted = {"session:*": PolicyPatch(limit_tokens=1), "user:u1": PolicyPatch(timezone="Nowhere/Land")}
    with pytest.raises(InvalidPolicy, match="Nowhere/Land"):
        await sets.apply(TENANT, wanted, by=TESTER)
    assert await sets.stored(TENANT) == {}


async def test_a_tenant_has_ladders_by_a_policy_a_request_or_a_template_of_its_own(
    books: Books, sets: PolicySets
) -> None:
    ladder = [{"ratio": "0.5", "output": 20}]
    assert not await books.policies.have_ladders(TENANT)
    await books.budget("session:s1", limit_tokens=100)
    assert not await books.policies.have_ladders(TENANT)
    await books.budget("session:s1", task="t1", ladder=ladder)
    assert await books.policies.have_ladders(TENANT)
    assert not await books.policies.have_ladders("other")
    await sets.apply("other", read_policies({"session:*": {"ladder": ladder}}), by=TESTER)
    assert await books.policies.have_ladders("other")
