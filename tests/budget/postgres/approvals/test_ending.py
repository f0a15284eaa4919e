"""Requests that end without a decision, on a real Postgres: deadlines, withdrawals, resolved shortages."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from purser.budget.approvals import FITS, ApprovalState, Choice, Identity, Ticket
from purser.budget.errors import DecisionRefused
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Scope
from purser.wire.limits import MAX_AMOUNT, MAX_CALL_NANO_USD
from tests.support.actors import TESTER
from tests.support.approvals import NOW, SESSION, TENANT, Desk, open_desk, path


@pytest.fixture
async def desk(pool: Pool) -> AsyncIterator[Desk]:
    async with open_desk(pool) as desk:
        yield desk


async def test_an_undecided_request_expires(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=30) - timedelta(microseconds=1))
    assert await desk.approvals.expire_due() == 0
    desk.at(NOW + timedelta(minutes=30))
    assert await desk.approvals.expire_due() == 1
    assert await desk.grants() == []
    assert await desk.wakeups() == [("task-t1/a1", "expired")]
    assert (await desk.ask("k1", 500)).state == "expired"
    (decision,) = (await desk.approvals.get(TENANT, ticket.approval_id)).decisions
    assert (decision.approver, decision.identity, decision.choice) == ("sweeper", Identity.SWEEPER, Choice.DENY)


async def test_deadline_and_silence_follow_the_policy(desk: Desk) -> None:
    await desk.policy(approval={"deadline_s": 60, "on_expiry": "grant"})
    ticket = await desk.ask("k1", 500)
    assert ticket.deadline == NOW + timedelta(seconds=60)
    desk.at(NOW + timedelta(seconds=60))
    assert await desk.approvals.expire_due() == 1
    assert await desk.grants() == [(400, 0)]
    assert await desk.wakeups() == [("task-t1/a1", "approved")]
    assert (await desk.hold("k1", 500)).gate.verdict.admits


async def test_silence_grants_no_more_in_a_window_than_one_person_may(desk: Desk) -> None:
    await desk.policy(approval={"deadline_s": 60, "on_expiry": "grant", "two_people_above_tokens": 500})
    await desk.ask("k1", 500)
    desk.at(NOW + timedelta(seconds=60))
    assert await desk.approvals.expire_due() == 1
    await desk.spend(500)
    again = await desk.ask("k2", 200)
    desk.at(NOW + timedelta(seconds=120))
    assert await desk.approvals.expire_due() == 1
    assert (await desk.grants(), await desk.state(again)) == ([(400, 0)], ApprovalState.EXPIRED)


GRANT = {"on_expiry": "grant"}
SOON, DEADLINE = NOW + timedelta(minutes=1), NOW + timedelta(minutes=30)


async def test_silence_grants_no_more_than_was_asked(desk: Desk) -> None:
    await desk.policy(approval=GRANT)
    first = await desk.ask("k1", 500)
    await desk.spend(50)
    desk.at(DEADLINE)
    assert await desk.approvals.expire_due() == 1
    assert (await desk.grants(), await desk.state(first)) == ([(400, 0)], ApprovalState.APPROVED)
    again = await desk.ask("k1", 500)
    assert (await desk.approvals.get(TENANT, again.approval_id)).asked == Amount(50)


@pytest.mark.parametrize(
    ("changes", "joining", "grants"),
    [
        ([(SESSION, {"limit_tokens": 0})], [], []),
        ([(SESSION, {"limit_nano_usd": 10})], [], []),
        ([(SESSION, {"limit_tokens": 999})], ["t1"], []),
        ([(SESSION, {"frozen": True})], [], []),
        ([(Scope.parse("task:t1"), {"frozen": True})], [], []),
        ([(Scope.parse("task:t1"), {"frozen": True})], ["t2"], [(800, 0)]),
        ([(SESSION, {"frozen": True}), (SESSION, {"frozen": False})], [], [(400, 0)]),
        ([(SESSION, {"limit_tokens": 1_100})], [], [(300, 0)]),
    ],
    ids=["limit lowered", "money limited", "lowered, then joined", "frozen", "every call frozen", "a call frozen",
         "frozen for a time", "raised"],
)  # fmt: skip
async def test_silence_undoes_no_tightening(
    desk: Desk, changes: list[tuple[Scope, dict[str, Any]]], joining: list[str], grants: list[tuple[int, int]]
) -> None:
    await desk.policy(approval=GRANT)
    ticket = await desk.ask("k1", 500)
    desk.at(SOON)
    for task in joining:
        await desk.hold(f"joins-{task}", 400, task)
    for scope, patch in changes:
        await desk.policies.set(TENANT, scope, PolicyPatch.parse(patch), by=TESTER)
    for task in joining:
        assert (await desk.request(f"joins-{task}", 400, task)).approval_id == ticket.approval_id
    shown = await desk.approvals.at_deadline(TENANT, await desk.approvals.get(TENANT, ticket.approval_id))
    desk.at(DEADLINE)
    assert await desk.approvals.expire_due() == 1
    assert await desk.grants() == grants
    assert await desk.state(ticket) is (ApprovalState.APPROVED if grants else ApprovalState.EXPIRED) is shown.state
    assert len(await desk.wakeups()) == 1 + len(set(joining) - {"t1"})


async def test_a_shortage_beyond_the_largest_grant_is_granted_in_part(desk: Desk) -> None:
    await desk.policy(limit_nano_usd=70, approval={"on_expiry": "grant"})
    asks = [Amount(5, MAX_CALL_NANO_USD)] * 12
    for number, ask in enumerate(asks):
        await desk.ledger.hold(TENANT, HoldRequest(f"k{number}", path(), ask))
        await desk.approvals.request(TENANT, key=f"k{number}", scope=SESSION, path=path(), ask=ask)
    desk.at(NOW + timedelta(minutes=30))
    assert await desk.approvals.expire_due() == 1
    assert await desk.grants() == [(0, MAX_AMOUNT)]


async def test_a_request_whose_grant_the_balance_cannot_count_expires(desk: Desk) -> None:
    await desk.policy(limit_nano_usd=70, approval={"on_expiry": "grant"})
    ask = Amount(5, MAX_CALL_NANO_USD)
    await desk.ledger.hold(TENANT, HoldRequest("k1", path(), ask))
    ticket = await desk.approvals.request(TENANT, key="k1", scope=SESSION, path=path(), ask=ask)
    desk.at(NOW + timedelta(minutes=30))
    await desk.pool.execute("update balances set spent_nano = spent_nano + $1", 2**62)
    # A hundred that never end would keep those of all tenants from expiring.
    assert await desk.approvals.expire_due() == 1
    await desk.pool.execute("update balances set spent_nano = spent_nano - $1", 2**62)
    assert await desk.state(ticket) is ApprovalState.EXPIRED
    assert await desk.grants() == []


async def test_a_request_that_cannot_end_now_keeps_no_other_from_it(desk: Desk, dsn: str) -> None:
    stuck, other = await desk.ask_elsewhere("session:stuck"), await desk.ask("k1", 500)
    async with await create_pool(dsn, lock_timeout_ms=100) as pool, desk.pool.acquire() as busy:
        approvals = Approvals(pool, LedgerSettings(), now=NOW + timedelta(minutes=30))
        async with busy.transaction():
            await busy.execute("select 1 from approvals where approval_id = $1 for update", stuck.approval_id)
            assert await approvals.expire_due() == 1
        assert (await desk.state(stuck), await desk.state(other)) == (ApprovalState.PENDING, ApprovalState.EXPIRED)
        assert await approvals.expire_due() == 1


async def test_many_sweepers_at_once_end_a_request_once(desk: Desk) -> None:
    await desk.policy(approval={"on_expiry": "grant"})
    await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=30))
    async with desk.pool.acquire() as other, other.transaction():
        # The first sweeper has to wait in the middle of its work, for the balance, until the others have come.
        await other.execute("select 1 from balances for update")
        sweepers = [asyncio.create_task(desk.approvals.expire_due()) for _ in range(4)]
        while (done := sum(sweeper.done() for sweeper in sweepers)) + await desk.waiting_for_locks() < len(sweepers):
            await asyncio.sleep(0.01)
    # Without the lock on the scope they would all have waited there, to grant one after the other.
    assert done == 3
    assert sum(await asyncio.gather(*sweepers)) == 1
    assert await desk.grants() == [(400, 0)]


async def test_a_sweeper_looks_again_once_it_has_the_lock(desk: Desk) -> None:
    await desk.policy(approval={"on_expiry": "grant"})
    await desk.ask_elsewhere("session:s2", approval={"on_expiry": "grant"})
    desk.at(NOW + timedelta(minutes=1))
    newer = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(hours=1))
    async with desk.pool.acquire() as other, other.transaction():
        # The sweeper has seen that both are due, and waits at the older one until the newer one is decided.
        await other.execute(
            "select 1 from balances b join scopes s using (tenant, scope_id) where s.id = $1 for update of b",
            "s2",
        )
        sweeper = asyncio.create_task(desk.approvals.expire_due())
        await desk.until_waiting(1)
        await desk.decide(newer)
    # Without the second look it would grant the newer one once more.
    assert await sweeper == 1
    assert await desk.grants() == [(400, 0), (4, 0)]


async def test_a_decision_and_the_deadline_at_once_leave_one_of_the_two(desk: Desk) -> None:
    await desk.policy(approval={"on_expiry": "grant"})
    ticket = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=30))
    await asyncio.gather(desk.decide(ticket), *(desk.approvals.expire_due() for _ in range(4)), return_exceptions=True)
    assert await desk.grants() == [(400, 0)]
    assert await desk.wakeups() == [("task-t1/a1", "approved")]


async def test_a_call_that_leaves_is_not_counted_and_the_last_one_closes_the_request(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500, "t1")
    await desk.ask("k2", 300, "t2")
    await desk.approvals.withdraw(TENANT, "k1")
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.state, shown.asked) == (ApprovalState.PENDING, Amount(200))
    await desk.approvals.withdraw(TENANT, "k2")
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN
    with pytest.raises(DecisionRefused) as refused:
        await desk.decide(ticket)
    assert refused.value.reason == "closed"
    # No signal is sent: the calls that left know.
    assert await desk.wakeups() == []


async def test_a_call_that_left_may_come_back(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500, "t1")
    await desk.ask("k2", 300, "t2")
    await desk.approvals.withdraw(TENANT, "k1")
    assert (await desk.ask("k1", 500, "t1")).approval_id == ticket.approval_id
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).asked == Amount(700)


async def test_releasing_a_key_is_enough_to_stop_waiting(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.ledger.release(TENANT, key="k1")
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).waiters == ()
    assert await desk.approvals.expire_due() == 1
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN


async def test_withdrawing_a_key_that_waits_for_nothing_changes_nothing(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.approvals.withdraw(TENANT, "k2")
    await desk.decide(ticket, choice=Choice.DENY)
    await desk.approvals.withdraw(TENANT, "k1")
    assert await desk.state(ticket) is ApprovalState.DENIED


async def test_a_raised_limit_wakes_waiting_calls(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert await desk.approvals.expire_due() == 0
    await desk.policy(limit_tokens=1_400)
    # Else the agent would wait for a person, and be refused at the deadline, although it fits.
    assert await desk.approvals.expire_due() == 1
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN
    assert await desk.wakeups() == [("task-t1/a1", FITS)]
    assert (await desk.hold("k1", 500)).gate.verdict.admits


async def test_a_scope_that_asks_no_one_any_more_wakes_calls_and_no_one_can_grant(desk: Desk) -> None:
    await desk.policy(approval=GRANT | {"remind_s": 600})
    ticket = await desk.ask("k1", 500)
    assert (await desk.hold("k2", 500)).gate.verdict is Verdict.ASK
    await desk.policy(mode="hard")
    assert await desk.request("k2", 500) == Ticket("", FITS, None)
    desk.at(DEADLINE - timedelta(minutes=1))
    assert await desk.reminders.send_due() == 0
    with pytest.raises(DecisionRefused, match="under a changed policy"):
        await desk.decide(ticket)
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN
    assert await desk.wakeups() == [("task-t1/a1", FITS)]
    assert (await desk.hold("k1", 500)).gate.verdict is Verdict.REFUSE
    assert await desk.grants() == []


async def test_the_deadline_grants_nothing_in_a_scope_that_asks_no_one_any_more(desk: Desk) -> None:
    await desk.policy(approval=GRANT)
    ticket = await desk.ask("k1", 500)
    await desk.policy(mode="hard")
    desk.at(DEADLINE)
    assert await desk.approvals.expire_due() == 1
    assert (await desk.grants(), await desk.state(ticket)) == ([], ApprovalState.WITHDRAWN)


async def test_a_new_window_wakes_calls_that_wait_for_the_old_one(desk: Desk) -> None:
    await desk.policy(window="hour")
    desk.at(NOW + timedelta(minutes=45))
    await desk.spend(950)
    ticket = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=59))
    assert await desk.approvals.expire_due() == 0
    desk.at(NOW + timedelta(minutes=60))
    assert await desk.approvals.expire_due() == 1
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN
    assert (await desk.hold("k1", 500)).gate.verdict.admits


async def test_sweeps_in_parts_end_every_request(desk: Desk) -> None:
    for number in range(3):
        await desk.ask_elsewhere(f"session:short{number}")
    desk.at(NOW + timedelta(hours=1))
    assert [await desk.approvals.expire_due(limit=2) for _ in range(3)] == [2, 1, 0]


async def test_each_pending_request_has_its_turn_however_many_have_earlier_deadlines(desk: Desk) -> None:
    for number in range(5):
        await desk.ask_elsewhere(f"session:short{number}")
    desk.at(NOW + timedelta(seconds=1))
    late = await desk.ask_elsewhere("session:late")
    await desk.policies.set(TENANT, Scope.parse("session:late"), PolicyPatch.parse({"limit_tokens": 5}), by=TESTER)
    # Else its call would wait for a person, and be refused at the deadline, although it fits.
    assert sum([await desk.approvals.expire_due(limit=2) for _ in range(3)]) == 1
    assert await desk.state(late) is ApprovalState.WITHDRAWN
    first = await desk.approvals.list(TENANT, ApprovalState.PENDING)
    for request in first.requests:
        await desk.policies.set(TENANT, request.scope, PolicyPatch.parse({"limit_tokens": 5}), by=TESTER)
    assert sum([await desk.approvals.expire_due(limit=2) for _ in range(4)]) == 5, "it begins again after the last"


async def test_requests_that_are_due_end_wherever_a_sweep_has_come(desk: Desk) -> None:
    due = await desk.ask_elsewhere("session:due")
    desk.at(NOW + timedelta(minutes=1))
    for number in range(3):
        await desk.ask_elsewhere(f"session:short{number}")
    assert await desk.approvals.expire_due(limit=2) == 0
    desk.at(NOW + timedelta(minutes=30))
    assert await desk.approvals.expire_due(limit=2) == 1
    assert await desk.state(due) is ApprovalState.EXPIRED
