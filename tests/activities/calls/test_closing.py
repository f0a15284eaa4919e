"""The message that closes the window of a call."""

from purser.activities.calls.closing import budget_line
from purser.budget.gate import NOTHING, Amount, ScopeView
from purser.budget.policies.fields import Mode
from purser.budget.scopes import Scope


def scope(
    name: str, tokens: int | None, spent: int = 0, nano: int | None = None, reserve: Amount = NOTHING
) -> ScopeView:
    return ScopeView(
        Scope.parse(name), Mode.HARD, tokens, nano, Amount(spent, spent), NOTHING, NOTHING, reserve=reserve
    )


def test_the_line_names_what_is_left_for_agent_and_task_rounded_down() -> None:
    views = [scope("agent:t1/a", 50_000, 7_001), scope("task:t1", None, 1, nano=1_000_000_000)]
    expected = "Budget left, at least: 40,000 of 50,000 tokens for you; $0.9 of $1 for the whole task."
    assert budget_line(views) == expected


def test_the_line_names_no_scope_that_others_use_too() -> None:
    others = [scope(name, 7_777_777, nano=8_888_888) for name in ("tenant:acme", "user:u1", "session:s1")]
    assert budget_line(others) == ""
    assert "7,777" not in budget_line([*others, scope("agent:t1/a", 1_000)])


def test_the_line_stays_the_same_within_a_tenth_of_the_limit() -> None:
    lines = [budget_line([scope("agent:t1/a", 1_000, spent)]) for spent in (1, 50, 100, 101)]
    assert [line == lines[0] for line in lines] == [True, True, True, False]


def test_the_line_leaves_out_what_is_reserved_for_last_answers() -> None:
    assert "800 of 1,000" in budget_line([scope("agent:t1/a", 1_000, reserve=Amount(150))])


def test_an_overdrawn_limit_has_nothing_left() -> None:
    assert "0 of 1,000" in budget_line([scope("agent:t1/a", 1_000, 2_000)])
