"""Scopes as a tree, by name, and over time."""

import re

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.reports.scope_tree import _SQL, Node, ScopeTree
from purser.budget.scopes import Kind, Scope
from tests.support.ledger import TENANT, Books

PATH = ("user:ana", "session:S1", "task:t1", "agent:t1/a")


@pytest.fixture
async def tree(pool: Pool) -> ScopeTree:
    """One path with three settled holds."""
    books = Books.on(pool)
    for number in (1, 2, 3):
        await books.spend(f"k{number}", 100 * number, 0, *PATH)
    found = ScopeTree(pool)
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
