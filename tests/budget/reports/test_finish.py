"""The range of what a task may still spend."""

from purser.budget.gate import Amount
from purser.budget.reports.finish import AgentProgress, Finish, finish


def test_the_range_is_one_more_cheap_turn_to_all_expensive_ones() -> None:
    agent = AgentProgress(ended=False, turns_left=3, charged=(Amount(100, 7), Amount(400, 5)))
    assert finish([agent]) == Finish(Amount(100, 5), Amount(1_200, 21), turns=2)


def test_an_agent_that_has_ended_only_adds_to_the_history() -> None:
    done = AgentProgress(ended=True, turns_left=9, charged=(Amount(50, 1),))
    fresh = AgentProgress(ended=False, turns_left=1, charged=())
    assert finish([done, fresh]) == Finish(Amount(50, 1), Amount(50, 1), turns=1)
    assert finish([done]) == Finish(Amount(), Amount(), turns=1)


def test_without_any_turn_it_is_unknown() -> None:
    assert finish([AgentProgress(ended=False, turns_left=20, charged=())]) is None
    assert finish([]) is None


def test_the_turn_that_waits_counts_where_none_is_left() -> None:
    last = AgentProgress(ended=False, turns_left=0, charged=(Amount(10, 0),))
    assert finish([last]) == Finish(Amount(10), Amount(10), turns=1)
