"""What pages draw and read, without a browser: pure functions."""

from datetime import UTC, datetime, timedelta

import pytest
from markupsafe import Markup

from activities.postgres.overviews import Cost
from activities.timeline import Step, StepKind, Turn
from budget.entries import EntryKind
from budget.usage_reports import By
from context.postgres.overviews import Grown
from context.postgres.summaries import StoredSummary
from context.summaries import Method, Summary
from gateway.dashboard.ledger_entries import Wanted as WantedEntries
from gateway.dashboard.sessions_charts import history, spreads_over_time
from gateway.dashboard.sessions_list import Wanted as WantedSessions
from gateway.dashboard.tasks_charts import costs_chart, gantt
from gateway.dashboard.tasks_graph import MOST, Node, columns, graph
from gateway.dashboard.tasks_list import Wanted as WantedTasks
from gateway.dashboard.work_words import lasting, long_text
from workflows.contract import TaskStatus

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def turn(agent_id: str, *steps: Step) -> Turn:
    return Turn(agent_id, 1, "m", steps)


def test_each_agent_is_a_lane_and_what_goes_on_reaches_until_now() -> None:
    called = Step(StepKind.CALLED, at(1), None, 10)
    options = gantt([turn("b", Step(StepKind.ADMITTED, at(0), at(0))), turn("a", called)], at(9))
    assert options["yAxis"]["data"] == ["b", "a"]
    series = {one["name"]: one for one in options["series"]}
    [item] = series["called"]["data"]
    assert item["value"] == [1, round(at(1).timestamp() * 1_000), round(at(9).timestamp() * 1_000)]
    assert item["name"] == "a · turn 1 · called · 8.0 s so far · 10 tokens"
    assert options["tooltip"]["renderMode"] == "richText"  # names of others are never written as HTML


def test_costs_stack_models_on_agents() -> None:
    options = costs_chart(
        [Cost("a", "m1", 1, 10, 0), Cost("b", "m2", 2, 20, 0), Cost("b", "m1", 1, 5, 0)], by_money=False
    )
    assert options["yAxis"]["data"] == ["a", "b"]
    assert {one["name"]: one["data"] for one in options["series"]} == {"m1": [10, 5], "m2": [0, 20]}


def test_agents_stand_right_of_those_that_they_wait_for() -> None:
    nodes = [Node("w", "waiting", ("r", "l")), Node("l", "completed", ()), Node("r", "running", ("l",))]
    assert [[node.agent_id for node in column] for column in columns(nodes)] == [["l"], ["r"], ["w"]]
    assert "w (waiting) waits for r, l" in graph(nodes)


def test_a_graph_is_drawn_only_where_it_tells_something() -> None:
    assert graph([Node("a", "running", ()), Node("b", "running", ())]) == ""
    many = [Node(f"a{n}", "running", (f"a{n - 1}",) if n else ()) for n in range(MOST + 1)]
    assert graph(many) == ""


def test_a_compression_makes_the_history_of_a_window_fall() -> None:
    grown = [Grown(seq, at(seq), seq, seq * 100) for seq in (1, 2, 3, 4)]
    made = Summary(1, 1, 2, "", Method.MODEL, "k", 200, 30, "d")
    shown = history(grown, [StoredSummary("", made, at(3.5))])
    assert [(point.seq, point.tokens) for point in shown] == [
        (1, 100),
        (2, 200),
        (3, 300),
        (3, 300),
        (3, 130),
        (4, 230),
    ]


def test_a_conversation_that_came_at_once_does_not_spread_over_time() -> None:
    assert not spreads_over_time([Grown(seq, at(seq / 100), seq, seq) for seq in range(90)])
    assert spreads_over_time([Grown(seq, at(seq), seq, seq) for seq in range(9)])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.012, "12 ms"), (4.26, "4.3 s"), (59, "59 s"), (64, "1 min 4 s"), (7_500, "2 h 5 min"),
     (2e6, "23 days")],
)  # fmt: skip
def test_spans_of_time_are_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


def test_long_texts_are_folded_cut_and_always_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    assert "<script" not in long_text(hostile)
    folded = long_text(hostile * 500, most=1_000)
    assert isinstance(folded, Markup)
    assert "<script" not in folded
    assert "<details" in folded
    assert "11,500 more characters" in folded


def test_addresses_of_lists_are_read_and_what_is_wrong_in_them_is_left_out() -> None:
    assert WantedTasks.read("running", " x\0 ", "17") == WantedTasks(TaskStatus.RUNNING, "x", 17)
    assert WantedTasks.read("asleep", "", "-1") == WantedTasks()
    assert WantedTasks(TaskStatus.PAUSED, "a&b").href(state=None) == "/tasks?q=a%26b"
    assert WantedSessions.read("q", "2026-01-01T12:00:00+00:00~~s~1") == WantedSessions("q", (NOW, "s~1"))
    for bad in ("yesterday~~s", "2026-01-01T12:00:00~~s", "2026", "~~"):
        assert WantedSessions.read("", bad) == WantedSessions()


def read_entries(**given: str) -> WantedEntries:
    fields = dict.fromkeys(("scope", "kind", "task", "since", "until", "cursor", "by"), "")
    return WantedEntries.read(**(fields | given))


def test_filters_of_the_ledger_stand_in_its_addresses() -> None:
    wanted = read_entries(scope="session:s1", kind="settle", since="2026-01-01T12:00", by="task", cursor="9")
    assert (wanted.kind, wanted.since, wanted.by, wanted.cursor) == (EntryKind.SETTLE, NOW, By.TASK, "9")
    assert wanted.href() == "/ledger?scope=session%3As1&kind=settle&from=2026-01-01T12%3A00%3A00Z&by=task"
    assert "cursor=4" in wanted.href(cursor="4")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"scope": "nonsense"}, "has no kind"),
        ({"since": "soon"}, "The time from is none"),
        ({"until": "0000-99"}, "The time to is none"),
        ({"since": "2026-01-02T00:00", "until": "2026-01-01T00:00"}, "is before"),
    ],
)
def test_filters_that_cannot_be_read_are_told(given: dict[str, str], told: str) -> None:
    wanted = read_entries(**given)
    assert told in " ".join(wanted.faults)
    assert read_entries(kind="dream", by="moon", cursor="x").faults == ()
