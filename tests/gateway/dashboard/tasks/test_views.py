"""Charts of a task's page, and URL parameters of the list: pure functions."""

import re
from datetime import UTC, datetime, timedelta

from purser.activities.postgres.calls.calls import Call, StoredCall
from purser.activities.postgres.overviews import Cost, TaskApproval
from purser.activities.tasks.timeline import Step, StepKind, Turn
from purser.budget.gate import Amount
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.tasks.charts import costs_chart, gantt
from purser.gateway.dashboard.tasks.detail import turns_table, window
from purser.gateway.dashboard.tasks.graph import MOST, Node, columns, graph
from purser.gateway.dashboard.tasks.list import Wanted
from purser.workflows.contract import AgentRef, TaskStatus
from tests.support.calls import PLAN

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def turn(agent_id: str, *steps: Step) -> Turn:
    return Turn(agent_id, 1, "m", steps)


def test_each_agent_is_a_lane_and_open_steps_extend_to_now() -> None:
    called = Step(StepKind.CALLED, at(1), None, 10)
    options = gantt([turn("b", Step(StepKind.ADMITTED, at(0), at(0))), turn("a", called)], at(9))
    assert options["yAxis"]["data"] == ["b", "a"]
    series = {one["name"]: one for one in options["series"]}
    [item] = series["called"]["data"]
    assert item["value"] == [1, round(at(1).timestamp() * 1_000), round(at(9).timestamp() * 1_000)]
    assert item["name"] == "a · turn 1 · called · 8.0 s so far · 10 tokens"
    assert options["tooltip"]["renderMode"] == "richText"  # names of others are never written as HTML


def test_a_turn_opens_what_its_call_saw() -> None:
    admitted = Step(StepKind.ADMITTED, at(0), at(0))
    rows = turns_table([Turn("a", 2, "m", (admitted,), key="k 1")], at(9), "t1", None, newest=True)
    assert '<a href="/tasks/t1/calls/k%201" title="What the call saw">2</a>' in rows
    stored = StoredCall(Call(AgentRef("x", "t1", "a"), "k1", 2, "m", PLAN, 5, Amount(1), Amount(1)), NOW, None)
    page = " ".join(re.sub(r"<[^>]+>", " ", window("t1", stored)).split())
    assert "Session 3 to 30 summary version 3 summary 400" in page.lower().replace("session", "Session")
    assert "agent 43 cleared old tool result 17 of 5,000" in page.lower()


def test_a_request_for_money_says_how_much_was_asked_and_granted() -> None:
    money = Amount(0, 250_000_000)
    asked = TaskApproval("r1", "approved", at(0), at(9), "session:s1", asked=money, granted=money)
    shown = re.sub(r"<[^>]+>", "", render("tasks/approvals.html", approvals=[asked]))
    assert "asks for $0.25, $0.25 granted" in " ".join(shown.split())


def test_costs_stack_models_on_agents() -> None:
    options = costs_chart(
        [Cost("a", "m1", 1, 10, 0), Cost("b", "m2", 2, 20, 0), Cost("b", "m1", 1, 5, 0)], by_money=False
    )
    assert options["yAxis"]["data"] == ["a", "b"]
    assert {one["name"]: one["data"] for one in options["series"]} == {"m1": [10, 5], "m2": [0, 20]}


def test_agents_are_right_of_their_dependencies() -> None:
    nodes = [Node("w", "waiting", ("r", "l")), Node("l", "completed", ()), Node("r", "running", ("l",))]
    assert [[node.agent_id for node in column] for column in columns(nodes)] == [["l"], ["r"], ["w"]]
    assert "w (waiting) waits for r, l" in graph(nodes)


def test_a_graph_is_drawn_only_if_it_is_useful() -> None:
    assert graph([Node("a", "running", ()), Node("b", "running", ())]) == ""
    many = [Node(f"a{n}", "running", (f"a{n - 1}",) if n else ()) for n in range(MOST + 1)]
    assert graph(many) == ""


def test_parameters_of_the_list_are_parsed_and_invalid_ones_ignored() -> None:
    assert Wanted.read("running", " x\0 ", "17") == Wanted(TaskStatus.RUNNING, "x", 17)
    assert Wanted.read("asleep", "", "-1") == Wanted()
    assert Wanted(TaskStatus.PAUSED, "a&b").href(state=None) == "/tasks?q=a%26b"
