"""`/v1/usage` and `/v1/ledger`: what was charged."""

from datetime import datetime

from purser_client.errors import invalid
from purser_client.operations.arguments import given
from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation
from purser_client.types import EntryPage, UsageView


def usage(
    by: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    within: str | None = None,
    timezone: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Operation[UsageView]:
    """Sums the charges of a time, by `session`, `task`, `agent`, `model`, … exactly as in the ledger."""
    query = given(by=by, within=within, timezone=timezone, cursor=cursor, limit=limit) | _span(since, until)
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
    return given(**{"from": _time("since", since), "to": _time("until", until)})


def _time(field: str, at: datetime | None) -> str | None:
    if at is None:
        return None
    if not isinstance(at, datetime):
        raise invalid(f"{field} is not valid: a {type(at).__name__} is not a datetime", "Pass a datetime.", field)
    return at.isoformat()


class _Reports:
    usage = Offered(usage)
    ledger = Offered(ledger)


class Reports(_Reports, Group):
    """Usage and the entries of the ledger."""


class AsyncReports(_Reports, AsyncGroup):
    """Usage and the entries of the ledger, to be awaited."""
