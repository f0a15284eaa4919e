"""Reminders and escalations before the deadline, on a real Postgres."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from purser.budget.approvals import ApprovalState, Approver
from purser.budget.errors import DecisionRefused
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.reminders import Reminders
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.approvals import NOW, TENANT, Desk, open_desk

DEPUTY = Approver("dora", None, ("deputy",))
DEADLINE = NOW + timedelta(minutes=30)
RULES = {"remind_s": 600, "escalate_s": 300}
JUST_BEFORE = timedelta(microseconds=1)


@pytest.fixture
async def desk(pool: Pool) -> AsyncIterator[Desk]:
    async with open_desk(pool) as desk:
        yield desk


async def causes(desk: Desk) -> list[str]:
    rows = await desk.pool.fetch("select data from events where kind = 'approval' order by event_id")
    return [row["data"]["cause"] for row in rows]


async def test_a_request_is_reminded_of_and_escalated_once_each_before_its_deadline(desk: Desk) -> None:
    await desk.policy(approval=RULES)
    ticket = await desk.ask("k1", 500)
    sent = []
    for left in (timedelta(seconds=600) + JUST_BEFORE, timedelta(seconds=600), timedelta(seconds=599)):
        desk.at(DEADLINE - left)
        sent.append(await desk.reminders.send_due())
    assert sent == [0, 1, 0]
    for left in (timedelta(seconds=300) + JUST_BEFORE, timedelta(seconds=300), timedelta(seconds=1)):
        desk.at(DEADLINE - left)
        sent.append(await desk.reminders.send_due())
    assert sent[3:] == [0, 1, 0]
    assert await causes(desk) == ["opened", "reminded", "escalated"]
    events = await desk.pool.fetch("select data from events where kind = 'approval'")
    assert [row["data"]["waiting"] for row in events] == [[{"task_id": "t1", "agent_id": "a1"}]] * 3
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert shown.reminded_at == DEADLINE - timedelta(seconds=600)
    assert shown.escalated_at == DEADLINE - timedelta(seconds=300)


async def test_a_deputy_may_decide_from_the_escalation_on(desk: Desk) -> None:
    await desk.policy(approval=RULES)
    ticket = await desk.ask("k1", 500)
    with pytest.raises(DecisionRefused):
        await desk.decide(ticket, actor=DEPUTY)
    desk.at(DEADLINE - timedelta(seconds=300))
    # One sweep that comes late sends both.
    assert await desk.reminders.send_due() == 2
    assert (await desk.decide(ticket, "d2", actor=DEPUTY)).state is ApprovalState.APPROVED


async def test_many_sweepers_at_once_send_each_event_once(desk: Desk) -> None:
    await desk.policy(approval={"remind_s": 600})
    await desk.ask("k1", 500)
    desk.at(DEADLINE - timedelta(seconds=60))
    assert sum(await asyncio.gather(*(desk.reminders.send_due() for _ in range(6)))) == 1
    assert await causes(desk) == ["opened", "reminded"]


@pytest.mark.parametrize("rules", [{}, RULES], ids=["without rules", "past the deadline"])
async def test_nothing_is_sent_without_rules_nor_after_the_deadline(desk: Desk, rules: dict[str, int]) -> None:
    await desk.policy(approval=rules)
    await desk.ask("k1", 500)
    desk.at(DEADLINE if rules else DEADLINE - timedelta(seconds=1))
    assert await desk.reminders.send_due() == 0


async def test_a_request_that_is_moot_or_decided_is_not_reminded_of(desk: Desk) -> None:
    await desk.policy(approval=RULES)
    moot = await desk.ask_elsewhere("session:s2", approval=RULES)
    decided = await desk.ask("k1", 500)
    await desk.decide(decided)
    await desk.policies.set(TENANT, Scope.parse("session:s2"), PolicyPatch(limit_tokens=1_000), by=TESTER)
    assert (await desk.approvals.get(TENANT, moot.approval_id)).moot
    desk.at(DEADLINE - timedelta(seconds=60))
    assert await desk.reminders.send_due() == 0


async def test_a_request_that_is_busy_keeps_no_other_from_its_reminder(desk: Desk, dsn: str) -> None:
    await desk.policy(approval={"remind_s": 600})
    stuck = await desk.ask_elsewhere("session:stuck", approval={"remind_s": 600})
    await desk.ask("k1", 500)
    async with await create_pool(dsn, lock_timeout_ms=100) as pool, desk.pool.acquire() as busy:
        reminders = Reminders(pool, LedgerSettings(), now=DEADLINE - timedelta(seconds=60))
        async with busy.transaction():
            await busy.execute("select 1 from approvals where approval_id = $1 for update", stuck.approval_id)
            assert await reminders.send_due() == 1
        assert await reminders.send_due() == 1
