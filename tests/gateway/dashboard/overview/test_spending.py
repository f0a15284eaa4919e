"""Spending over time: bars and their sums. The store is that of a real ledger elsewhere; here are pure functions."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from purser.budget.gate import Amount
from purser.budget.reports.usage import By
from purser.gateway.dashboard.charts import MUTED, SERIES
from purser.gateway.dashboard.overview.page import sums
from purser.gateway.dashboard.overview.spending import OTHERS, PERIODS, SHOWN, Line, Period, chart, coloured

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
HOURS = Period("3h", "3 hours", 3, timedelta(hours=1))


def line(name: str, *tokens: int, nano: int = 0) -> Line:
    return Line(name, tuple(Amount(count, nano) for count in tokens), len(tokens))


@pytest.mark.parametrize("period", PERIODS, ids=lambda period: period.code)
def test_bars_of_a_period_follow_each_other_until_now(period: Period) -> None:
    starts = period.starts(NOW)
    assert len(starts) == period.bars
    assert {after - before for before, after in pairwise(starts)} == {period.step}
    assert starts[-1] <= NOW < starts[-1] + period.step
    assert starts == period.starts(NOW + timedelta(minutes=29)), "bars stay where they are while time passes"


def test_the_largest_lines_have_colours_and_all_others_are_one() -> None:
    few = [line(f"m{number}", 1, 2, 3) for number in range(SHOWN)]
    assert coloured(few) == few
    many = [*few, line("x", 10, 0, 0), line("y", 5, 0, 7)]
    assert coloured(many)[-1] == Line(OTHERS, (Amount(15), Amount(0), Amount(7)))
    drawn = chart(many, HOURS, NOW, in_money=False)["series"]
    assert [one["itemStyle"]["color"] for one in drawn] == [*SERIES[:SHOWN], MUTED]


def test_a_chart_adds_up_to_the_table() -> None:
    lines = [line("a", 100, 0, 50, nano=2_000_000_000), line("", 7, 0, 0)]
    tokens, money = (chart(lines, HOURS, NOW, in_money=in_money)["series"] for in_money in (False, True))
    assert [sum(value for _, value in one["data"]) for one in tokens] == [one.total.tokens for one in lines]
    assert [sum(value for _, value in one["data"]) for one in money] == [6.0, 0.0]
    assert [one["name"] for one in tokens] == ["a", "unnamed"]


def test_shares_are_of_money_and_of_tokens_where_nothing_costs_money() -> None:
    paid = [line("a", 10, nano=3), line("b", 90, nano=1)]
    assert "75 %" in sums(paid, By.MODEL, Amount(100, 4))
    free = [line("a", 10), line("b", 90)]
    assert "90 %" in sums(free, By.MODEL, Amount(100))


def test_names_lead_to_their_pages_and_hostile_ones_stay_text() -> None:
    assert 'href="/ledger?scope=user%3Aana"' in sums([line("ana", 1)], By.USER, Amount(1))
    shown = sums([line("<b>x</b>", 1)], By.MODEL, Amount(1))
    assert "&lt;b&gt;x" in shown
    assert "href" not in shown


def test_nothing_spent_and_nothing_of_this_kind_are_told_apart() -> None:
    assert "Nothing was spent in this time" in sums([], By.MODEL, Amount())
    assert "None of it was spent by a user" in sums([], By.USER, Amount(5))


def test_many_lines_are_cut_and_their_number_is_shown() -> None:
    assert "The largest of 40." in sums([line(f"m{n}", 1) for n in range(40)], By.MODEL, Amount(40))
