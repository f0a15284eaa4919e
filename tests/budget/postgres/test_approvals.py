"""Approvals on a real Postgres: requests, decisions, grants, deadlines, and what happens when they meet."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from budget.approvals import FITS, Actor, ApprovalState, Choice, Decided, Identity, Ticket
from budget.decisions import Amount, Verdict
from budget.errors import DecisionConflict, DecisionRefused, InvalidRequest, NotFound
from budget.holds import HoldAnswer, HoldRequest, Report
from budget.policies import PolicyPatch
from budget.postgres.approvals import Approvals
from budget.postgres.audit import audit
from budget.postgres.connection import Pool
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.postgres.settings import LedgerSettings
from budget.scopes import Path, Scope
from budget.usage import Usage

TENANT = "default"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SESSION = Scope.parse("session:s1")
ALICE = Actor("alice", ("approver",))
BOB = Actor("bob", ("approver",))


@dataclass
class Desk:
    """A ledger at one moment, with a session of 1,000 tokens in approval mode of which 900 are spent."""

    pool: Pool
    ledger: Ledger
    policies: Policies
    approvals: Approvals

    def at(self, now: datetime) -> None:
        """Sets the clock of every part."""
        self.ledger.now = self.policies.now = self.approvals.now = now

    async def policy(self, **patch: Any) -> None:
        await self.policies.set(TENANT, SESSION, PolicyPatch.parse(patch), by="test")

    async def spend(self, tokens: int, task: str = "t1") -> None:
        answer = await self.hold(f"spend-{tokens}", tokens, task)
        assert answer.hold_id
        await self.ledger.settle(TENANT, answer.hold_id, 1, Report(Usage(input=tokens), 0))

    async def hold(self, key: str, tokens: int, task: str = "t1") -> HoldAnswer:
        return await self.ledger.hold(TENANT, HoldRequest(key, path(task), Amount(tokens)))

    async def request(self, key: str, tokens: int, task: str = "t1", submitter: str | None = "sam") -> Ticket:
        """Joins the session's request without asking the gate."""
        return await self.approvals.request(
            TENANT,
            key=key,
            scope=SESSION,
            path=path(task),
            ask=Amount(tokens),
            agent_id="a1",
            submitter=submitter,
            workflow_id=f"task-{task}/a1",
        )

    async def ask(self, key: str, tokens: int, task: str = "t1", submitter: str | None = "sam") -> Ticket:
        """Asks the gate, is told to ask a person, and does."""
        answer = await self.hold(key, tokens, task)
        assert answer.decision.verdict is Verdict.ASK
        assert answer.decision.decisive.scope == SESSION
        return await self.request(key, tokens, task, submitter)

    async def decide(
        self,
        ticket: Ticket,
        decision_id: str = "d1",
        choice: Choice = Choice.APPROVE,
        actor: Actor = ALICE,
        **fields: Any,
    ) -> Decided:
        return await self.approvals.record_decision(TENANT, ticket.approval_id, decision_id, choice, actor, **fields)

    async def state(self, ticket: Ticket) -> ApprovalState:
        return (await self.approvals.get(TENANT, ticket.approval_id)).state

    async def grants(self) -> list[tuple[int, int]]:
        return [tuple(row) for row in await self.pool.fetch("select tokens, nano from grants order by grant_id")]

    async def wakeups(self) -> list[tuple[str, str]]:
        """Workflows that are told, with the state that they are told."""
        rows = await self.pool.fetch("select workflow_id, signal, payload from outbox order by workflow_id, outbox_id")
        assert {row["signal"] for row in rows} <= {"approval_decided"}
        return [(row["workflow_id"], row["payload"]["state"]) for row in rows]

    async def events(self) -> list[str]:
        rows = await self.pool.fetch("select data from events where kind = 'approval' order by event_id")
        return [row["data"]["state"] for row in rows]


def path(task: str = "t1") -> Path:
    return Path.parse([str(SESSION), f"task:{task}", f"agent:{task}/a1"])


@pytest.fixture
async def desk(pool: Pool) -> AsyncIterator[Desk]:
    settings = LedgerSettings()
    made = Desk(pool, Ledger(pool, settings), Policies(pool, settings), Approvals(pool, settings))
    made.at(NOW)
    await made.policy(limit_tokens=1_000, mode="approval")
    await made.spend(900)
    yield made
    assert (await audit(pool)).differences == ()


