"""The price rule: stated, known and unknown prices."""

import pytest

from purser.budget.errors import BudgetError, MoneyNeeded, UnknownPrice
from purser.budget.gate import Amount, ScopeView, Verdict, gate_answer
from purser.budget.holds import Report
from purser.budget.policies.fields import Mode
from purser.budget.pricing.call_prices import Quote, Unpriced, charge, outcome_of, price_needed, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Scope
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_NANO_USD, MAX_CALL_TOKENS
from tests.support.budgets.prices import per_million

DOLLARS = PriceBook({}, {}, per_million("1", "4"))
"""1,000 nano-dollars a token of input, 4,000 of output."""
FREE = PriceBook({}, {}, per_million("0", "0"))
NONE = PriceBook({}, {}, None)
FULL, LEAST = Usage.from_total(100), Usage.from_total(31)


@pytest.mark.parametrize(
    ("prices", "model", "stated", "full", "least", "priced"),
    [
        pytest.param(NONE, None, 10, 10, 4, True, id="stated: a part costs its share, rounded up"),
        pytest.param(NONE, None, 0, 0, 0, True, id="0 is stated"),
        pytest.param(DOLLARS, "m", 7, 7, 3, True, id="what is stated goes before a price"),
        pytest.param(DOLLARS, "m", 0, 0, 0, True, id="0 that is stated goes before a price"),
        pytest.param(DOLLARS, "m", None, 400_000, 124_000, True, id="not stated: the dearest of the model"),
        pytest.param(FREE, "m", None, 0, 0, True, id="a price of 0 is known"),
        pytest.param(NONE, "m", None, 0, 0, False, id="not stated, and the model has no price"),
        pytest.param(DOLLARS, None, None, 0, 0, False, id="not stated, and there is no model"),
    ],
)
def test_an_ask_costs_what_is_stated_else_the_price_of_its_model_else_it_is_unknown(
    prices: PriceBook, model: str | None, stated: int | None, full: int, least: int, priced: bool
) -> None:
    expected = Quote(Amount(100, full), Amount(31, least), priced, model)
    assert quote(prices, model, FULL, LEAST, stated) == expected


def test_an_ask_whose_output_is_known_is_not_priced_as_if_all_of_it_were_output() -> None:
    found = quote(DOLLARS, "m", Usage(input=90, output=10), Usage(input=90, output=1))
    assert (found.full, found.least) == (Amount(100, 130_000), Amount(91, 94_000))


def test_an_ask_that_cannot_shrink_is_its_own_least() -> None:
    assert quote(DOLLARS, "m", FULL).least == Amount(100, 400_000)


def test_an_ask_for_nothing_needs_no_price() -> None:
    assert quote(NONE, None, Usage()) == Quote(Amount(), Amount(), True, None)


@pytest.mark.parametrize(
    ("prices", "model", "used", "report", "outcome"),
    [
        pytest.param(DOLLARS, "m", 10, Report(Usage(input=10), 10_000), None, id="by the price"),
        pytest.param(FREE, "m", 10, Report(Usage(input=10), 0), None, id="by a price of 0"),
        pytest.param(NONE, "m", 10, Report(Usage(input=10), 500, priced=False), Unpriced.ESTIMATED, id="as asked for"),
        pytest.param(DOLLARS, None, 10, Report(Usage(input=10), 500, priced=False), Unpriced.ESTIMATED, id="no model"),
        pytest.param(NONE, "m", 0, Report(Usage(), 0), None, id="what used nothing needs no price"),
    ],
)
def test_an_attempt_costs_what_its_model_charges_else_what_was_asked_for_it(
    prices: PriceBook, model: str | None, used: int, report: Report, outcome: Unpriced | None
) -> None:
    found = charge(prices, model, Usage(input=used), 500)
    assert found == report
    assert outcome_of(found) is outcome


def test_where_no_money_was_asked_for_an_unpriced_attempt_is_charged_none() -> None:
    report = charge(NONE, "m", FULL, 0)
    assert report == Report(FULL, 0, priced=False)
    assert outcome_of(report) is Unpriced.FREE


def test_no_attempt_costs_more_than_a_call_can() -> None:
    dear = PriceBook({}, {}, per_million("10000", "10000"))
    assert charge(dear, "m", Usage(input=MAX_CALL_TOKENS), 0).nano_usd == MAX_CALL_NANO_USD


# --- what a caller hears ----------------------------------------------------------------------------------------------


def checked_quote(*limits: int | None, named: bool) -> Quote:
    """A quote that is checked against the verdict on a path with these money limits, outermost first."""
    path = [
        ScopeView(Scope.parse(f"session:s{number}"), Mode.SOFT, None, limit, Amount(), Amount(), Amount())
        for number, limit in enumerate(limits)
    ]
    found = quote(NONE, "m" if named else None, FULL)
    found.check_priced(gate_answer(path, found.full, found.least, priced=found.priced))
    return found


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [(True, UnknownPrice, "model 'm' has no price, and scope 'session:s1'"), (False, MoneyNeeded, "'session:s1'")],
    ids=["a model without a price", "no model"],
)
def test_the_error_for_a_missing_price_names_the_first_scope_that_limits_money(
    named: bool, error: type[BudgetError], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        checked_quote(None, 70, 80, named=named)
    assert (getattr(raised.value, "scope", None), getattr(raised.value, "limit", None)) == ("session:s1", 70)


def test_without_a_money_limit_no_price_is_needed() -> None:
    assert not checked_quote(None, None, named=False).priced


def test_another_refusal_is_no_need_for_a_price() -> None:
    session = ScopeView(Scope.parse("session:s"), Mode.HARD, 10, 10, Amount(), Amount(), Amount())
    found = quote(NONE, None, FULL, stated=5)
    answer = gate_answer([session], found.full, found.least, priced=found.priced)
    assert answer.verdict is Verdict.REFUSE
    found.check_priced(answer)


def test_the_need_names_the_model_if_there_is_one() -> None:
    assert isinstance(price_needed("m", "session:s", 5), UnknownPrice)
    assert isinstance(price_needed(None, "session:s", 5), MoneyNeeded)
