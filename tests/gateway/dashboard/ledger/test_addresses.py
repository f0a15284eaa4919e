"""URL parameters of the ledger: pure functions."""

from datetime import UTC, datetime

import pytest

from purser.budget.reports.entries import EntryKind
from purser.budget.reports.usage import By
from purser.gateway.dashboard.ledger.filters import Wanted

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def read_entries(**given: str) -> Wanted:
    fields = dict.fromkeys(("scope", "kind", "task", "since", "until", "cursor", "by"), "")
    return Wanted.read(**(fields | given))


def test_filters_of_the_ledger_appear_in_its_urls() -> None:
    wanted = read_entries(scope="session:s1", kind="settle", since="2026-01-01T12:00", by="task", cursor="9")
    assert (wanted.kind, wanted.times.since, wanted.by, wanted.cursor) == (EntryKind.SETTLE, NOW, By.TASK, "9")
    assert wanted.href() == "/ledger?scope=session%3As1&kind=settle&from=2026-01-01T12%3A00%3A00Z&by=task"
    assert "cursor=4" in wanted.href(cursor="4")
    early = read_entries(until="0001-01-05T12:00")
    assert (early.href(), early.times.typed["to"]) == ("/ledger?to=0001-01-05T12%3A00%3A00Z", "0001-01-05T12:00")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scope": "nonsense"}, "has no kind"),
        ({"since": "soon"}, "The time “from” is not valid"),
        ({"until": "0000-99"}, "The time “to” is not valid"),
        ({"since": "2026-01-02T00:00", "until": "2026-01-01T00:00"}, "is before"),
    ],
)
def test_invalid_filters_are_reported(given: dict[str, str], message: str) -> None:
    wanted = read_entries(**given)
    assert message in " ".join(wanted.faults)
    assert read_entries(kind="dream", by="moon", cursor="x").faults == ()
