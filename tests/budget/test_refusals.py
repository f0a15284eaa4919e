"""Refusals: the sentence of figures and the remedy, from the answer of the gate."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from purser.budget.gate import Amount, ScopeView, gate_answer
from purser.budget.policies.fields import Mode
from purser.budget.refusals import Refusal
from purser.budget.scopes import Scope

END = datetime(2026, 11, 24, tzinfo=UTC)
SPENT = ScopeView(
    scope=Scope.parse("session:s1"),
    mode=Mode.HARD,
    limit_tokens=1_000,
    limit_nano_usd=None,
    spent=Amount(900),
    held=Amount(50),
    granted=Amount(20),
)
FREE = ScopeView(Scope.parse("tenant:default"), Mode.HARD, None, None, Amount(), Amount(), Amount())


ASKED = Amount(500)


def refusal(view: ScopeView = SPENT, asked: Amount = ASKED, end: datetime | None = END) -> Refusal:
    return Refusal.of(gate_answer([FREE, view], asked, patient=False), asked, end)


def test_the_text_names_scope_limit_grants_figures_and_the_end_of_the_period() -> None:
    assert refusal().text == (
        "session:s1 may spend 1,000 tokens and 20 tokens granted (900 tokens spent, 50 tokens held, 500 tokens asked), "
        "until 2026-11-24 00:00 UTC."
    )
    assert "until" not in refusal(end=None).text


def test_money_is_named_where_it_is_limited() -> None:
    view = ScopeView(SPENT.scope, Mode.HARD, None, 10**9, Amount(0, 9 * 10**8), Amount(), Amount())
    short = refusal(view, Amount(10, 2 * 10**8))
    assert "may spend $1.00 ($0.90 spent, $0.00 held, $0.20 asked)" in short.text
    assert "--limit-usd 1.1`" in short.remedy


def test_the_limit_that_the_remedy_names_lets_the_same_ask_pass() -> None:
    [raised] = re.findall(r"--limit-tokens (\d+)", refusal().remedy)
    fits = ScopeView(SPENT.scope, Mode.HARD, int(raised), None, SPENT.spent, SPENT.held, SPENT.granted)
    one_less = ScopeView(SPENT.scope, Mode.HARD, int(raised) - 1, None, SPENT.spent, SPENT.held, SPENT.granted)
    assert gate_answer([fits], Amount(500), patient=False).verdict.admits
    assert not gate_answer([one_less], Amount(500), patient=False).verdict.admits
    assert "wait until 2026-11-24 00:00 UTC" in refusal().remedy
    assert "wait" not in refusal(end=None).remedy


def test_a_frozen_scope_does_not_thaw_at_the_end_of_its_period() -> None:
    assert refusal(replace(SPENT, frozen=True)).period_end is None


@pytest.mark.parametrize(
    ("scope", "end", "ways"),
    [
        ("user:ana", None, ", or raise the limit with `purser budget set user:ana --limit-tokens 1430`."),
        ("user:ana", END, "`, or wait until 2026-11-24 00:00 UTC."),
        ("task:t1", None, "--limit-tokens 1430`, or submit another task if the limit is that of its task file."),
        ("agent:t1/a", END, "`, submit another task if the limit is that of its task file, or wait until 2026-11-24"),
    ],
)
def test_the_remedy_lists_what_helps_also_against_a_limit_that_the_task_itself_requested(
    scope: str, end: datetime | None, ways: str
) -> None:
    remedy = refusal(replace(SPENT, scope=Scope.parse(scope)), end=end).remedy
    assert remedy.startswith("Ask for less, ")
    assert ways in remedy
    assert remedy.count(", or ") == 1


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("frozen", "purser budget set session:s1 --no-frozen"),
        ("denied", "A person denied"),
        ("expired", "No one decided in time"),
        ("approval", "An approver has to grant session:s1 more"),
        ("unknown_price", "PURSER_PRICE_FILE"),
    ],
)
def test_each_reason_has_one_sentence_of_remedy(reason: str, said: str) -> None:
    remedy = Refusal.parse(refusal().to_json(), reason).remedy
    assert said in remedy
    assert remedy.endswith(".")
    assert ". " not in remedy


def test_what_is_stored_is_read_again_unchanged() -> None:
    assert Refusal.parse(refusal().to_json(), "limit") == refusal()
