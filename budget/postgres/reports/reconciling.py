"""Compares a provider's usage file with the ledger."""

from purser.budget.postgres.connections.pools import Pool, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.reports.entries import Entries
from purser.budget.reports.provider_usage import UsageFile
from purser.budget.reports.reconciliation import LedgerUse, Reconciliation, compare_days, compare_requests

_SQL = load("purser.budget.postgres.reports", "reconciling.sql")


async def reconcile(pool: Pool, tenants: list[str] | None, file: UsageFile) -> Reconciliation:
    """Compares a file with the charges of tenants, by request if the file lists requests, else by day and model.

    Args:
        pool: connections to the ledger.
        tenants: those whose calls the account of the file served; `None`: all.
        file: what the provider says.
    """
    if file.by_request:
        rows = await fetch(pool, _SQL["by_request"], tenants, [use.request_id for use in file.uses])
        found = [LedgerUse(tuple(filter(None, row["ids"])), None, row["model"], 1, row["tokens"]) for row in rows]
        return compare_requests(file.uses, found, await Entries(pool).deleted_until())
    days = [use.day for use in file.uses if use.day is not None]
    rows = await fetch(pool, _SQL["by_day"], tenants, min(days), max(days))
    found = [LedgerUse((), row["day"], row["model"], row["calls"], row["tokens"]) for row in rows]
    return compare_days(file.provider, file.uses, found, await Entries(pool).deleted_until())
