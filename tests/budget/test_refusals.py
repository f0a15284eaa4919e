"""Refusals: the sentence of figures and the remedy, from the answer of the gate."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from purser.budget.gate import Amount, ScopeView, gate_answer
from purser.budget.money import typed_dollars
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy
from purser.budget.previews import reserve_of
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


def refusal(
    view: ScopeView = SPENT, asked: Amount = ASKED, end: datetime | None = END, *, of_task: bool = False
) -> Refusal:
    return replace(Refusal.of(gate_answer([FREE, view], asked, patient=False), asked, end), of_task=of_task)


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


@pytest.mark.parametrize(
    ("limit", "spent", "share", "last_of", "asked", "most"),
    [
        (1_000, 700, "0.25", 0, 100, 1_069),
        (200_000, 190_000, "0.1", 0, 5_000, 216_670),
        (1_000, 890, "0.333333", 0, 1, 1_339),
        (10, 9, "0.9", 0, 5, 131),
        (1_000, 900, "0.2", 1, 150, 1_050),
        (1_000, 900, "0.2", 4, 150, 1_316),
    ],
)
def test_the_limit_that_the_remedy_names_leaves_the_reserve_of_last_calls(
    limit: int, spent: int, share: str, last_of: int, asked: int, most: int
) -> None:
    def under(limit: int) -> ScopeView:
        reserve = reserve_of(
            Policy(limit_tokens=limit, limit_nano_usd=limit, mode=Mode.HARD, last_answer=Decimal(share))
        )
        used = Amount(spent, spent)
        return ScopeView(
            Scope.parse("task:t1"), Mode.HARD, limit, limit, used, Amount(), Amount(), reserve=reserve, last_of=last_of
        )

    ask = Amount(asked, asked)
    remedy = refusal(under(limit), ask).remedy
    [raised] = re.findall(r"--limit-tokens (\d+)", remedy)
    assert f"--limit-usd {typed_dollars(int(raised))}`" in remedy
    assert gate_answer([under(int(raised))], ask, patient=False).verdict.admits
    assert int(raised) <= most


def test_the_text_names_what_is_reserved_for_last_calls() -> None:
    short = refusal(replace(SPENT, reserve=Amount(100)), Amount(10), end=None)
    assert "(900 tokens spent, 50 tokens held, 100 tokens reserved for last calls, 10 tokens asked)" in short.text
    assert "reserved" not in refusal(replace(SPENT, reserve=Amount(100), last_of=2), Amount(50)).text


def test_a_frozen_scope_does_not_thaw_at_the_end_of_its_period() -> None:
    assert refusal(replace(SPENT, frozen=True)).period_end is None


@pytest.mark.parametrize(
    ("scope", "end", "ways"),
    [
        ("user:ana", None, ", or raise the limit with `purser budget set user:ana --limit-tokens 1430`."),
        ("user:ana", END, "`, or wait until 2026-11-24 00:00 UTC."),
        ("session:s1@day", None, ", or raise the limit with `purser budget set session:s1@day --limit-tokens 1430`."),
        ("task:t1", None, "--limit-tokens 1430`, or submit another task with a higher limit if its task file "),
        ("agent:t1/a", END, "`, submit another task with a higher limit if its task file sets this one, or wait"),
    ],
)
def test_the_remedy_lists_what_helps_also_against_a_limit_that_the_task_itself_requested(
    scope: str, end: datetime | None, ways: str
) -> None:
    remedy = refusal(replace(SPENT, scope=Scope.parse(scope)), end=end, of_task=True).remedy
    assert remedy.startswith("Ask for less, ")
    assert ways in remedy
    assert remedy.count(", or ") == 1


def test_no_command_lowers_the_limit_of_a_session_whose_limit_may_be_that_of_one_task() -> None:
    """The task asked for 1,000 tokens; all others may share a limit of 200,000."""
    view = replace(SPENT, limit_nano_usd=10**9, spent=Amount(900, 9 * 10**8))
    short = refusal(view, Amount(500, 10**9), of_task=True)
    assert short.remedy.startswith(
        "Ask for less, raise the session's own limit to 1,430 tokens and $1.9 or more with "
        "`purser budget set session:s1 --limit-tokens N --limit-usd N`, "
        "submit another task with a higher limit if its task file sets this one, or wait until"
    )
    assert Refusal.parse(short.to_json(), "limit").remedy == short.remedy


def test_without_a_task_no_limit_is_that_of_a_task_file() -> None:
    assert "task" not in refusal().remedy


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


@pytest.mark.parametrize("reason", ["denied", "expired"])
def test_after_a_denial_tasks_are_submitted_anew_and_other_callers_take_another_key(reason: str) -> None:
    of_task = Refusal.parse(refusal().to_json(), reason)
    assert of_task.remedy.endswith(": submit another task, or ask for less.")
    assert replace(of_task, of_task=False).remedy.endswith(": ask again under another key, or ask for less.")


def test_what_is_stored_is_read_again_unchanged() -> None:
    short = refusal(replace(SPENT, reserve=Amount(100, 7)))
    assert Refusal.parse(short.to_json(), "limit") == replace(short, of_task=True)


def test_a_refusal_that_was_stored_before_reserves_were_is_read_without_one() -> None:
    stored = refusal().to_json()
    del stored["reserve"]
    assert Refusal.parse(stored, "limit") == replace(refusal(), of_task=True)
