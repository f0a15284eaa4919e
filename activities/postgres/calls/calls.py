"""The store of model calls by the key of their hold: what each asks for, which never changes, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from purser.activities.errors import TaskEnded, TaskNotFound
from purser.budget.gate import Amount, GateAnswer
from purser.budget.postgres.connections.pools import Connection, Pool, connected, execute, fetch, fetchrow
from purser.budget.postgres.connections.queries import load
from purser.budget.refusals import Refusal
from purser.budget.usage import Usage
from purser.context.windows.plans import WindowPlan
from purser.workflows.contract import AgentRef

_SQL = load("purser.activities.postgres.calls", "calls.sql")


@dataclass(frozen=True)
class Call:
    """One call of a model."""

    agent: AgentRef
    key: str
    turn: int
    model: str
    plan: WindowPlan
    """The window by reference."""
    output_cap: int
    """Most output tokens: as the agent declares, or fewer on a step of a ladder."""
    ask: Amount
    """Prompt and output that are held at first."""
    least: Amount
    """The smallest useful ask."""
    priced: bool = True
    """False: the price was unknown, and the asks contain no money."""
    learned_output: int | None = None
    """Output tokens in `ask` if they are fewer than the cap: the hold then grows with the reply. `None`: the cap."""
    request_cap: int | None = None
    """Most output tokens that its requests ask for; `None` until it is admitted."""
    last: bool = False
    """Whether it is the agent's last call: without tools, from what budgets reserve for it."""
    ladder: Sequence[dict[str, Any]] = ()
    """The steps of ladders that it took: `scope`, `step`, `ratio`, and those of `model`, `output` (tokens) and
    `compression` (share) that it changed."""
    reply_seq: int | None = None
    """Sequence number of the reply."""
    usage: Usage | None = None
    """Usage of the attempt that replied."""
    rejected: str | None = None
    """Stable code if the call was given up."""

    @property
    def prompt_tokens(self) -> int:
        """Input tokens that it may use: the counted window, as calibrated when the call asked for admission."""
        return self.ask.tokens - (self.output_cap if self.learned_output is None else self.learned_output)

    def cap_of(self, held: Amount) -> int:
        """Most output that a request may ask for. If only a part of the ask is held, nothing is left to grow into."""
        return self.output_cap if held.tokens == self.ask.tokens else held.tokens - self.prompt_tokens


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call as stored."""

    call: Call
    at: datetime
    """When it was planned."""
    hold_id: str | None
    """`None` if nothing was held."""


class Calls:
    """Calls of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, agent: AgentRef, key: str) -> Call | None:
        """Returns the call under this key; `None` if there is none."""
        row = await fetchrow(self._pool, _SQL["find"], agent.tenant, key)
        return None if row is None else _call(agent, row)

    async def get(self, agent: AgentRef, key: str) -> Call:
        """Returns the call under this key; raises `TaskNotFound`."""
        if (call := await self.find(agent, key)) is None:
            raise TaskNotFound(f"call {key!r} of agent {agent.agent_id!r} does not exist: admit it first")
        return call

    async def of_task(
        self,
        tenant: str,
        task_id: str,
        *,
        agent_id: str | None = None,
        turn: int | None = None,
        after: tuple[datetime, str] | None = None,
        limit: int = 100,
    ) -> list[StoredCall]:
        """Returns calls of a task, newest first; none if the tenant has no such task.

        Args:
            tenant, task_id: the task.
            agent_id, turn: only calls of this agent, of this turn.
            after: time and key of the last call of the previous page.
            limit: most calls to return.
        """
        at, key = after or (None, None)
        rows = await fetch(self._pool, _SQL["of_task"], tenant, task_id, agent_id, turn, at, key, limit)
        return [_listed(tenant, row) for row in rows]

    async def last_report(self, agent: AgentRef, model: str) -> tuple[int, int] | None:
        """Counted and reported input tokens of the last call of an agent that a model answered; `None`: not known."""
        row = await fetchrow(self._pool, _SQL["last_report"], agent.tenant, agent.task_id, agent.agent_id, model)
        usage = Usage.from_dict(row["usage"]) if row else None
        if row is None or usage is None or usage.estimated or not usage.split_known:
            return None
        return WindowPlan.from_json(row["plan"]).prompt_tokens, usage.prompt

    async def of_key(self, tenant: str, task_id: str, key: str) -> StoredCall:
        """Returns a call of a task; raises `TaskNotFound`."""
        row = await fetchrow(self._pool, _SQL["find"], tenant, key)
        if row is None or row["task_id"] != task_id:
            raise TaskNotFound(f"task {task_id[:140]!r} has no call {key[:140]!r}: list its calls")
        return _listed(tenant, row)

    async def add(self, call: Call, connection: Connection | None = None) -> bool:
        """Stores a call before it asks for its hold, and returns whether it is new; the first under a key remains.

        Its agent is running from then on.

        Raises:
            TaskEnded: the call is new, and its task has ended.
        """
        agent, ask, least = call.agent, call.ask, call.least
        async with connected(self._pool, connection) as own:
            done = await own.execute(
                _SQL["add"], agent.tenant, call.key, agent.task_id, agent.agent_id, call.turn, call.model,
                call.plan.to_json(), call.output_cap, ask.tokens, ask.nano_usd, least.tokens, least.nano_usd,
                call.priced, call.learned_output, call.last, list(call.ladder),
            )  # fmt: skip
            if done == "INSERT 0 1":
                return True
            if await own.fetchrow(_SQL["find"], agent.tenant, call.key) is None:
                raise TaskEnded(f"task {agent.task_id!r} has ended: submit it again under another task_id")
        return False

    async def held(
        self, call: Call, hold_id: str, cap: int, answer: GateAnswer, connection: Connection | None = None
    ) -> None:
        """Stores the hold of an admitted call, its delay with its cause, the verdict in shadow, and the output cap."""
        slow = answer.slowed_by
        ratio = next((one.ratio for one in answer.scopes if one.scope == slow), None)
        async with connected(self._pool, connection) as own:
            await own.execute(
                _SQL["held"], call.agent.tenant, call.key, int(hold_id), answer.delay_ms, str(slow or ""), ratio,
                " by ".join(map(str, answer.held_up_by or ())),
                cap,
            )  # fmt: skip

    async def refused(self, call: Call, refusal: Refusal) -> None:
        """Stores the figures of the last answer that did not admit a call."""
        await execute(self._pool, _SQL["refused"], call.agent.tenant, call.key, refusal.to_json())

    async def failed(self, call: Call, attempt: int, reason: str) -> None:
        """Stores why an attempt failed, and that it ended now.

        Args:
            call: the call.
            attempt: the number of the attempt.
            reason: a stable code.
        """
        await execute(self._pool, _SQL["failed"], call.agent.tenant, call.key, attempt, reason)

    async def lock(self, call: Call, connection: Connection) -> tuple[int, Usage] | None:
        """Locks a call for the rest of the transaction; returns sequence number and usage of its reply, if any."""
        row = await connection.fetchrow(_SQL["lock"], call.agent.tenant, call.key)
        if row is None or row["reply_seq"] is None:
            return None
        return row["reply_seq"], Usage.from_dict(row["usage"])

    async def replied(self, call: Call, seq: int, usage: Usage, *, capped: bool, connection: Connection) -> None:
        """Stores the reply of a call."""
        await connection.execute(_SQL["replied"], call.agent.tenant, call.key, seq, usage.to_dict(), capped)

    async def rejected(self, call: Call, reason: str, connection: Connection) -> None:
        """Records that a call is given up."""
        await connection.execute(_SQL["rejected"], call.agent.tenant, call.key, reason)


def _listed(tenant: str, row: asyncpg.Record) -> StoredCall:
    call = _call(AgentRef(tenant, row["task_id"], row["agent_id"]), row)
    return StoredCall(call, row["created_at"], None if row["hold_id"] is None else str(row["hold_id"]))


def _call(agent: AgentRef, row: asyncpg.Record) -> Call:
    return Call(
        agent=agent,
        key=row["key"],
        turn=row["turn"],
        model=row["model"],
        plan=WindowPlan.from_json(row["plan"]),
        output_cap=row["output_cap"],
        ask=Amount(row["tokens"], row["nano"]),
        least=Amount(row["least_tokens"], row["least_nano"]),
        priced=row["priced"],
        learned_output=row["learned_output"],
        request_cap=row["request_cap"],
        last=row["last"],
        ladder=row["ladder"],
        reply_seq=row["reply_seq"],
        usage=None if row["usage"] is None else Usage.from_dict(row["usage"]),
        rejected=row["rejected"],
    )
