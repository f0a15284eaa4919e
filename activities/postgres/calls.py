"""The store of model calls by the key of their hold: what each asks for, which never changes, and its result."""

from dataclasses import dataclass

import asyncpg

from purser.activities.errors import TaskNotFound
from purser.budget.gate import Amount, GateAnswer
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.usage import Usage
from purser.context.windows.plans import WindowPlan
from purser.workflows.contract import AgentRef

_SQL = load("purser.activities.postgres", "calls.sql")


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
    """Most output tokens, as the agent declares."""
    ask: Amount
    """Prompt and output cap."""
    least: Amount
    """The smallest useful ask."""
    priced: bool = True
    """False: the price was unknown, and the asks contain no money."""
    reply_seq: int | None = None
    """Sequence number of the reply."""
    usage: Usage | None = None
    """Usage of the attempt that replied."""
    rejected: str | None = None
    """Stable code if the call was given up."""

    @property
    def prompt_tokens(self) -> int:
        """Input tokens that it may use: the counted window, as calibrated when the call asked for admission."""
        return self.ask.tokens - self.output_cap


class Calls:
    """Calls of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, agent: AgentRef, key: str) -> Call | None:
        """Returns the call under this key; `None` if there is none."""
        async with connected(self._pool, None) as own:
            row = await own.fetchrow(_SQL["find"], agent.tenant, key)
        return None if row is None else _call(agent, row)

    async def get(self, agent: AgentRef, key: str) -> Call:
        """Returns the call under this key; raises `TaskNotFound`."""
        if (call := await self.find(agent, key)) is None:
            raise TaskNotFound(f"call {key!r} of agent {agent.agent_id!r} does not exist: admit it first")
        return call

    async def add(self, call: Call, connection: Connection) -> None:
        """Stores a call before it asks for its hold; the first call under a key remains."""
        agent, ask, least = call.agent, call.ask, call.least
        await connection.execute(
            _SQL["add"], agent.tenant, call.key, agent.task_id, agent.agent_id, call.turn, call.model,
            call.plan.to_json(), call.output_cap, ask.tokens, ask.nano_usd, least.tokens, least.nano_usd,
            call.priced,
        )  # fmt: skip

    async def held(self, call: Call, hold_id: str, answer: GateAnswer, connection: Connection) -> None:
        """Stores the hold of an admitted call, its delay and the scope that causes it."""
        slow = answer.slowed_by
        ratio = next((one.ratio for one in answer.scopes if one.scope == slow), None)
        await connection.execute(
            _SQL["held"], call.agent.tenant, call.key, int(hold_id), answer.delay_ms, str(slow or ""), ratio
        )

    async def failed(self, call: Call, attempt: int, reason: str) -> None:
        """Stores why an attempt failed, and that it ended now.

        Args:
            call: the call.
            attempt: the number of the attempt.
            reason: a stable code.
        """
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["failed"], call.agent.tenant, call.key, attempt, reason)

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
        reply_seq=row["reply_seq"],
        usage=None if row["usage"] is None else Usage.from_dict(row["usage"]),
        rejected=row["rejected"],
    )