# --- requests --------------------------------------------------------------------------------------------------------


async def test_a_short_ask_opens_a_request_that_shows_what_a_person_needs(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert (ticket.state, ticket.deadline) == ("pending", NOW + timedelta(minutes=30))
    shown = await desk.approvals.get(TENANT, ticket.approval_id)
    assert (shown.scope, shown.window_start, shown.limit_tokens, shown.spent) == (SESSION, None, 1_000, Amount(900))
    assert (shown.asked, shown.shortage, shown.decisions_needed) == (Amount(400), Amount(400), 1)
    (waiter,) = shown.waiters
    assert (waiter.task_id, waiter.agent_id, waiter.submitter, waiter.ask) == ("t1", "a1", "sam", Amount(500))
    assert waiter.since == NOW
    assert await desk.events() == ["pending"]


async def test_the_same_key_gets_the_same_ticket_and_waits_once(desk: Desk) -> None:
    first = await desk.ask("k1", 500)
    assert await desk.ask("k1", 500) == first
    assert (await desk.approvals.get(TENANT, first.approval_id)).shortage == Amount(400)
    # A caller that polls would otherwise tell every listener again and again.
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
    assert (await desk.hold("k1", 500, "t1")).decision.verdict.admits
    assert (await desk.hold("k2", 300, "t2")).decision.verdict.admits


async def test_many_that_come_at_once_still_share_one_request(desk: Desk) -> None:
    await asyncio.gather(*(desk.hold(f"k{n}", 500, f"t{n}") for n in range(20)))
    # Without the lock on the scope, sums miss waiters that join at the same time.
    tickets = await asyncio.gather(*(desk.request(f"k{n}", 500, f"t{n}") for n in range(20)))
    assert len({ticket.approval_id for ticket in tickets}) == 1
    assert (await desk.approvals.get(TENANT, tickets[0].approval_id)).asked == Amount(900 + 20 * 500 - 1_000)


async def test_the_tightest_limit_of_the_waiting_tasks_counts(desk: Desk) -> None:
    await desk.policies.set(TENANT, SESSION, PolicyPatch(limit_tokens=950), by="t2", task_id="t2")
    ticket = await desk.ask("k1", 500, "t1")
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).shortage == Amount(400)
    await desk.ask("k2", 300, "t2")
    assert (await desk.approvals.get(TENANT, ticket.approval_id)).shortage == Amount(900 + 500 + 300 - 950)


async def test_an_ask_that_fits_by_now_writes_nothing(desk: Desk) -> None:
    await desk.hold("k1", 500)
    await desk.policy(limit_tokens=2_000)
    # Without the check under the lock, people would be asked for what the gate admits.
    assert await desk.request("k1", 500) == Ticket("", FITS, None)
    assert await desk.pool.fetchval("select count(*) from approvals") == 0
    assert await desk.pool.fetchval("select count(*) from approval_waiters") == 0


async def test_a_key_whose_hold_has_ended_opens_nothing(desk: Desk) -> None:
    await desk.hold("k1", 500)
    await desk.ledger.release(TENANT, key="k1")
    # A straggling activity of a cancelled agent would leave a request that nobody waits for.
    assert (await desk.request("k1", 500)).state == FITS
    assert (await desk.approvals.list(TENANT)).requests == ()


async def test_a_key_that_never_asked_the_gate_is_sent_there(desk: Desk) -> None:
    assert (await desk.request("unknown", 500)).state == FITS
    assert (await desk.approvals.list(TENANT)).requests == ()


async def test_a_scope_that_nobody_used_or_that_is_off_the_path_is_an_error(desk: Desk) -> None:
    other = Scope.parse("session:s2")
    with pytest.raises(InvalidRequest, match="not on the path"):
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
    await desk.decide(tickets[0], choice=Choice.DENY)
    first = await desk.approvals.list(TENANT, limit=2)
    assert [request.approval_id for request in first.requests] == [t.approval_id for t in reversed(tickets[1:])]
    second = await desk.approvals.list(TENANT, limit=2, cursor=first.cursor)
    assert [request.approval_id for request in second.requests] == [tickets[0].approval_id]
    assert second.cursor is None
    denied = await desk.approvals.list(TENANT, ApprovalState.DENIED)
    assert [request.approval_id for request in denied.requests] == [tickets[0].approval_id]
    assert (await desk.approvals.list("another")).requests == ()


