"""Approval requests, their decisions and the resulting grants: each operation is one transaction."""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from purser.budget.approval_rules import Outcome, closed, expire, judge
from purser.budget.approvals import (
    FITS,
    ApprovalPage,
    ApprovalRequest,
    ApprovalState,
    Approver,
    Choice,
    Decided,
    DecisionRequest,
    Identity,
    Ticket,
)
from purser.budget.errors import BeyondCounting, DecisionConflict, InvalidRequest, NotFound
from purser.budget.gate import Amount
from purser.budget.policies.fields import OnExpiry
from purser.budget.postgres.approvals.each import each
from purser.budget.postgres.approvals.requests import read_requests
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch, retrying, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.events.outbox import put_to_each
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope

_SQL = load("purser.budget.postgres.approvals", "approvals.sql")
DECIDED = "approval_decided"
"""The signal that wakes a waiting workflow, with `approval_id` and `state`."""
PRIVATE = ("approval_id", "choice", "note")
"""Fields that events and the change log omit: free text, and what both state anyway."""
SWEEPER = Approver("sweeper", None, (), Identity.SWEEPER)
_START = (datetime.min.replace(tzinfo=UTC), "")
"""Deadline and id before those of every request."""
# States that the same key gets again. After a withdrawal, or an approval that left it short, it may join anew.
STICKY = (ApprovalState.PENDING, ApprovalState.DENIED, ApprovalState.EXPIRED)


