"""`/v1/usage` and `/v1/ledger`: what was charged."""

from datetime import datetime

from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation, given
from purser_client.types import EntryPage, UsageView


def usage(
    by: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    timezone: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Operation[UsageView]:
    """Sums the charges of a time, by `session`, `task`, `agent`, `model`, … exactly as in the ledger."""
    query = given(by=by, timezone=timezone, cursor=cursor, limit=limit) | _span(since, until)
    return Operation("usage_report", "GET", "/v1/usage", UsageView, query=query)


def ledger(
    *,
    scope: str | None = None,
    kind: str | None = None,
    hold: str | None = None,
    task: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Operation[EntryPage]:
    """Lists ledger entries, newest first."""
    query = given(scope=scope, kind=kind, hold=hold, task=task, cursor=cursor, limit=limit) | _span(since, until)
    return Operation("ledger_list_entries", "GET", "/v1/ledger", EntryPage, query=query)


def _span(since: datetime | None, until: datetime | None) -> dict[str, str]:
    return {name: at.isoformat() for name, at in (("from", since), ("to", until)) if at is not None}


class _Reports:
    usage = Offered(usage)
    ledger = Offered(ledger)


class Reports(_Reports, Group):
    """Usage and the entries of the ledger."""


class AsyncReports(_Reports, AsyncGroup):
    """Usage and the entries of the ledger, to be awaited."""
