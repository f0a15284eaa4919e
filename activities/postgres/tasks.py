"""The store of tasks: task files and their statuses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import asyncpg

from purser.activities.errors import TaskConflict, TaskNotFound
from purser.activities.tasks.file import TaskFile
from purser.budget.actors import Actor
from purser.budget.labels import with_tags_of_key
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch, fetchval
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.events.outbox import put
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.refusals import Refusal
from purser.budget.scopes import Scope, agent_scope, payers, task_scopes
from purser.budget.texts import number_of
from purser.budget.usage import CLASSES, Usage
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.sessions.sessions import lock
from purser.workflows.contract import START, TaskRef, TaskStatus

_SQL = load("purser.activities.postgres", "tasks.sql")


@dataclass(frozen=True)
class Submitted:
    """The result of a submission."""

    task_id: str
    created: bool
    """False: the same file had been submitted before."""


@dataclass(frozen=True)
class TaskPage:
    """Tasks of a tenant, newest first."""

    tasks: tuple[Mapping[str, Any], ...]
    cursor: str | None
    """Cursor of the next page; `None`: this is the last one."""


class Tasks:
    """Tasks of all tenants."""

    def __init__(self, pool: Pool, policies: Policies, conversations: Conversations) -> None:
        self._pool = pool
        self._policies = policies
        self._conversations = conversations

    async def submit(
        self,
        tenant: str,
        task: TaskFile,
        submitter: str | None,
        connection: Connection | None = None,
        *,
        submitted_by: str | None = None,
        vouched: bool = False,
        tags_of_key: Mapping[str, str] = MappingProxyType({}),
    ) -> Submitted:
        """Stores a task with its agents, policies, input message and start request in one transaction.

        Args:
            tenant: tenant of the task.
            task: the task file.
            submitter: name of the submitter, which takes precedence over that of the file.
            connection: connection whose transaction to join; `None`: a new one.
            submitted_by: name of the key that submits the task.
            vouched: whether that key may act for others, so that `submitter` is trusted.
            tags_of_key: tags of that key.

        Raises:
            InvalidRequest: the tags of the file contradict those of the key.
            TaskConflict: the id is already used by another file.
            OtherUser: the session belongs to a different user than the file names.
            LedgerUnavailable
        """
        tags = with_tags_of_key(task.tags, tags_of_key)
        async with connected(self._pool, connection) as own, own.transaction():
            await own.execute(_SQL["claim"], tenant, task.task_id)
            found = await own.fetchval(_SQL["find"], tenant, task.task_id)
            if found is not None:
                if found != task.digest:
                    raise TaskConflict(f"task {task.task_id!r} exists with another body: choose a new task_id")
                return Submitted(task.task_id, created=False)
            await self._store(own, tenant, task, submitter, submitted_by, tags, vouched=vouched)
        return Submitted(task.task_id, created=True)

    async def _store(
        self,
        own: Connection,
        tenant: str,
        task: TaskFile,
        submitter: str | None,
        submitted_by: str | None,
        tags: Mapping[str, str],
        *,
        vouched: bool,
    ) -> None:
        message, origin = Message("user", task.input), f"task:{task.task_id}:input"
        [input_seq] = await self._conversations.append(
            tenant, task.session_id, [message], origin=origin, user_id=task.user_id, connection=own
        )
        user_id = task.user_id or (await lock(own, tenant, task.session_id)).user_id
        await own.execute(
            _SQL["insert_task"], tenant, task.task_id, task.session_id, task.body(), task.digest, submitter, input_seq,
            submitted_by, user_id, vouched, tags,
        )  # fmt: skip
        await own.execute(_SQL["insert_agents"], tenant, task.task_id, [agent.id for agent in task.agents])
        policies = [(scope, patch, sources) for scope, patch, sources in task.policies() if patch.to_json()]
        if policies:
            by = Actor(submitted_by or submitter or f"task {task.task_id}", None)
            await self._policies.set_many(tenant, policies, by=by, task_id=task.task_id, connection=own)
        start = TaskRef(task.task_id, tenant)
        await put(own, tenant, start.workflow_id, START, asdict(start))

    async def file(self, tenant: str, task_id: str) -> TaskFile | None:
        """Returns the task file as it was submitted, `None` if its session was deleted; raises `TaskNotFound`."""
        body = await fetchval(self._pool, _SQL["body"], tenant, task_id)
        if body is None:
            raise TaskNotFound.of(task_id)
        return TaskFile.stored(body) if body else None

    async def get(self, tenant: str, task_id: str) -> dict[str, Any]:
        """Returns the status of a task and its agents, as `GET /tasks/{id}` shows it; raises `TaskNotFound`.

        `scopes` lists the scopes on which its calls draw, outermost first.
        """
        async with connected(self._pool, None) as own:
            task = await own.fetchrow(_SQL["task"], tenant, task_id)
            if task is None:
                raise TaskNotFound.of(task_id)
            agents = await own.fetch(_SQL["agents"], tenant, task_id)
        replies = await self._replies(task, agents)
        shown = {agent["agent_id"]: _agent(agent, replies) for agent in agents}
        return _shown(task) | {"agents": shown, "scopes": _scopes(task, shown)}

    async def steered(self, tenant: str, task_id: str, how: str, *, by: Actor, before: str) -> None:
        """Records that an actor pauses, resumes or cancels a task; call it before anything is sent.

        Args:
            tenant, task_id: the task.
            how: `pause`, `resume` or `cancel`.
            by: the actor.
            before: the task's status before the change.
        """
        async with connected(self._pool, None) as own:
            status, order = {"status": before}, {"ordered": str(how)}
            await record(own, tenant, f"task.{how}", f"task:{task_id}", by=by, before=status, after=order)

    async def list(
        self, tenant: str, state: TaskStatus | None = None, limit: int = 50, cursor: str | None = None
    ) -> TaskPage:
        """Returns tasks, newest first.

        Args:
            tenant: tenant of the tasks.
            state: only tasks in this state.
            limit: most tasks to return.
            cursor: `TaskPage.cursor` of the previous page.
        """
        before = None if cursor is None else number_of(cursor)
        rows = await fetch(self._pool, _SQL["list"], tenant, state, before, limit)
        more = str(rows[-1]["number"]) if len(rows) == limit else None
        return TaskPage(tuple(_shown(one) for one in rows), more)

    async def _replies(self, task: asyncpg.Record, agents: Sequence[asyncpg.Record]) -> dict[int, str]:
        """Texts of the agents' last replies, by sequence number."""
        seqs = [agent["reply_seq"] for agent in agents if agent["reply_seq"] is not None]
        stored = await self._conversations.read(task["tenant"], task["session_id"], seqs)
        return {seq: one.message.text for seq, one in stored.items()}