# --- decisions -------------------------------------------------------------------------------------------------------


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
    assert (await desk.hold("k1", 500)).decision.verdict.admits
    assert await desk.events() == ["pending", "approved"]


async def test_the_shortage_is_that_of_the_moment_of_the_decision(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.spend(60, "t3")
    await desk.decide(ticket)
    # Granting what was short when the request was opened would leave the agent short again.
    assert await desk.grants() == [(460, 0)]


async def test_a_partial_grant_closes_the_request_and_who_is_still_short_opens_a_new_one(desk: Desk) -> None:
    first = await desk.ask("k1", 500)
    await desk.decide(first, grant_tokens=100)
    assert await desk.state(first) is ApprovalState.APPROVED
    second = await desk.ask("k1", 500)
    assert second.approval_id != first.approval_id
    assert (await desk.approvals.get(TENANT, second.approval_id)).shortage == Amount(300)
    await desk.decide(second, "d2")
    assert (await desk.hold("k1", 500)).decision.verdict.admits


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


async def test_of_many_people_who_decide_at_once_one_does(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    people = [Actor(f"person-{n}", ("approver",)) for n in range(10)]
    answers = await asyncio.gather(
        *(desk.decide(ticket, f"d{n}", actor=person) for n, person in enumerate(people)), return_exceptions=True
    )
    # Without the lock each would see a pending request and grant.
    assert await desk.grants() == [(400, 0)]
    refused = [answer for answer in answers if isinstance(answer, DecisionRefused)]
    assert [refusal.reason for refusal in refused] == ["closed"] * 9


async def test_a_decision_id_stands_for_one_decision(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.decide(ticket, "d1", grant_tokens=100)
    for fields in ({"grant_tokens": 101}, {"choice": Choice.DENY}, {"grant_tokens": 100, "actor": BOB}):
        with pytest.raises(DecisionConflict, match="'d1'"):
            await desk.decide(ticket, "d1", **fields)
    assert await desk.decide(ticket, "d1", grant_tokens=100) == Decided(ApprovalState.APPROVED, 0)


async def test_a_decision_id_stands_for_one_request_even_if_two_are_decided_at_once(desk: Desk) -> None:
    tickets = [await desk.ask("k1", 500)]
    for n in (2, 3):
        scope = Scope.parse(f"session:s{n}")
        await desk.policies.set(TENANT, scope, PolicyPatch.parse({"limit_tokens": 1, "mode": "approval"}), by="test")
        own = Path((scope,))
        await desk.ledger.hold(TENANT, HoldRequest(f"k{n}", own, Amount(5)))
        tickets.append(await desk.approvals.request(TENANT, key=f"k{n}", scope=scope, path=own, ask=Amount(5)))
    answers = await asyncio.gather(*(desk.decide(ticket, "same") for ticket in tickets), return_exceptions=True)
    # Their locks differ, so only the unique decision id keeps two of the three from granting.
    assert len(await desk.grants()) == 1
    assert sorted(type(answer).__name__ for answer in answers) == ["Decided", "DecisionConflict", "DecisionConflict"]


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
    # The answer of a decision is kept: alice's repeats although the request is closed by now.
    assert await desk.decide(ticket, "d1") == Decided(ApprovalState.PENDING, 1)


async def test_a_refused_decision_leaves_no_trace_and_may_be_made_by_another(desk: Desk) -> None:
    await desk.policy(approval={"not_submitter": True})
    ticket = await desk.ask("k1", 500, submitter="alice")
    for actor, reason in (
        (ALICE, "submitter"),
        (Actor("vic", ("viewer",)), "role"),
        (Actor("bob", ("approver",), Identity.ASSERTED), "unauthenticated"),
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
    asserted = Actor("bob", ("approver",), Identity.ASSERTED)
    await trusting.record_decision(TENANT, ticket.approval_id, "d1", Choice.APPROVE, asserted)
    (decision,) = (await desk.approvals.get(TENANT, ticket.approval_id)).decisions
    assert decision.identity is Identity.ASSERTED


async def test_rules_are_those_of_the_moment_when_the_request_was_opened(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.policy(approval={"roles": ["cfo"]})
    assert (await desk.decide(ticket)).state is ApprovalState.APPROVED


async def test_unknown_requests_and_those_of_other_tenants_are_not_found(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    with pytest.raises(NotFound, match="'nothing'"):
        await desk.approvals.record_decision(TENANT, "nothing", "d1", Choice.APPROVE, ALICE)
    with pytest.raises(NotFound):
        await desk.approvals.record_decision("another", ticket.approval_id, "d1", Choice.APPROVE, ALICE)
    with pytest.raises(NotFound):
        await desk.approvals.get("another", ticket.approval_id)


async def test_a_grant_with_an_end_gives_headroom_until_then(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.decide(ticket, until=NOW + timedelta(hours=1))
    desk.at(NOW + timedelta(minutes=59))
    assert (await desk.hold("k1", 500)).decision.verdict.admits
    await desk.ledger.release(TENANT, key="k1")
    desk.at(NOW + timedelta(hours=1))
    again = await desk.ask("k2", 500)
    assert (await desk.approvals.get(TENANT, again.approval_id)).shortage == Amount(400)
    ended = await desk.pool.fetch("select d_granted_tokens, granted_tokens from entries where kind = 'grant_ended'")
    assert [tuple(row) for row in ended] == [(-400, 0)]


async def test_an_overdue_grant_that_nobody_ended_yet_is_no_headroom(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    await desk.decide(ticket, until=NOW + timedelta(hours=1), grant_tokens=50)
    waiting = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(hours=1))
    # Counting it would tell people 350, and grant 50 too few.
    assert (await desk.approvals.get(TENANT, waiting.approval_id)).shortage == Amount(400)


# --- deadlines and withdrawals ---------------------------------------------------------------------------------------


async def test_a_request_that_nobody_decides_expires(desk: Desk) -> None:
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
    assert (await desk.hold("k1", 500)).decision.verdict.admits


async def test_many_sweepers_at_once_end_a_request_once(desk: Desk) -> None:
    await desk.policy(approval={"on_expiry": "grant"})
    await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=30))
    async with desk.pool.acquire() as other, other.transaction():
        # The first sweeper has to wait in the middle of its work, for the balance, until the others have come.
        await other.execute("select 1 from balances for update")
        sweepers = [asyncio.create_task(desk.approvals.expire_due()) for _ in range(4)]
        # Without the lock on the scope they would all wait here, and grant one after the other.
        done, _ = await asyncio.wait(sweepers, timeout=1)
    assert sum(await asyncio.gather(*sweepers)) == 1
    assert len(done) == 3
    assert await desk.grants() == [(400, 0)]


async def test_a_decision_and_the_deadline_at_once_leave_one_of_the_two(desk: Desk) -> None:
    await desk.policy(approval={"on_expiry": "grant"})
    ticket = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=30))
    await asyncio.gather(desk.decide(ticket), *(desk.approvals.expire_due() for _ in range(4)), return_exceptions=True)
    assert await desk.grants() == [(400, 0)]
    assert await desk.wakeups() == [("task-t1/a1", "approved")]


async def test_who_leaves_is_no_longer_counted_and_the_last_one_closes_the_request(desk: Desk) -> None:
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
    # Nobody is told: those who left know.
    assert await desk.wakeups() == []


async def test_who_left_may_come_back(desk: Desk) -> None:
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


async def test_a_raised_limit_wakes_those_who_wait(desk: Desk) -> None:
    ticket = await desk.ask("k1", 500)
    assert await desk.approvals.expire_due() == 0
    await desk.policy(limit_tokens=1_400)
    # Else the agent would wait for a person, and be refused at the deadline, although it fits.
    assert await desk.approvals.expire_due() == 1
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN
    assert await desk.wakeups() == [("task-t1/a1", FITS)]
    assert (await desk.hold("k1", 500)).decision.verdict.admits


async def test_a_new_window_wakes_those_who_wait_for_the_old_one(desk: Desk) -> None:
    await desk.policy(window="hour")
    desk.at(NOW + timedelta(minutes=45))
    await desk.spend(950)
    ticket = await desk.ask("k1", 500)
    desk.at(NOW + timedelta(minutes=59))
    assert await desk.approvals.expire_due() == 0
    desk.at(NOW + timedelta(minutes=60))
    assert await desk.approvals.expire_due() == 1
    assert await desk.state(ticket) is ApprovalState.WITHDRAWN
    assert (await desk.hold("k1", 500)).decision.verdict.admits


# --- races -----------------------------------------------------------------------------------------------------------


async def test_whoever_joins_while_a_decision_is_made_is_woken_or_asks_again(desk: Desk, seed: int) -> None:
    """Nobody is left behind in a request that is closed."""
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
