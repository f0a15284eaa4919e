"""What a task requests for itself on a shared scope applies only to its own calls."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.approvals import ApprovalState
from purser.budget.errors import InvalidRequest
from purser.budget.gate import Verdict
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.reports.exporter import Exporter
from purser.budget.scopes import Kind, Scope
from tests.support.actors import TESTER
from tests.support.approvals import NOW, SESSION, TENANT, Desk, open_desk

CAREFUL, OTHER = "careful", "t1"


@pytest.fixture
async def desk(pool: Pool) -> AsyncIterator[Desk]:
    """900 of 1,000 tokens of the session are spent, and one task wants to stop at 920."""
    async with open_desk(pool) as made:
        await request(made, SESSION, limit_tokens=920)
        yield made


async def request(desk: Desk, scope: Scope, **patch: object) -> None:
    await desk.policies.set(TENANT, scope, PolicyPatch.parse(patch), by=TESTER, task_id=CAREFUL)


async def test_a_budget_shows_the_shared_limits(desk: Desk) -> None:
    assert (await desk.policies.budget(TENANT, SESSION)).policy.limit_tokens == 1_000
    [own] = await desk.policies.budgets_of(TENANT, [SESSION], CAREFUL)
    assert own.policy.limit_tokens == 920
    free = Scope.parse("session:free")
    await request(desk, free, limit_tokens=10**12, mode="soft")
    shown = await desk.policies.budget(TENANT, free)
    assert (shown.policy.limit_tokens, shown.sources["limit_tokens"]) == (200_000, "default")


async def test_lists_and_metrics_use_the_shared_limits(desk: Desk) -> None:
    assert (await desk.hold("own", 20, CAREFUL)).hold_id, "the gate has applied 920 last"
    assert [view.ratio for view in (await desk.policies.budgets(TENANT, kind=Kind.SESSION))[0]] == [0.92]
    exporter = Exporter(desk.pool, desk.ledger.settings, now=NOW)
    found = (await exporter.figures(10)).budgets[Kind.SESSION, Mode.APPROVAL]
    assert (found.scopes["from_80"], found.scopes["from_100"], found.highest_ratio) == (1, 0, 0.92)


async def test_warnings_follow_the_shared_limits(desk: Desk) -> None:
    await desk.policy(warn_at=[0.95])
    assert (await desk.hold("own", 20, CAREFUL)).gate.verdict is Verdict.WARN
    assert await desk.pool.fetchval("select count(*) from events where kind = 'threshold' and threshold = 0.95") == 0
    assert (await desk.hold("other", 40, OTHER)).hold_id
    [event] = await desk.pool.fetch("select data from events where kind = 'threshold' and threshold = 0.95")
    assert event["data"]["limit"]["tokens"] == 1_000


async def test_only_the_task_that_asked_for_less_gets_what_is_granted_for_it(desk: Desk) -> None:
    ticket = await desk.ask("own", 50, CAREFUL)
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.task_id, shown.limit_tokens, shown.shortage.tokens) == (CAREFUL, 920, 30)
    assert (await desk.decide(ticket, grant_tokens=60)).state is ApprovalState.APPROVED
    assert (await desk.hold("own", 50, CAREFUL)).hold_id
    [budget] = await desk.policies.budgets_of(TENANT, [SESSION])
    assert (budget.policy.limit_tokens, budget.granted.tokens) == (1_000, 0)
    assert (await desk.hold("other", 60, OTHER)).gate.verdict is not Verdict.ALLOW, "950 are taken"
    assert (await desk.hold("other-fits", 50, OTHER)).hold_id


async def test_a_shared_shortage_is_one_request_under_the_shared_limit(desk: Desk) -> None:
    first, second = await desk.ask("own", 150, CAREFUL), await desk.ask("other", 150, OTHER)
    assert first.approval_id == second.approval_id
    shown = await desk.approvals.get(TENANT, first.approval_id)
    assert (shown.task_id, shown.limit_tokens, shown.shortage.tokens) == ("", 1_000, 200)


async def test_a_grant_for_a_task_alone_takes_no_end(desk: Desk) -> None:
    ticket = await desk.ask("own", 50, CAREFUL)
    with pytest.raises(InvalidRequest, match="ends with the task"):
        await desk.decide(ticket, until=NOW.replace(year=NOW.year + 1))
    assert await desk.state(ticket) is ApprovalState.PENDING


async def test_beyond_a_soft_shared_limit_one_approval_is_enough_for_a_task_with_a_stricter_one(desk: Desk) -> None:
    await desk.policy(mode="soft")
    await request(desk, SESSION, limit_tokens=500, mode="approval")
    await desk.spend(200)
    ticket = await desk.ask("own", 50, CAREFUL)
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    # Counted from the shared limit, which stops no call, a grant would leave the task short, and another be requested.
    assert (shown.task_id, shown.limit_tokens, shown.asked.tokens) == ("", 500, 650)
    await desk.decide(ticket)
    assert (await desk.hold("own", 50, CAREFUL)).gate.verdict.admits


async def test_within_a_soft_shared_limit_only_the_task_gets_what_is_granted(desk: Desk) -> None:
    await desk.policy(mode="soft")
    await request(desk, SESSION, limit_tokens=500, mode="approval")
    ticket = await desk.ask("own", 50, CAREFUL)
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).task_id == CAREFUL
    await desk.decide(ticket)
    assert (await desk.hold("own", 50, CAREFUL)).gate.verdict.admits
    assert await desk.grants() == []
