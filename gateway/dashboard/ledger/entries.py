"""The list of ledger entries, with at most one of their holds opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from purser.budget.postgres.ledger.holds import StoredHold
from purser.budget.reports.entries import Entry
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.formats import exact, words
from purser.gateway.dashboard.ledger.filters import Wanted
from purser.gateway.postgres.ledger_health import HoldAttempt

PAGE = 50
_COLUMNS = ("When", "Scope", "Kind", "#Spent", "#Held", "#Other", "#Spent after", "#Held after", "#Limit", "Hold")


@dataclass(frozen=True, slots=True)
class Opened:
    """A hold that is shown below its entry."""

    entry_id: int
    hold: StoredHold
    attempts: tuple[HoldAttempt, ...]


def listing(entries: Sequence[Entry], following: str | None, wanted: Wanted, opened: Opened | None) -> Markup:
    """The entries, newest first."""
    return render(
        "ledger/entries.html",
        entries=entries,
        columns=_COLUMNS,
        wanted=wanted,
        opened=opened,
        usage=_usage,
        export=wanted.href("/v1/ledger", format="csv", by=None),
        newest=wanted.href() if wanted.cursor is not None else None,
        older=wanted.href(cursor=following) if following is not None else None,
    )


def _usage(usage: Mapping[str, Any] | None) -> str:
    """Reported tokens by class, in words."""
    counts = {
        name: count for name, count in (usage or {}).items() if isinstance(count, int) and count is not True and count
    }
    return ", ".join(f"{words(name)} {exact(count)}" for name, count in counts.items()) or "—"