def _scopes(task: asyncpg.Record, agents: Iterable[str]) -> list[Scope]:
    return [
        *payers(task["tenant"], task["user_id"]),
        *task_scopes(task["session_id"], task["task_id"]),
        *(agent_scope(task["task_id"], agent_id) for agent_id in agents),
    ]


def _agent(agent: asyncpg.Record, replies: Mapping[int, str]) -> dict[str, Any]:
    figures = ("turns", "nano_usd", "holds", "delay_ms", "approvals", "overrun", "requested", "output_capped")
    return {
        "status": agent["status"],
        "reason": agent["reason"],
        "scope": agent["scope"],
        "refusal": _refusal(agent),
        "shortfall": _shortfall(agent),
        "failure": _failure(agent),
        "reply": replies.get(agent["reply_seq"]),
        "usage": _usage(agent).to_dict(),
        **{name: agent[name] for name in figures},
    }


def _failure(agent: asyncpg.Record) -> dict[str, Any] | None:
    if agent["failure"] is None:
        return None
    return {"attempt": agent["failed_attempt"], "reason": agent["failure"], "at": agent["failed_at"]}


def _refusal(agent: asyncpg.Record) -> dict[str, Any] | None:
    if agent["status"] != "refused" or agent["refusal"] is None:
        return None
    refusal = Refusal.parse(agent["refusal"], agent["reason"])
    return refusal.to_json() | {"period_end": refusal.period_end}


def _shortfall(agent: asyncpg.Record) -> dict[str, Any] | None:
    if agent["reason"] != WindowTooSmall.__name__ or agent["shortfall"] is None:
        return None
    error = WindowTooSmall(**agent["shortfall"])
    return {**error.to_json(), "text": str(error)}


def _shown(task: asyncpg.Record) -> dict[str, Any]:
    return {
        **{name: task[name] for name in ("task_id", "session_id", "user_id", "submitter", "submitted_by", "tags")},
        "status": task["state"],
        **{name: task[name] for name in ("reason", "submitted_at", "ended_at")},
    }


def _usage(agent: asyncpg.Record) -> Usage:
    return Usage(
        **{name: agent[name] for name in CLASSES},
        reasoning=agent["reasoning"],
        unsplit=agent["unsplit"] + agent["presumed"],
        estimated=agent["estimated"],
    )
