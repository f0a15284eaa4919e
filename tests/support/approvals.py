"""A desk where asks of one short session meet the people who decide about them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from purser.activities.runtime.stores import Stores
from purser.budget.approvals import ApprovalState, Approver, Choice, Decided, DecisionRequest, Ticket
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest, Report
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.approvals.reminders import Reminders
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope
from purser.budget.usage import Usage
from tests.support.actors import TESTER
from tests.support.ledger import until_waiting, waiting_for_locks

TENANT = "default"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SESSION = Scope.parse("session:s1")
ALICE = Approver("alice", None, ("approver",))
BOB = Approver("bob", None, ("approver",))


@dataclass
class Desk:
    """A ledger at one moment, with a session of 1,000 tokens in approval mode of which 900 are spent."""

    pool: Pool
    ledger: Ledger
    policies: Policies
    approvals: Approvals
    reminders: Reminders

    def at(self, now: datetime) -> None:
        """Sets the clock of every part."""
        self.ledger.now = self.policies.now = self.approvals.now = self.reminders.now = now

    async def policy(self, **patch: Any) -> None:
        """Changes the stored policy of the session."""
        await self.policies.set(TENANT, SESSION, PolicyPatch.parse(patch), by=TESTER)

    async def spend(self, tokens: int, task: str = "t1") -> None:
        """Holds and settles; each amount once a test."""
        answer = await self.hold(f"spend-{tokens}", tokens, task)
        assert answer.hold_id
        await self.ledger.settle(TENANT, answer.hold_id, 1, Report(Usage(input=tokens), 0))

    async def hold(self, key: str, tokens: int, task: str = "t1") -> HoldAnswer:
        """Asks the gate."""
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
            vouched=True,
            workflow_id=f"task-{task}/a1",
        )

    async def ask(self, key: str, tokens: int, task: str = "t1", submitter: str | None = "sam") -> Ticket:
        """Asks the gate, is told to ask a person, and does."""
        answer = await self.hold(key, tokens, task)
        assert answer.gate.verdict is Verdict.ASK
        assert answer.gate.decisive.scope == SESSION
        return await self.request(key, tokens, task, submitter)

    async def ask_elsewhere(self, scope: str, **patch: Any) -> Ticket:
        """Is 4 tokens short in another session, whose limit is 1."""
        short = Scope.parse(scope)
        limited = PolicyPatch.parse({"limit_tokens": 1, "mode": "approval"} | patch)
        await self.policies.set(TENANT, short, limited, by=TESTER)
        await self.ledger.hold(TENANT, HoldRequest(scope, Path((short,)), Amount(5)))
        return await self.approvals.request(TENANT, key=scope, scope=short, path=Path((short,)), ask=Amount(5))

    async def decide(
        self,
        ticket: Ticket,
        decision_id: str = "d1",
        choice: Choice = Choice.APPROVE,
        actor: Approver = ALICE,
        **fields: Any,
    ) -> Decided:
        """Records a decision, alice's approval unless told otherwise."""
        wanted = DecisionRequest(ticket.approval_id, decision_id, choice, **fields)
        return await self.approvals.record_decision(TENANT, wanted, actor)

    async def state(self, ticket: Ticket) -> ApprovalState:
        """Where a request stands."""
        return (await self.approvals.get(TENANT, ticket.approval_id)).state

    async def grants(self) -> list[tuple[int, int]]:
        """Tokens and nano-dollars of every grant."""
        return [tuple(row) for row in await self.pool.fetch("select tokens, nano from grants order by grant_id")]

    async def waiting_for_locks(self) -> int:
        """Connections that wait for others."""
        return await waiting_for_locks(self.pool)

    async def until_waiting(self, count: int) -> None:
        """Returns once this many connections wait for others."""
        await until_waiting(self.pool, count)

    async def wakeups(self) -> list[tuple[str, str]]:
        """Workflows that are told, with the state that they are told."""
        rows = await self.pool.fetch("select workflow_id, signal, payload from outbox order by workflow_id, outbox_id")
        assert {row["signal"] for row in rows} <= {"approval_decided"}
        return [(row["workflow_id"], row["payload"]["state"]) for row in rows]

    async def events(self) -> list[str]:
        """States that listeners were told, in order."""
        rows = await self.pool.fetch("select data from events where kind = 'approval' order by event_id")
        return [row["data"]["state"] for row in rows]


def path(task: str = "t1") -> Path:
    """Of an agent of a task of the session."""
    return Path.parse([str(SESSION), f"task:{task}", f"agent:{task}/a1"])


@asynccontextmanager
async def open_desk(pool: Pool) -> AsyncIterator[Desk]:
    """A desk at `NOW`; the audit is clean when it closes."""
    stores = Stores(ledger=Ledger(pool, LedgerSettings()), redaction=())
    desk = Desk(pool, stores.ledger, stores.policies, stores.approvals, stores.reminders)
    desk.at(NOW)
    await desk.policy(limit_tokens=1_000, mode="approval")
    await desk.spend(900)
    yield desk
    assert (await audit(pool)).differences == ()
