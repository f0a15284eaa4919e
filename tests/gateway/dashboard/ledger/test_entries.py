"""The rows of the list of ledger entries."""

import re
from datetime import UTC, datetime

from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.reports.entries import Entry, EntryKind, Figures
from purser.budget.scopes import Scope
from purser.gateway.dashboard.ledger.entries import listing
from purser.gateway.dashboard.ledger.filters import Wanted
from tests.gateway.dashboard.approvals.test_together import text_of

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def cents(count: int) -> Amount:
    return Amount(0, count * 10_000_000)


def test_money_that_is_held_and_granted_is_shown_beside_the_limit() -> None:
    nothing = Amount()
    entry = Entry(
        1, AT, Scope.parse("session:s1"), None, None, 3, EntryKind.HOLD, None, None, None,
        moved=Figures(nothing, cents(40), nothing, nothing), after=Figures(cents(60), cents(40), cents(25), nothing),
        limit_tokens=None, limit_nano_usd=cents(100).nano_usd, mode=Mode.APPROVAL,
        key=None, path=(), task_id=None, model=None,
    )  # fmt: skip
    cells = re.findall("<td.*?</td>", listing([entry], None, Wanted(), None), re.DOTALL)
    spent, held, limit = (text_of(cell) for cell in cells[5:8])
    assert (spent, held, limit) == ("0$0.60", "0$0.40", "— $1.00+ $0.25 granted")
