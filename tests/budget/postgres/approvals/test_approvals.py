"""Approval requests on a real Postgres: sharing, joining and leaving them, and what they show."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from purser.budget.actors import Actor
from purser.budget.approvals import FITS, ApprovalState, Choice, Ticket
from purser.budget.errors import InvalidRequest, NotFound
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path, Scope
from purser.wire.limits import MAX_CALL_NANO_USD
from tests.support.approvals import NOW, SESSION, TENANT, Desk, open_desk, path


@pytest.fixture
async def desk(pool: Pool) -> AsyncIterator[Desk]:
    async with open_desk(pool) as desk:
        yield desk


async def test_a_short_ask_opens_a_request_that_shows_what_a_person_needs(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert (ticket.state, ticket.deadline) == ("pending", NOW + timedelta(minutes=30))
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.scope, shown.window_start, shown.limit_tokens, shown.spent) == (SESSION, None, 1_000, Amount(900))
    assert (shown.asked, shown.shortage, shown.decisions_needed(NOW)) == (Amount(400), Amount(400), 1)
    (waiter,) = shown.waiters
    assert (waiter.task_id, waiter.agent_id, waiter.submitter, waiter.ask) == ("t1", "a1", "sam", Amount(500))
    assert waiter.since == NOW
    assert await desk.events() == ["pending"]


async def test_the_most_expensive_call_can_be_asked_for(desk: Desk) -> None:
    await desk.policy(limit_nano_usd=70)
    ask = HoldRequest("k1", path(), Amount(50, MAX_CALL_NANO_USD))
    assert (await desk.ledger.hold(TENANT, ask)).gate.verdict is Verdict.ASK
    ticket = await desk.approvals.request(TENANT, key="k1", scope=SESSION, path=path(), ask=ask.ask)
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).asked == Amount(0, MAX_CALL_NANO_USD - 70)


async def test_the_same_key_gets_the_same_ticket_and_waits_once(desk: Desk) -> None:
    first = await desk.ask("k1", 500)
    assert await desk.ask("k1", 500) == first
    assert (await desk.approvals.get(TENANT, first.approval_id)).shortage == Amount(400)
    # Otherwise a caller that polls would produce one event after another.
    assert await desk.events() == ["pending"]


async def test_two_tasks_short_of_one_scope_share_one_request(desk: Desk) -> None:
    one, other = await desk.ask("k1", 500, "t1"), await desk.ask("k2", 300, "t2", "tom")
    assert one.approval_id == other.approval_id
    shown = await desk.approvals.get(TENANT, one.approval_id)
    assert shown.asked == Amount(700)
    assert shown.submitters == {"sam", "tom"}
    await desk.decide(one)
    assert await desk.grants() == [(700, 0)]
    assert await desk.wakeups() == [("task-t1/a1", "approved"), ("task-t2/a1", "approved")]
    # Without the sum of both asks, the second of these would be short again.
    assert (await desk.hold("k1", 500, "t1")).gate.verdict.admits
    assert (await desk.hold("k2", 300, "t2")).gate.verdict.admits


async def test_a_decision_of_a_newer_release_with_more_columns_can_be_read(desk: Desk, pool: Pool) -> None:
    ticket = await desk.ask("k1", 500)
    await pool.execute("alter table decisions add column cost_center text")
    await desk.decide(ticket)
    (decision,) = (await desk.approvals.get(TENANT, ticket.approval_id)).decisions
    assert decision.choice is Choice.APPROVE


async def test_many_that_come_at_once_still_share_one_request(desk: Desk) -> None:
    await asyncio.gather(*(desk.hold(f"k{n}", 500, f"t{n}") for n in range(20)))
    # Without the lock on the scope, sums miss waiters that join at the same time.
    tickets = await asyncio.gather(*(desk.request(f"k{n}", 500, f"t{n}") for n in range(20)))
    assert len({ticket.approval_id for ticket in tickets}) == 1
    assert (await desk.approvals.get(TENANT, tickets[0].approval_id)).asked == Amount(900 + 20 * 500 - 1_000)


async def test_a_limit_that_one_task_asked_for_does_not_raise_what_is_missing_for_all(desk: Desk) -> None:
    await desk.policies.set(TENANT, SESSION, PolicyPatch(limit_tokens=950), by=Actor("t2", None), task_id="t2")
    ticket = await desk.ask("k1", 500, "t1")
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).shortage == Amount(400)
    await desk.ask("k2", 300, "t2")
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).shortage == Amount(900 + 500 + 300 - 1_000)


async def test_an_ask_that_fits_by_now_writes_nothing(desk: Desk) -> None:
    await desk.hold("k1", 500)
    await desk.policy(limit_tokens=2_000)
    # Without the check under the lock, approvers would be asked for what the gate admits.
    assert await desk.request("k1", 500) == Ticket("", FITS, None)
    assert await desk.pool.fetchval("select count(*) from approvals") == 0
    assert await desk.pool.fetchval("select count(*) from approval_waiters") == 0


async def test_a_key_whose_hold_has_ended_opens_nothing(desk: Desk) -> None:
    await desk.hold("k1", 500)
    await desk.ledger.release(TENANT, key="k1")
    # A late activity of a cancelled agent would leave a request without a waiting call.
    assert (await desk.request("k1", 500)).state == FITS
    assert (await desk.approvals.list(TENANT)).requests == ()


async def test_a_key_that_never_asked_the_gate_is_sent_there(desk: Desk) -> None:
    assert (await desk.request("unknown", 500)).state == FITS
    assert (await desk.approvals.list(TENANT)).requests == ()


async def test_a_scope_that_is_unused_or_off_the_path_is_an_error(desk: Desk) -> None:
    other = Scope.parse("session:s2")
    with pytest.raises(InvalidRequest, match="on which the ask draws"):
        await desk.approvals.request(TENANT, key="k", scope=other, path=path(), ask=Amount(5))
    with pytest.raises(NotFound, match="'session:s2'"):
        await desk.approvals.request(TENANT, key="k", scope=other, path=Path((other,)), ask=Amount(5))


async def test_each_window_has_a_request_of_its_own(desk: Desk) -> None:
    await desk.policy(window="day")
    await desk.spend(950)
    today = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(days=1))
    await desk.spend(951)
    tomorrow = await desk.ask("k2", 500)
    assert today.approval_id != tomorrow.approval_id
    await desk.decide(tomorrow)
    assert (await desk.policies.budget(TENANT, SESSION)).granted == Amount(451)


async def test_requests_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    await desk.policy(window="hour")
    tickets = []
    for hour in range(1, 4):
        desk.at(NOW + timedelta(hours=hour))
        await desk.spend(950 + hour)
        tickets.append(await desk.ask(f"k{hour}", 500))
    await desk.decide(tickets[2], choice=Choice.DENY)
    first = await desk.approvals.list(TENANT, limit=2)
    assert [request.approval_id for request in first.requests] == [t.approval_id for t in reversed(tickets[1:])]
    second = await desk.approvals.list(TENANT, limit=2, cursor=first.cursor)
    assert [request.approval_id for request in second.requests] == [tickets[0].approval_id]
    assert second.cursor is None
    denied = await desk.approvals.list(TENANT, ApprovalState.DENIED)
    assert [request.approval_id for request in denied.requests] == [tickets[2].approval_id]
    assert (await desk.approvals.list("another")).requests == ()


async def test_a_page_begins_only_after_a_request_of_the_tenant(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert (await desk.approvals.list(TENANT, cursor=ticket.approval_id)).requests == ()
    for tenant, cursor in ((TENANT, "unknown"), ("another", ticket.approval_id)):
        # An empty page would say that there are no more requests.
        with pytest.raises(InvalidRequest, match="cursor is not valid"):
            await desk.approvals.list(tenant, cursor=cursor)


async def test_a_call_that_joins_during_a_decision_is_woken_or_asks_again(desk: Desk, seed: int) -> None:
    """No waiting call is left behind in a closed request."""
    ticket = await desk.ask("k0", 500, "t0")
    await asyncio.gather(*(desk.hold(f"k{n}", 500, f"t{n}") for n in range(1, 8)))
    joined = asyncio.gather(*(desk.request(f"k{n}", 500, f"t{n}") for n in range(1, 8)))
    await asyncio.sleep(seed % 10 / 1_000)
    await desk.decide(ticket)
    tickets = await joined
    woken = {workflow for workflow, _ in await desk.wakeups()}
    for n, own in enumerate(tickets, start=1):
        waits_for_another = own.approval_id not in ("", ticket.approval_id)
        assert own.state == FITS or waits_for_another or f"task-t{n}/a1" in woken
    pending = (await desk.approvals.list(TENANT, ApprovalState.PENDING)).requests
    assert all(request.shortage != Amount() for request in pending)


async def test_a_request_that_meets_a_release_of_its_key_is_not_left_behind(desk: Desk) -> None:
    for n in range(10):
        await desk.hold(f"k{n}", 500)
        await asyncio.gather(desk.request(f"k{n}", 500), desk.ledger.release(TENANT, key=f"k{n}"))
        await desk.approvals.withdraw(TENANT, f"k{n}")
        assert (await desk.approvals.list(TENANT, ApprovalState.PENDING)).requests == ()


async def test_an_approval_of_a_label_lets_the_call_through_and_shows_the_label_among_its_scopes(desk: Desk) -> None:
    team = Scope.parse("tag:team=search")
    limited = PolicyPatch.parse({"limit_tokens": 100, "mode": "approval"})
    await desk.policies.set(TENANT, team, limited, by=Actor("test", None))
    asked = HoldRequest("k1", Path((Scope.parse("session:other"),), (team,)), Amount(150), model="gpt-4o")
    assert (await desk.ledger.hold(TENANT, asked)).gate.decisive.scope == team
    ticket = await desk.approvals.request(
        TENANT, key="k1", scope=team, path=asked.path, labels=asked.all_labels, ask=asked.ask
    )
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.scope, shown.shortage) == (team, Amount(50))
    assert shown.waiters[0].path == ("session:other", "tag:team=search")
    await desk.decide(ticket)
    assert (await desk.ledger.hold(TENANT, asked)).gate.verdict.admits
