"""Scopes as a tree, by name, and over time."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.policies.templates import Pattern
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.reports.scope_tree import _SQL, Node, ScopeTree
from purser.budget.scopes import Kind, Scope
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books

PATH = ("user:ana", "session:S1", "task:t1", "agent:t1/a")
TODAY = datetime(2026, 11, 17, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
async def tree(pool: Pool) -> ScopeTree:
    """One path with three settled holds."""
    books = Books.on(pool)
    for number in (1, 2, 3):
        await books.spend(f"k{number}", 100 * number, 0, *PATH)
    found = ScopeTree(pool, books.policies)
    await found.place(TENANT)
    return found


async def names(tree: ScopeTree, parent: str, limit: int = 10) -> list[str]:
    nodes = await tree.children(TENANT, Scope.parse(parent), limit)
    return [str(node.scope) for node in nodes]


async def test_the_parent_of_a_scope_is_the_one_before_it_on_its_path(tree: ScopeTree) -> None:
    assert await tree.children(TENANT, None, 10) == [Node(Scope.parse("user:ana"), True)]
    assert await names(tree, "user:ana") == ["session:S1"]
    assert await names(tree, "session:S1") == ["task:t1"]
    assert await tree.children(TENANT, Scope.parse("task:t1"), 10) == [Node(Scope.parse("agent:t1/a"), False)]
    assert await names(tree, "agent:t1/a") == []


async def test_what_came_up_since_has_its_place_the_next_time(tree: ScopeTree, pool: Pool) -> None:
    await Books.on(pool).spend("more", 1, 0, "session:S1", "task:t2")
    await tree.place(TENANT)
    assert await names(tree, "session:S1") == ["task:t2", "task:t1"], "the newest first"
    assert await names(tree, "session:S1", limit=1) == ["task:t2"]


async def test_scopes_are_found_by_a_part_of_their_id_in_any_case(tree: ScopeTree) -> None:
    assert [str(node.scope) for node in await tree.find(TENANT, "s1", None, 10)] == ["session:S1"]
    assert [str(node.scope) for node in await tree.find(TENANT, "t1", Kind.AGENT, 10)] == ["agent:t1/a"]
    assert await tree.find(TENANT, "%", None, 10) == []
    assert len(await tree.find(TENANT, "", None, 2)) == 2


async def test_the_history_of_a_balance_ends_with_its_current_state(tree: ScopeTree) -> None:
    course = await tree.history(TENANT, Scope.parse("session:S1"))
    assert [moment.spent.tokens for moment in course][-1] == 600
    assert max(moment.held.tokens for moment in course) == 300
    assert [moment.at for moment in course] == sorted(moment.at for moment in course)
    few = await tree.history(TENANT, Scope.parse("session:S1"), points=2)
    assert len(few) < len(course)
    assert few[-1] == course[-1]


# --- by use ----------------------------------------------------------------------------------------------------------


async def most_used(books: Books, limit: int = 10) -> list[str]:
    nodes = await ScopeTree(books.pool, books.policies).most_used(TENANT, "", None, limit)
    return [node.scope.id for node in nodes]


async def test_what_is_used_now_comes_before_what_was_used_up_in_past_windows(books: Books) -> None:
    books.at(TODAY - DAY)
    for name in ("past1", "past2", "past3"):
        await books.budget(f"session:{name}", limit_tokens=100, window="day")
        await books.spend(name, 100, 0, f"session:{name}")
    books.at(TODAY)
    await books.budget("session:now", limit_tokens=100, window="day")
    await books.spend("now", 95, 0, "session:now")
    await books.spend("again", 20, 0, "session:past2")
    assert await most_used(books, 2) == ["now", "past2"]
    assert set(await most_used(books)) == {"now", "past1", "past2", "past3"}, "those that are unused now come last"


async def test_the_default_window_of_a_kind_and_that_of_a_template_end_too(pool: Pool) -> None:
    books = Books.on(pool, defaults={kind: Policy(window="day" if kind is Kind.USER else "lifetime") for kind in Kind})
    daily = PolicyPatch(window="day")
    async with pool.acquire() as own:
        await books.policies.set_template(TENANT, Pattern("session:*"), daily, by=TESTER, connection=own)
    past, now = ("user:past", "session:past"), ("user:now", "session:now", "task:now")
    for scope in (*past, *now):
        await books.budget(scope, limit_tokens=100)
    books.at(TODAY - DAY)
    await books.spend("past", 100, 0, *past, "task:now")
    books.at(TODAY)
    await books.spend("now", 50, 0, *now)
    assert (await most_used(books))[:3] == ["now"] * 3


async def test_after_a_change_of_the_window_the_use_of_the_old_one_no_longer_counts(books: Books) -> None:
    books.at(TODAY)
    for name, spent, window in (("changed", 100, "day"), ("same", 50, "day"), ("lifetime", 10, "lifetime")):
        await books.budget(f"session:{name}", limit_tokens=100, window=window)
        await books.spend(name, spent, 0, f"session:{name}")
    await books.budget("session:changed", window="lifetime")
    assert await most_used(books) == ["same", "lifetime", "changed"]
    await books.spend("more", 20, 0, "session:changed")
    assert await most_used(books) == ["same", "changed", "lifetime"]


async def test_what_has_fallen_out_of_a_rolling_window_is_not_in_use(books: Books) -> None:
    books.at(TODAY)
    for name, spent, window in (("rolling", 100, "5h"), ("lifetime", 50, "lifetime")):
        await books.budget(f"session:{name}", limit_tokens=100, window=window)
        await books.spend(name, spent, 0, f"session:{name}")
    assert await most_used(books) == ["rolling", "lifetime"]
    books.at(TODAY + timedelta(hours=5, minutes=10))
    assert await most_used(books) == ["lifetime", "rolling"]


async def test_to_place_many_new_scopes_does_not_compare_each_with_each(pool: Pool) -> None:
    many = "insert into scopes (tenant, kind, id) select $1, 'task', 't' || n from generate_series(1, 2000) n"
    await pool.execute("alter table scopes set (autovacuum_enabled = false)")  # no statistics, as right after they came
    await pool.execute(many, TENANT)
    await pool.execute(many.replace("'task', 't' || n", "'agent', 't' || n || '/a'"), TENANT)
    plan = await pool.fetch(f"explain (analyze, format text) {_SQL['place']}", TENANT, 10_000)
    removed = [int(number) for (line,) in plan for number in re.findall(r"Rows Removed by .*Filter: (\d+)", line)]
    assert max(removed) <= 2 * 4_000, plan
    assert await pool.fetchval("select count(*) from scope_parents") == 2_000, "each agent under its task"


async def test_another_tenant_sees_nothing(tree: ScopeTree) -> None:
    await tree.place("other")
    assert await tree.children("other", None, 10) == []
    assert await tree.children("other", Scope.parse("user:ana"), 10) == []
    assert await tree.find("other", "", None, 10) == []
    assert await tree.history("other", Scope.parse("session:S1")) == []
