"""Ceilings of task files."""

from typing import Any

import pytest

from purser.activities.errors import InvalidTask
from purser.activities.tasks.ceilings import Ceilings
from purser.activities.tasks.file import TaskFile
from purser.budget.policies.fields import Mode
from purser.budget.scopes import Kind

CEILINGS = Ceilings(10_000, 10**9, dict.fromkeys(Kind, Mode.APPROVAL))


def check(ceilings: Ceilings, **more: Any) -> None:
    """Checks a task file."""
    agent = {"id": "a", "model": "m", "instructions": "Be brief."}
    file = {"session_id": "s1", "task_id": "t1", "input": "Go.", "agents": [agent]} | more
    TaskFile.parse(file, (), [ceilings.faults])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"budget": {"session": {"limit_tokens": 9_007_199_254_740_991}}}, "PURSER_TASK_LIMIT_CEILING_TOKENS"),
        ({"budget": {"task": {"limit_usd": "1.5"}}}, "PURSER_TASK_LIMIT_CEILING_NANO_USD"),
        ({"budget": {"agent": {"mode": "soft"}}}, "PURSER_MODE"),
        ({"context": {"token_budget_per_agent": 10_001}}, "PURSER_TASK_LIMIT_CEILING_TOKENS"),
        ({"use_case_preset": "long_running"}, "PURSER_TASK_LIMIT_CEILING_TOKENS"),
    ],
)
def test_a_file_above_a_ceiling_is_refused_with_the_setting(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        check(CEILINGS, **asked)


@pytest.mark.parametrize(
    ("ceilings", "bound"),
    [
        (CEILINGS, "PURSER_MODE is approval"),
        (Ceilings(300), "PURSER_TASK_LIMIT_CEILING_TOKENS is 300"),
        (Ceilings(limit_nano_usd=5), "PURSER_TASK_LIMIT_CEILING_NANO_USD is 5"),
    ],
)
def test_a_file_cannot_get_around_what_operators_set(ceilings: Ceilings, bound: str) -> None:
    for kind in ("session", "task", "agent"):
        with pytest.raises(InvalidTask, match=f"{kind}:.*: shadow is true, {bound}; leave it out"):
            check(ceilings, budget={kind: {"shadow": True}})
    with pytest.raises(InvalidTask, match=f"session:s1: window is 2h, {bound}; leave it out"):
        check(ceilings, budget={"session": {"window": "2h"}})
    check(ceilings, budget={"session": {"shadow": False, "window": "lifetime"}, "task": {"window": "day"}, "agent": {}})
    check(Ceilings(), budget={"session": {"shadow": True, "window": "2h"}})


def test_all_that_is_above_a_ceiling_is_named() -> None:
    with pytest.raises(InvalidTask, match=r"session:s1: limit_tokens .*; \$ asks too much for task:t1: mode is soft"):
        check(CEILINGS, budget={"session": {"limit_tokens": 10_001}, "task": {"mode": "soft"}})


def test_a_file_up_to_the_ceilings_and_at_least_as_strict_passes() -> None:
    each = {"limit_tokens": 10_000, "limit_usd": "1", "mode": "hard"}
    check(CEILINGS, budget={"session": each, "task": each, "agent": {"mode": "approval"}})
    check(Ceilings(), budget={"session": {"limit_tokens": 9_007_199_254_740_991, "mode": "soft"}})


def test_the_mode_of_each_kind_of_scope_has_a_ceiling_of_its_own() -> None:
    ceilings = Ceilings(modes={Kind.SESSION: Mode.HARD, Kind.TASK: Mode.APPROVAL})
    check(ceilings, budget={"session": {"mode": "hard"}, "task": {"mode": "approval"}, "agent": {"mode": "soft"}})
    for kind, milder, least in (("session", "approval", "hard"), ("task", "soft", "approval")):
        with pytest.raises(InvalidTask, match=f"mode is {milder}, PURSER_MODE is {least}"):
            check(ceilings, budget={kind: {"mode": milder}})