class Approvals:
    """Approval requests of all tenants."""

    def __init__(
        self,
        pool: Pool,
        settings: LedgerSettings,
        *,
        trust_temporal_identity: bool = False,
        now: datetime | None = None,
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        settings: defaults by kind, approval rules included.
        trust_temporal_identity: whether decisions under asserted names count.
        now: replaces the server's clock; for tests of deadlines and windows.
        """
        self._pool = pool
        self._settings = settings
        self._trust = trust_temporal_identity
        self._looked_at = _START
        self.now = now

    async def request(
        self,
        tenant: str,
        *,
        key: str,
        scope: Scope,
        path: Path,
        ask: Amount,
        labels: Sequence[Scope] = (),
        agent_id: str = "",
        submitter: str | None = None,
        submitted_by: str | None = None,
        vouched: bool = False,
        workflow_id: str | None = None,
    ) -> Ticket:
        """Joins the pending request of a short scope, or opens one; the same key gets the same ticket.

        A key whose request was denied or expired always gets that state; after an approval that left it short it joins
        anew.

        Args:
            tenant: tenant of the ledger.
            key: the hold key to which the gate gave the verdict `ask`.
            scope: the scope that is short.
            path: the scopes of the ask.
            ask: the amount asked for.
            labels: all labels of the ask.
            agent_id: agent of the task on the path, for display.
            submitter: submitter that the task names, for display.
            submitted_by: name of the key that submitted the task, for rules that bar the submitter from deciding.
            vouched: whether that key may act for others: then those rules bar `submitter` too.
            workflow_id: the workflow to wake; `None` for a caller that polls.

        Raises:
            InvalidRequest: the ask does not draw on the scope.
            NotFound: the gate has never been asked for this scope.
        """
        defaults = self._settings.defaults_json
        rules = self._settings.defaults[scope.kind].approval.to_json()

        async def step() -> Ticket:
            async with self._transaction() as own:
                drawn = await own.fetchval(_SQL["drawn"], tenant, path.texts(), list(map(str, labels)))
                if str(scope) not in drawn and scope not in labels:
                    raise InvalidRequest(
                        f"scope {str(scope)!r} is not one of {drawn!r}, on which the ask draws: name the short one"
                    )
                lock = await own.fetchrow(_SQL["lock_scope"], tenant, str(scope.kind), scope.id, self.now)
                if lock is None:
                    raise NotFound(f"scope {str(scope)!r} has never been asked for anything: ask the gate first")
                latest = await own.fetchrow(_SQL["latest"], tenant, key, lock["scope_id"])
                if latest is not None and latest["state"] in STICKY:
                    return Ticket(*latest)
                # In a savepoint: an ask that turns out to fit leaves no rows.
                joining = own.transaction()
                await joining.start()
                fresh = str(uuid.uuid4())
                approval_id: str = await own.fetchval(
                    _SQL["join"], fresh, tenant, lock["scope_id"], defaults, rules, key, path.task_id(),
                    agent_id, submitter, ask.tokens, ask.nano_usd, lock["now"], workflow_id, submitted_by, vouched,
                    drawn,
                )  # fmt: skip
                request = await self._request(own, tenant, approval_id)
                if not request.current or request.missing(ask) == Amount():
                    await joining.rollback()
                    return Ticket("", FITS, None)
                await joining.commit()
                await self._update_shortage(
                    own, tenant, request, lock["now"], "opened" if approval_id == fresh else "joined"
                )
                return Ticket(approval_id, request.state, request.deadline)

        return await retrying(step)

    async def record_decision(self, tenant: str, wanted: DecisionRequest, actor: Approver) -> Decided:
        """Decides a request: the decision, its grant and the signals to waiting workflows are one transaction.

        Repeating a decision, by its id, gets the same answer and has no effect. A request that no call needs any more
        is withdrawn instead, as the sweeper would soon do.

        Raises:
            InvalidRequest, NotFound
            DecisionRefused: the rules of the request forbid it, or the request is closed.
            DecisionConflict: the decision id is bound to another decision.
        """
        decided = await retrying(partial(self._decide, tenant, wanted, actor))
        if decided.state is ApprovalState.WITHDRAWN:
            # Only raised here: an error within the transaction would undo the withdrawal.
            raise closed(wanted.approval_id, decided.state)
        return decided

    async def expire_due(self, limit: int = 100) -> int:
        """Ends requests whose deadline has passed, and those of the next `limit` that are moot; returns how many.

        Each call looks at those behind the ones that the last call looked at, so that all have their turn. Any number
        of processes may call this at the same time.
        """
        async with connected(self._pool, None) as own:
            due = await own.fetch(_SQL["due"], limit, self.now)
            page = await own.fetch(_SQL["pending"], limit, self.now, *self._looked_at)
            self._looked_at = (page[-1]["deadline"], page[-1]["approval_id"]) if len(page) == limit else _START
            ending = [(found["tenant"], found["approval_id"]) for found in due]
            for tenant, of_tenant in groupby(sorted(page, key=itemgetter("tenant")), itemgetter("tenant")):
                pending = list(of_tenant)
                requests = await self._read(own, tenant, [found["approval_id"] for found in pending], waiters=False)
                ending += [(tenant, request.approval_id) for request in requests if request.ends(pending[0]["now"])]
        return await each(self._end, dict.fromkeys(ending))

    async def withdraw(self, tenant: str, key: str, *, of_workflow: bool = True) -> Sequence[str]:
        """Stops waiting for a key; a request without any waiting call left is withdrawn.

        Args:
            tenant, key: the key of the calls.
            of_workflow: whether the wait of a workflow ends too. The workflow is not told, so only it may ask for this.

        Returns:
            The ids of the requests for which it has waited.
        """
        waiting = [found["approval_id"] for found in await fetch(self._pool, _SQL["waiting"], tenant, key, of_workflow)]
        for approval_id in waiting:
            await retrying(partial(self._leave, tenant, approval_id, key))
        return waiting

    async def waiting_of_task(self, tenant: str, task_id: str, agent_id: str | None = None) -> Sequence[str]:
        """Keys that wait for a decision: those of a task, or of one of its agents."""
        return [found["key"] for found in await fetch(self._pool, _SQL["waiting_of_task"], tenant, task_id, agent_id)]

    async def get(self, tenant: str, approval_id: str) -> ApprovalRequest:
        """Reads one request; raises `NotFound`."""
        async with connected(self._pool, None) as own:
            found = await self._read(own, tenant, [approval_id])
        if not found:
            raise _unknown(approval_id)
        return found[0]

    async def granted_alone(self, tenant: str, approval_id: str, name: str) -> Amount:
        """What an approver has granted on the scope of a request in its window without a second person."""
        async with connected(self._pool, None) as own:
            return await self._granted_alone(own, tenant, approval_id, name, self.now)

    async def at_deadline(self, tenant: str, request: ApprovalRequest) -> Outcome:
        """How a pending request ends if no one decides, as far as is known now."""
        async with connected(self._pool, None) as own:
            return await self._at_deadline(own, tenant, request, self.now)

    async def list(
        self, tenant: str, state: ApprovalState | None = None, limit: int = 50, cursor: str | None = None
    ) -> ApprovalPage:
        """Lists requests, newest first.

        Args:
            tenant: tenant of the requests.
            state: only requests in this state.
            limit: most requests to return.
            cursor: cursor of the previous page.

        Raises:
            InvalidRequest: the cursor is of no page.
        """
        async with connected(self._pool, None) as own:
            found = await read_requests(
                own, self._settings.defaults_json, self.now, tenant, state=state, before=cursor, limit=limit
            )
            if cursor is not None and not found and not await self._read(own, tenant, [cursor], waiters=False):
                raise InvalidRequest("cursor is not valid: pass the cursor of the previous page unchanged")
        return ApprovalPage(tuple(found), found[-1].approval_id if len(found) == limit else None)

    async def _decide(self, tenant: str, wanted: DecisionRequest, actor: Approver) -> Decided:
        digest = wanted.digest(actor.name)
        async with self._transaction() as own:
            now = await own.fetchval(_SQL["lock_request"], tenant, wanted.approval_id, self.now)
            if now is None:
                raise _unknown(wanted.approval_id)
            known = await own.fetchrow(_SQL["find_decision"], tenant, wanted.decision_id)
            if known is not None:
                if known["digest"] != digest:
                    raise _other_decision(wanted.decision_id)
                return Decided(ApprovalState(known["answer"]["state"]), known["answer"]["decisions_needed"])
            [request] = await self._read(own, tenant, [wanted.approval_id])
            if request.state is ApprovalState.PENDING and request.moot:
                # A denial would refuse calls that fit, and a grant could go to a window that has ended.
                await self._close(own, tenant, request, Outcome(ApprovalState.WITHDRAWN), now)
                return Decided(ApprovalState.WITHDRAWN, 0)
            if request.task_id and wanted.until is not None:
                raise InvalidRequest(
                    f"until does not apply: the request raises what task {request.task_id!r} asked for itself, which "
                    "ends with the task; leave until out"
                )
            # The lock on the scope keeps it so until the decision is recorded.
            alone = await self._granted_alone(own, tenant, wanted.approval_id, actor.name, now)
            outcome = judge(request, wanted, actor, now, alone=alone, trust_temporal_identity=self._trust)
            recorded = await self._record(own, tenant, wanted, actor, outcome, now)
            if outcome.state is ApprovalState.PENDING:
                needed = outcome.decisions_needed
                await own.execute(
                    _SQL["put_event"], tenant, wanted.approval_id, now, "decided", actor.name, needed, recorded
                )
            else:
                await self._close(own, tenant, request, outcome, now, recorded, actor)
            return Decided(outcome.state, outcome.decisions_needed)

    async def _end(self, tenant: str, approval_id: str) -> int:
        try:
            return await self._end_once(tenant, approval_id)
        except BeyondCounting:
            # No one could have granted that: the balance is about to leave its range.
            return await self._end_once(tenant, approval_id, may_grant=False)

    async def _end_once(self, tenant: str, approval_id: str, *, may_grant: bool = True) -> int:
        async with self._transaction() as own:
            # The transaction that holds the lock is about to end the request, or leaves it to the next sweep.
            now = await own.fetchval(_SQL["try_lock_request"], tenant, approval_id, self.now)
            if now is None:
                return 0
            request = await self._request(own, tenant, approval_id)
            if not request.ends(now):
                return 0
            if request.moot:
                await self._close(own, tenant, request, Outcome(ApprovalState.WITHDRAWN), now)
                return 1
            expired = Outcome(ApprovalState.EXPIRED)
            outcome = await self._at_deadline(own, tenant, request, now) if may_grant else expired
            choice = Choice.APPROVE if outcome.state is ApprovalState.APPROVED else Choice.DENY
            decision = DecisionRequest(approval_id, str(uuid.uuid4()), choice)
            recorded = await self._record(own, tenant, decision, SWEEPER, outcome, now)
            await self._close(own, tenant, request, outcome, now, recorded, SWEEPER)
            return 1

    async def _leave(self, tenant: str, approval_id: str, key: str) -> None:
        async with self._transaction() as own:
            lock = row(await own.fetchrow(_SQL["lock_request"], tenant, approval_id, self.now))
            await own.execute(_SQL["leave"], tenant, approval_id, key, lock["now"])
            request = await self._request(own, tenant, approval_id)
            if request.state is not ApprovalState.PENDING:
                return
            if request.is_waited_for:
                await self._update_shortage(own, tenant, request, lock["now"], "left")
            else:
                await self._close(own, tenant, request, Outcome(ApprovalState.WITHDRAWN), lock["now"])

    async def _record(
        self, own: Connection, tenant: str, wanted: DecisionRequest, actor: Approver, outcome: Outcome, now: datetime
    ) -> dict[str, Any]:
        """Stores a decision and its change; returns the fields that events may contain."""
        answer = {"state": outcome.state, "decisions_needed": outcome.decisions_needed}
        granted = {"grant_tokens": outcome.amount.tokens, "grant_nano_usd": outcome.amount.nano_usd}
        decision = wanted.to_json() | granted | {"identity": actor.identity}
        digest = f"\\x{wanted.digest(actor.name).hex()}"
        more = {"tenant": tenant, "approver": actor.name, "at": now.isoformat(), "digest": digest, "answer": answer}
        if await own.fetchval(_SQL["insert_decision"], tenant, decision | more) is None:
            raise _other_decision(wanted.decision_id)
        public = {name: value for name, value in decision.items() if name not in PRIVATE}
        target, before = f"approval:{wanted.approval_id}", {"state": ApprovalState.PENDING}
        await record(own, tenant, f"approval.{wanted.choice}", target, by=actor, before=before, after=answer | public)
        return public

    async def _close(
        self,
        own: Connection,
        tenant: str,
        request: ApprovalRequest,
        outcome: Outcome,
        now: datetime,
        recorded: Mapping[str, Any] | None = None,
        actor: Approver | None = None,
    ) -> None:
        # The grant comes last because it locks a balance that others wait for.
        grant, approval_id = outcome.grant, request.approval_id
        gone = await own.fetch(_SQL["close"], tenant, approval_id, outcome.state, grant.tokens, grant.nano_usd, now)
        state = FITS if outcome.state is ApprovalState.WITHDRAWN else outcome.state
        workflows = [waiter["workflow_id"] for waiter in gone]
        await put_to_each(own, tenant, workflows, DECIDED, {"approval_id": approval_id, "state": state}, now)
        cause = "withdrawn" if actor is None else "expired" if actor is SWEEPER else "decided"
        await own.execute(_SQL["put_event"], tenant, approval_id, now, cause, actor and actor.name, 0, recorded)
        if actor is None or recorded is None or grant == Amount():
            return
        if request.task_id:
            await own.execute(_SQL["grant_task"], tenant, approval_id, grant.tokens, grant.nano_usd, actor.name, now)
        else:
            amount, decision_id = (grant.tokens, grant.nano_usd), recorded["decision_id"]
            await own.execute(_SQL["grant"], tenant, approval_id, *amount, outcome.until, decision_id, actor.name, now)

    async def _update_shortage(
        self, own: Connection, tenant: str, request: ApprovalRequest, now: datetime, cause: str
    ) -> None:
        short, needed, approval_id = request.shortage, request.decisions_needed(now), request.approval_id
        await own.execute(_SQL["ask"], tenant, approval_id, short.tokens, short.nano_usd)
        await own.execute(_SQL["put_event"], tenant, approval_id, now, cause, None, needed, None)

    async def _granted_alone(
        self, own: Connection, tenant: str, approval_id: str, name: str, now: datetime | None
    ) -> Amount:
        return Amount(*row(await own.fetchrow(_SQL["granted_alone"], tenant, approval_id, name, now)))

    async def _at_deadline(
        self, own: Connection, tenant: str, request: ApprovalRequest, now: datetime | None
    ) -> Outcome:
        approval_id = request.approval_id
        alone = await self._granted_alone(own, tenant, approval_id, SWEEPER.name, now)
        grants = request.rules.on_expiry is OnExpiry.GRANT  # without it, nothing else matters
        tightened = grants and await own.fetchval(_SQL["tightened"], tenant, approval_id, self._settings.defaults_json)
        return expire(request, alone, tightened=tightened)

    async def _request(self, own: Connection, tenant: str, approval_id: str) -> ApprovalRequest:
        """Reads a request without the list of who waits, which people need and the rules of its end do not."""
        return (await self._read(own, tenant, [approval_id], waiters=False))[0]

    async def _read(
        self, own: Connection, tenant: str, ids: Sequence[str], *, waiters: bool = True
    ) -> Sequence[ApprovalRequest]:
        return await read_requests(own, self._settings.defaults_json, self.now, tenant, ids, waiters=waiters)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        async with connected(self._pool, None) as own, own.transaction():
            yield own


def _unknown(approval_id: str) -> NotFound:
    return NotFound(f"approval request {approval_id[:80]!r} does not exist for this tenant: list the pending ones")


def _other_decision(decision_id: str) -> DecisionConflict:
    return DecisionConflict(
        f"decision id {decision_id!r} is bound to another decision: use a new id for a new decision"
    )
