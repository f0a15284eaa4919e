"""Reads approval requests from rows of the statement `requests`."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import asyncpg

from purser.budget.approvals import ApprovalRequest, ApprovalState, Choice, Identity, PastDecision, Waiter
from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules
from purser.budget.postgres.connections.json_text import Json
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Scope

_SQL = load("purser.budget.postgres.approvals", "approvals.sql")


async def read_requests(
    connection: Connection,
    defaults: Json,
    now: datetime | None,
    tenant: str,
    ids: Sequence[str] | None = None,
    *,
    state: ApprovalState | None = None,
    before: str | None = None,
    limit: int | None = None,
    waiters: bool = True,
) -> list[ApprovalRequest]:
    """Reads requests of a tenant, newest first.

    Args:
        connection: its transaction is used.
        defaults: `LedgerSettings.defaults_json`.
        now: replaces the server's clock.
        tenant: tenant of the requests.
        ids: only these requests.
        state: only requests in this state.
        before: only requests older than this id.
        limit: most requests to return; `None`: all.
        waiters: whether to list who waits. Without decisions only people who look at a request need that.
    """
    rows = await connection.fetch(_SQL["requests"], tenant, ids, state, before, limit, defaults, now, waiters)
    return [_request(row) for row in rows]


def _request(row: asyncpg.Record) -> ApprovalRequest:
    asked, given, spent, held, granted = (
        Amount(row[f"{name}_tokens"], row[f"{name}_nano"]) for name in ("asked", "given", "spent", "held", "granted")
    )
    waiting = (row["waiting_tokens"], row["waiting_nano"])
    return ApprovalRequest(
        approval_id=row["approval_id"],
        scope=Scope.stored(row["scope"]),
        window_start=row["window_start"],
        task_id=row["task"],
        state=ApprovalState(row["state"]),
        rules=ApprovalRules.parse(row["rules"]),
        asked=asked,
        given=given,
        created_at=row["created_at"],
        deadline=row["deadline"],
        decided_at=row["decided_at"],
        reminded_at=row["reminded_at"],
        escalated_at=row["escalated_at"],
        limit_tokens=row["limit_tokens"],
        limit_nano_usd=row["limit_nano"],
        spent=spent,
        held=held,
        granted=granted,
        current=row["current"],
        waiters=tuple(_waiter(shown) for shown in row["waiters"]),
        decisions=tuple(_decision(shown) for shown in row["decisions"]),
        reserve=Amount(row["reserve_tokens"], row["reserve_nano"]),
        total_ask=None if waiting[0] is None else Amount(*map(int, waiting)),
    )


_DECISION_FIELDS = tuple(field.name for field in fields(PastDecision))


def _waiter(shown: Mapping[str, Any]) -> Waiter:
    return Waiter(
        **{
            **shown,
            "ask": Amount(*shown["ask"]),
            "since": datetime.fromisoformat(shown["since"]),
            "path": tuple(shown["path"]),
        }
    )


def _decision(row: Mapping[str, Any]) -> PastDecision:
    # A newer release may have added columns that this one does not know.
    shown, until = {name: row[name] for name in _DECISION_FIELDS}, row["until"]
    return PastDecision(
        **{
            **shown,
            "choice": Choice(shown["choice"]),
            "identity": Identity(shown["identity"]),
            "until": until and datetime.fromisoformat(until),
            "at": datetime.fromisoformat(shown["at"]),
        }
    )
