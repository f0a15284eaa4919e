"""Filters and groups of pending requests."""

from dataclasses import replace
from datetime import timedelta

import pytest

from purser.budget.approvals import ApprovalRequest
from purser.budget.gate import Amount
from purser.budget.scopes import Scope
from purser.gateway.dashboard.approvals.together import Filter, grouped
from tests.support.approving import NOW, request, waiter


def short(scope: str, task: str, *path: str, age_min: int = 0) -> ApprovalRequest:
    waiting = replace(waiter(), task_id=task, agent_id="planner", path=path or (scope,))
    return request(
        approval_id=scope,
        scope=Scope.parse(scope),
        waiters=(waiting,),
        created_at=NOW - timedelta(minutes=age_min),
        asked=Amount(1),
    )


ONE = short("agent:t1/planner", "t1", "tenant:x", "session:s1", "task:t1", "agent:t1/planner", age_min=20)
TWO = short("session:s2", "t2", "session:s2", "task:t2")
THREE = short("task:t3", "t3", "session:s1", "task:t3", age_min=5)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, [ONE, TWO, THREE]),
        ({"q": "S2"}, [TWO]),
        ({"q": "t3"}, [THREE]),
        ({"q": "planner"}, [ONE, TWO, THREE]),
        ({"q": "nothing"}, []),
        ({"age": "5"}, [ONE, THREE]),
        ({"age": "15", "q": "t"}, [ONE]),
        ({"age": "-1"}, [ONE, TWO, THREE]),
    ],
)
def test_a_filter_finds_scope_task_agent_and_age(fields: dict[str, str], shown: list[ApprovalRequest]) -> None:
    by = Filter.read(fields)
    assert [one for one in (ONE, TWO, THREE) if by.shows(one, NOW)] == shown


def test_requests_of_one_session_are_listed_together_in_the_order_of_the_first() -> None:
    groups = grouped([ONE, TWO, THREE], Filter(grouped=True))
    assert groups == [("session:s1", [ONE, THREE]), ("session:s2", [TWO])]
    assert grouped([ONE, TWO, THREE], Filter()) == [("", [ONE, TWO, THREE])]
