"""Decisions on a real Postgres: exactly one counts, once, and its grant is spent through the gate."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from purser.budget.approvals import FITS, ApprovalState, Approver, Choice, Decided, DecisionRequest, Identity, Ticket
from purser.budget.errors import DecisionConflict, DecisionRefused, NotFound
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.settings import LedgerSettings
from tests.support.approvals import ALICE, BOB, NOW, SESSION, TENANT, Desk, open_desk, path


@pytest.fixture
async def desk(pool: Pool) -> AsyncIterator[Desk]:
    async with open_desk(pool) as desk:
        yield desk


async def test_approving_grants_the_shortage_and_wakes_the_agent(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert await desk.decide(ticket, note="a big customer") == Decided(ApprovalState.APPROVED, 0)
    assert await desk.grants() == [(400, 0)]
    assert await desk.wakeups() == [("task-t1/a1", "approved")]
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.state, shown.given, shown.decided_at) == (ApprovalState.APPROVED, Amount(400), NOW)
    (decision,) = shown.decisions
    assert (decision.approver, decision.identity, decision.amount) == ("alice", Identity.KEY, Amount(400))
    assert decision.note == "a big customer"
    assert [waiter.key for waiter in shown.waiters] == ["k1"]
    assert (await desk.hold("k1", 500)).gate.verdict.admits
    assert await desk.events() == ["pending", "approved"]


async def test_money_that_is_short_is_granted_as_money(desk: Desk) -> None:
    await desk.policy(limit_tokens=2_000, limit_nano_usd=70)
    ask = HoldRequest("k1", path(), Amount(500, 100))
    assert (await desk.ledger.hold(TENANT, ask)).gate.verdict is Verdict.ASK
    ticket = await desk.approvals.request(TENANT, key="k1", scope=SESSION, path=path(), ask=ask.ask)
    await desk.decide(ticket)
    assert await desk.grants() == [(0, 30)]
    assert (await desk.ledger.hold(TENANT, ask)).gate.verdict.admits


async def test_the_shortage_is_that_of_the_moment_of_the_decision(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.spend(60, "t3")
    await desk.decide(ticket)
    # Granting the shortage at the time of the request would leave the agent short again.
    assert await desk.grants() == [(460, 0)]


async def test_a_partial_grant_closes_the_request_and_a_call_still_short_opens_a_new_one(desk: Desk) -> None:
    first = await desk.ask("k1", 500)
    await desk.decide(first, grant_tokens=100)
    assert await desk.state(first) is ApprovalState.APPROVED
    second = await desk.ask("k1", 500)
    assert second.approval_id != first.approval_id
    assert (await desk.approvals.get(TENANT, second.approval_id)).shortage == Amount(300)
    await desk.decide(second, "d2")
    assert (await desk.hold("k1", 500)).gate.verdict.admits


async def test_a_denial_is_final_for_the_keys_that_waited_and_for_no_other(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert await desk.decide(ticket, choice=Choice.DENY) == Decided(ApprovalState.DENIED, 0)
    assert await desk.grants() == []
    assert await desk.wakeups() == [("task-t1/a1", "denied")]
    # A caller that polls would otherwise open a new request every second.
    assert await desk.ask("k1", 500) == Ticket(ticket.approval_id, "denied", ticket.deadline)
    assert (await desk.ask("k2", 500)).state == "pending"


async def test_the_same_decision_twenty_times_at_once_grants_once(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    answers = await asyncio.gather(*(desk.decide(ticket, "d1") for _ in range(20)))
    # Without the lock, or the unique decision id, each of them would grant.
    assert set(answers) == {Decided(ApprovalState.APPROVED, 0)}
    assert await desk.grants() == [(400, 0)]
    assert await desk.wakeups() == [("task-t1/a1", "approved")]


async def test_of_many_concurrent_deciders_one_decides(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    people = [Approver(f"person-{n}", None, ("approver",)) for n in range(5)]
    async with desk.pool.acquire() as other, other.transaction():
        # The first has to wait for the balance in the middle of its transaction until all have started.
        await other.execute("select 1 from balances for update")
        deciding = [asyncio.create_task(desk.decide(ticket, person.name, actor=person)) for person in people]
        await desk.until_waiting(len(people))
    answers = await asyncio.gather(*deciding, return_exceptions=True)
    # Without the lock on the scope each would see a pending request, and grant.
    assert await desk.grants() == [(400, 0)]
    refused = [answer for answer in answers if isinstance(answer, DecisionRefused)]
    assert [refusal.reason for refusal in refused] == ["closed"] * 4


@pytest.mark.parametrize("decision", [{"choice": Choice.DENY}, {"grant_tokens": 5_000}])
@pytest.mark.parametrize("cause", ["raised limit", "new window"])
async def test_a_decision_about_calls_that_fit_by_now_withdraws_the_request_instead(
    desk: Desk, decision: dict[str, Any], cause: str
) -> None:
    if cause == "raised limit":
        ticket = await desk.ask("k1", 500)
        await desk.policy(limit_tokens=1_400)
    else:
        await desk.policy(window="day")
        await desk.spend(950)
        ticket = await desk.ask("k1", 500)
        desk.at(NOW + timedelta(days=1))
    for _ in range(2):
        with pytest.raises(DecisionRefused, match="its calls fit by now") as refused:
            await desk.decide(ticket, **decision)
        assert refused.value.reason == "closed"
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.state, shown.decisions, await desk.grants()) == (ApprovalState.WITHDRAWN, (), [])
    assert await desk.wakeups() == [("task-t1/a1", FITS)]
    assert (await desk.hold("k1", 500)).gate.verdict.admits


async def test_a_decision_id_is_bound_to_one_decision(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.decide(ticket, "d1", grant_tokens=100)
    for fields in ({"grant_tokens": 101}, {"choice": Choice.DENY}, {"grant_tokens": 100, "actor": BOB}):
        with pytest.raises(DecisionConflict, match="'d1'"):
            await desk.decide(ticket, "d1", **fields)
    assert await desk.decide(ticket, "d1", grant_tokens=100) == Decided(ApprovalState.APPROVED, 0)


async def test_a_decision_id_is_bound_to_one_request_even_if_two_are_decided_at_once(desk: Desk) -> None:
    here, there = await desk.ask("k1", 500), await desk.ask_elsewhere("session:s2")
    async with desk.pool.acquire() as other, other.transaction():
        # The first decision has to wait for the balance in the middle of its transaction until the second has started.
        await other.execute("select 1 from balances for update")
        first = asyncio.create_task(desk.decide(here, "same"))
        await desk.until_waiting(1)
        second = asyncio.create_task(desk.decide(there, "same"))
        await desk.until_waiting(2)
    assert await first == Decided(ApprovalState.APPROVED, 0)
    # Their locks differ and neither sees the other: only the unique decision id keeps the second from granting.
    with pytest.raises(DecisionConflict):
        await second
    assert await desk.grants() == [(400, 0)]


async def test_two_people_are_needed_above_the_amount_and_each_is_recorded(desk: Desk) -> None:
    await desk.policy(approval={"two_people_above_tokens": 300})
    ticket = await desk.ask("k1", 500)
    assert await desk.decide(ticket, "d1") == Decided(ApprovalState.PENDING, 1)
    assert (await desk.grants(), await desk.wakeups()) == ([], [])
    with pytest.raises(DecisionRefused) as refused:
        await desk.decide(ticket, "d2")
    assert refused.value.reason == "same_person"
    assert await desk.decide(ticket, "d3", actor=BOB, grant_tokens=350) == Decided(ApprovalState.APPROVED, 0)
    assert await desk.grants() == [(350, 0)]
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert [(d.approver, d.amount) for d in shown.decisions] == [("alice", Amount(400)), ("bob", Amount(350))]
    # The answer to a decision is stored: alice's is repeated although the request is closed by now.
    assert await desk.decide(ticket, "d1") == Decided(ApprovalState.PENDING, 1)


async def test_what_one_person_has_granted_in_the_window_counts_towards_the_amount(desk: Desk) -> None:
    await desk.policy(approval={"two_people_above_tokens": 100})
    assert (await desk.decide(await desk.ask("k1", 500), "d0", grant_tokens=60)).state is ApprovalState.APPROVED
    second = await desk.ask("k1", 500)
    assert await desk.decide(second, "d1", grant_tokens=60) == Decided(ApprovalState.PENDING, 1)
    assert await desk.decide(second, "d2", actor=BOB, grant_tokens=60) == Decided(ApprovalState.APPROVED, 0)
    # What two have agreed to, and what another has granted, is not alice's alone.
    third = await desk.ask("k1", 500)
    assert (await desk.decide(third, "d3", actor=BOB, grant_tokens=100)).state is ApprovalState.APPROVED
    fourth = await desk.ask("k1", 500)
    assert (await desk.decide(fourth, "d4", grant_tokens=40)).state is ApprovalState.APPROVED
    assert await desk.grants() == [(60, 0), (60, 0), (100, 0), (40, 0)]


async def test_a_grant_that_has_ended_counts_no_more(desk: Desk) -> None:
    await desk.policy(approval={"two_people_above_tokens": 100})
    soon = NOW + timedelta(minutes=1)
    assert (await desk.decide(await desk.ask("k1", 500), "d1", grant_tokens=100, until=soon)).decisions_needed == 0
    again = await desk.ask("k1", 500)
    desk.at(soon)
    assert (await desk.decide(again, "d2", grant_tokens=100)).state is ApprovalState.APPROVED


async def test_a_refused_decision_leaves_no_trace_and_may_be_made_by_another(desk: Desk) -> None:
    await desk.policy(approval={"not_submitter": True})
    ticket = await desk.ask("k1", 500, submitter="alice")
    for actor, reason in (
        (ALICE, "submitter"),
        (Approver("vic", None, ("viewer",)), "role"),
        (Approver("bob", None, ("approver",), Identity.ASSERTED), "unsigned"),
    ):
        with pytest.raises(DecisionRefused) as refused:
            await desk.decide(ticket, actor=actor)
        assert refused.value.reason == reason
    assert await desk.pool.fetchval("select count(*) from decisions") == 0
    assert (await desk.decide(ticket, actor=BOB)).state is ApprovalState.APPROVED


async def test_self_asserted_names_may_be_trusted_by_setting(desk: Desk) -> None:
    await desk.policy(approval={"not_submitter": True})
    ticket = await desk.ask("k1", 500)
    trusting = Approvals(desk.pool, LedgerSettings(), trust_temporal_identity=True, now=NOW)
    asserted = Approver("bob", None, ("approver",), Identity.ASSERTED)
    await trusting.record_decision(TENANT, DecisionRequest(ticket.approval_id, "d1", Choice.APPROVE), asserted)
    (decision,) = (await desk.approvals.get(TENANT, ticket.approval_id)).decisions
    assert decision.identity is Identity.ASSERTED


async def test_rules_are_those_of_the_moment_when_the_request_was_opened(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.policy(approval={"roles": ["admin"]})
    assert (await desk.decide(ticket)).state is ApprovalState.APPROVED


async def test_unknown_requests_and_those_of_other_tenants_are_not_found(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    with pytest.raises(NotFound, match="'nothing'"):
        await desk.approvals.record_decision(TENANT, DecisionRequest("nothing", "d1", Choice.APPROVE), ALICE)
    with pytest.raises(NotFound):
        await desk.approvals.record_decision(
            "another", DecisionRequest(ticket.approval_id, "d1", Choice.APPROVE), ALICE
        )
    with pytest.raises(NotFound):
        await desk.approvals.get("another", ticket.approval_id)


async def test_a_grant_with_an_end_gives_headroom_until_then(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.decide(ticket, until=NOW + timedelta(hours=1))
    desk.at(NOW + timedelta(minutes=59))
    assert (await desk.hold("k1", 500)).gate.verdict.admits
    await desk.ledger.release(TENANT, key="k1")
    desk.at(NOW + timedelta(hours=1))
    again = await desk.ask("k2", 500)
    assert (await desk.approvals.get(TENANT, again.approval_id)).shortage == Amount(400)
    ended = await desk.pool.fetch("select d_granted_tokens, granted_tokens from entries where kind = 'grant_ended'")
    assert [tuple(row) for row in ended] == [(-400, 0)]


async def test_an_overdue_grant_that_has_not_been_ended_is_no_headroom(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.decide(ticket, until=NOW + timedelta(hours=1), grant_tokens=50)
    waiting = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(hours=1))
    # Counting it would show 350, and grant 50 too few.
    assert (await desk.approvals.get(TENANT, waiting.approval_id)).shortage == Amount(400)
