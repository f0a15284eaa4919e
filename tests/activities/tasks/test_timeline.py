"""The derivation of turns and steps from rows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from purser.activities.tasks.timeline import Step, StepKind, timeline
from purser.activities.tasks.timeline_rows import Admission, AgentRow, ApprovalWait, Attempt, Compression, TimelineRows
from purser.budget.gate import Amount
from purser.budget.refusals import Refusal
from purser.budget.scopes import Scope

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


CALL = Admission(
    key="k1", agent_id="a", turn=1, model="m", asked_at=at(0), asked_tokens=900, hold_id=7, state="settled",
    held_at=at(0), held_tokens=900, charged_tokens=400, charged_nano=50, ended_at=at(3),
)  # fmt: skip
ATTEMPT = Attempt(
    hold_id=7, attempt=1, state="reported", tokens=400, nano_usd=50, started_at=at(0.4), reported_at=at(3)
)
AGENT = AgentRow(agent_id="a", status="completed", reason="", scope="", ended_at=at(3), ready_at=at(0))
COMPRESSION = Compression(
    thread="", version=2, agent_id="a", ended_at=at(5), began_at=at(4), tokens_before=900, tokens_after=300,
    method="model", trigger="overflow",
)  # fmt: skip


def steps_of(rows: TimelineRows, ended_at: datetime | None = None) -> list[tuple[str, float, float | None]]:
    """Kind, start and end in seconds of every step."""
    return [
        (
            step.kind,
            (step.start - START).total_seconds(),
            None if step.end is None else (step.end - START).total_seconds(),
        )
        for turn in timeline(rows, ended_at)
        for step in turn.steps
    ]


def test_a_plain_turn_is_admitted_called_and_settled() -> None:
    [turn] = timeline(TimelineRows([CALL], [ATTEMPT]))
    assert [step.kind for step in turn.steps] == ["admitted", "called", "settled"]
    assert [step.tokens for step in turn.steps] == [900, 400, 400]
    assert (turn.agent_id, turn.number, turn.model, turn.tokens, turn.nano_usd) == ("a", 1, "m", 400, 50)
    assert (turn.start, turn.end) == (at(0), at(3))


def test_each_step_of_a_ladder_is_named_with_its_scope_and_what_it_changed() -> None:
    taken = [
        {"scope": "tenant:acme", "step": 1, "ratio": 0.5, "compression": 0.625},
        {"scope": "task:t1", "step": 2, "ratio": 0.8, "model": "gpt-4o-mini", "output": 300},
    ]
    [turn] = timeline(TimelineRows([replace(CALL, ladder=taken)], [ATTEMPT]))
    assert [step.kind for step in turn.steps] == ["ladder", "ladder", "admitted", "called", "settled"]
    assert [step.note for step in turn.steps[:2]] == [
        "step 1 of tenant:acme: 62.5 % of the window",
        "step 2 of task:t1: model gpt-4o-mini, 300 output tokens",
    ]


def test_the_pace_of_a_provider_delays_a_call_until_its_first_attempt() -> None:
    paced = replace(CALL, paced_ms=900, delay_ms=100)
    assert steps_of(TimelineRows([paced], [replace(ATTEMPT, started_at=at(1))]))[1:3] == [
        ("delayed", 0, 0.1),
        ("paced", 0.1, 1),
    ]
    waiting = replace(paced, state="held", ended_at=None)
    assert ("paced", 0.1, None) in steps_of(TimelineRows([waiting]))


def test_a_delay_lasts_until_the_first_attempt_or_until_it_is_due() -> None:
    slow = replace(CALL, delay_ms=800)
    assert ("delayed", 0, 0.9) in steps_of(TimelineRows([slow], [replace(ATTEMPT, started_at=at(0.9))]))
    sleeping = replace(slow, state="held", ended_at=None)
    assert ("delayed", 0, 0.8) in steps_of(TimelineRows([sleeping]))


def test_a_call_that_goes_on_has_no_end_until_its_task_ends() -> None:
    open_call = TimelineRows(
        [replace(CALL, state="held", ended_at=None)], [replace(ATTEMPT, state="started", reported_at=None)]
    )
    assert steps_of(open_call)[-1] == ("called", 0.4, None)
    assert timeline(open_call)[0].end is None
    assert steps_of(open_call, at(9))[-1] == ("called", 0.4, 9)


def test_each_attempt_is_a_step_and_presumed_and_late_ones_say_so() -> None:
    lost = replace(ATTEMPT, state="presumed", started_at=at(0.5), reported_at=None)
    late = replace(ATTEMPT, attempt=2, late=True, started_at=at(1))
    [turn] = timeline(TimelineRows([CALL], [late, lost]))
    assert [(s.start, s.end, s.note) for s in turn.steps if s.kind is StepKind.CALLED] == [
        (at(0.5), at(1), "presumed"),
        (at(1), at(3), "late"),
    ]


def test_a_wait_for_open_holds_ends_with_the_hold() -> None:
    assert steps_of(TimelineRows([replace(CALL, held_at=at(2))]))[0] == ("waited", 0, 2)
    assert steps_of(TimelineRows([replace(CALL, held_at=at(0.1))]))[0][0] == "admitted"


def test_a_wait_for_a_person_shows_who_decided() -> None:
    ask = ApprovalWait("k1", "p1", "approved", at(0.2), at(40), 300, "olga")
    [turn] = timeline(TimelineRows([replace(CALL, held_at=at(41))], [], [ask]))
    assert turn.steps[0] == Step(StepKind.ASKED, at(0.2), at(40), 300, note="olga", ref="p1")
    assert "waited" not in [step.kind for step in turn.steps]
    pending = replace(ask, state="pending", until=None, approver=None)
    asked = timeline(
        TimelineRows([replace(CALL, hold_id=None, state="none", held_at=None, ended_at=None)], [], [pending])
    )
    assert (asked[0].steps[0].note, asked[0].end) == ("pending", None)


def test_a_turn_whose_hold_was_lost_is_admitted_again_in_the_same_turn() -> None:
    lost = replace(CALL, state="expired", charged_tokens=0, charged_nano=0)
    again = replace(CALL, key="k2", hold_id=8, asked_at=at(4), held_at=at(4), ended_at=at(6))
    [turn] = timeline(TimelineRows([again, lost]))
    assert [step.kind for step in turn.steps] == ["admitted", "expired", "admitted", "settled"]
    assert turn.tokens == 400


def test_a_refusal_by_the_provider_is_shown_with_its_code() -> None:
    [turn] = timeline(TimelineRows([replace(CALL, state="released", rejected="context_length")]))
    assert [(step.kind, step.note) for step in turn.steps][-2:] == [("rejected", "context_length"), ("released", "")]


def test_an_ask_that_got_nothing_still_waits_and_ends_with_its_task() -> None:
    asked = TimelineRows([replace(CALL, hold_id=None, state="none", held_at=None, ended_at=None)])
    assert steps_of(asked) == [("waited", 0, None)]
    assert steps_of(asked, at(0.1)) == [("waited", 0, 0.1)]


def test_a_compression_belongs_to_the_turn_that_waited_for_it() -> None:
    second = replace(CALL, key="k2", turn=2, hold_id=8, asked_at=at(6), held_at=at(6), ended_at=at(9))
    turns = timeline(TimelineRows([CALL, second], [], [], [COMPRESSION]))
    assert [step.kind for step in turns[1].steps] == ["compressed", "admitted", "settled"]
    assert (turns[1].steps[0].tokens, turns[1].steps[0].note) == (600, "version 2, model, overflow")
    parallel = replace(COMPRESSION, began_at=at(1), ended_at=at(2))
    assert StepKind.COMPRESSED in [
        step.kind for step in timeline(TimelineRows([CALL, second], [], [], [parallel]))[0].steps
    ]


def test_a_compression_without_an_agent_is_outside_any_turn() -> None:
    turns = timeline(TimelineRows([CALL], [], [], [replace(COMPRESSION, agent_id="", began_at=None)]))
    assert [(turn.agent_id, turn.number) for turn in turns] == [("a", 1), ("", 0)]
    assert (turns[1].start, turns[1].end) == (at(5), at(5))


def test_turns_of_concurrent_agents_are_in_the_order_in_which_they_began() -> None:
    other = replace(CALL, key="k9", agent_id="b", hold_id=9, asked_at=at(-1), held_at=at(-1))
    assert [turn.agent_id for turn in timeline(TimelineRows([CALL, other]))] == ["b", "a"]


def test_a_failed_attempt_ends_with_its_reason_and_the_pause_behind_it_is_no_call() -> None:
    busy = replace(ATTEMPT, reported_at=at(1), tokens=0, failure="rate_limited", failed_at=at(0.9))
    broken = replace(ATTEMPT, attempt=2, state="presumed", started_at=at(2), reported_at=None, failure="server_error",
                     failed_at=at(2.1))  # fmt: skip
    last = replace(ATTEMPT, attempt=3, started_at=at(2.5))
    rows = TimelineRows([CALL], [busy, broken, last])
    assert steps_of(rows)[1:-1] == [
        ("called", 0.4, 0.9),
        ("backoff", 0.9, 2),
        ("called", 2, 2.1),
        ("backoff", 2.1, 2.5),
        ("called", 2.5, 3),
    ]
    notes = [step.note for step in timeline(rows)[0].steps if step.kind is StepKind.CALLED]
    assert notes == ["rate_limited", "server_error, presumed", "attempt 3"]


def test_an_agent_is_queued_from_submission_or_its_dependencies_until_it_asks() -> None:
    late = replace(CALL, asked_at=at(2), held_at=at(2))
    assert steps_of(TimelineRows([late], [replace(ATTEMPT, started_at=at(2.1))], agents=[AGENT]))[0] == ("queued", 0, 2)
    assert steps_of(TimelineRows([CALL], [ATTEMPT], agents=[AGENT]))[0][0] == "admitted"
    second = replace(late, turn=2)  # what is before a later turn are tools
    assert steps_of(TimelineRows([second], [replace(ATTEMPT, started_at=at(2.1))], agents=[AGENT]))[0][0] == "admitted"


def test_a_call_that_no_worker_takes_is_queued_after_its_hold_its_delay_or_its_approval() -> None:
    assert steps_of(TimelineRows([CALL], [replace(ATTEMPT, started_at=at(2))]))[:2] == [
        ("admitted", 0, 0),
        ("queued", 0, 2),
    ]
    slow = replace(CALL, delay_ms=200)
    assert steps_of(TimelineRows([slow], [replace(ATTEMPT, started_at=at(2))]))[1:3] == [
        ("delayed", 0, 0.2),
        ("queued", 0.2, 2),
    ]
    ask = ApprovalWait("k1", "ap1", "approved", since=at(0), until=at(1), approver="boss")
    held = replace(CALL, held_at=at(2))
    assert steps_of(TimelineRows([held], [replace(ATTEMPT, started_at=at(2.1))], [ask]))[:3] == [
        ("asked", 0, 1),
        ("queued", 1, 2),
        ("admitted", 2, 2),
    ]


def test_a_delay_names_the_scope_that_causes_it_and_its_ratio() -> None:
    slow = replace(CALL, delay_ms=750, slowed_by="task:t1", slowed_ratio=0.919)
    [note] = [step.note for step in timeline(TimelineRows([slow]))[0].steps if step.kind is StepKind.DELAYED]
    assert note == "750 ms by task:t1 at 91 %"


def test_a_refused_agent_shows_what_it_asked_for_and_the_scope_that_refused() -> None:
    nothing = replace(CALL, hold_id=None, state="none", held_at=None, charged_tokens=0, ended_at=at(0.2))
    refused = replace(AGENT, status="refused", reason="limit", scope="task:t1", ended_at=at(0.3))
    last = timeline(TimelineRows([nothing], agents=[refused]))[0].steps[-1]
    assert (last.kind, last.start, last.tokens, last.note) == (StepKind.REFUSED, at(0.3), 900, "limit, task:t1")


def test_a_refused_agent_shows_the_figures_that_refused_it() -> None:
    nothing = Amount()
    figures = Refusal(Scope.parse("task:t1"), "approval", 1_000, None, nothing, Amount(950), nothing, Amount(900), None)
    short = replace(CALL, hold_id=None, state="none", held_at=None, refusal=figures.to_json())
    denied = replace(AGENT, status="refused", reason="denied", scope="task:t1", ended_at=at(0.3))
    last = timeline(TimelineRows([short], agents=[denied]))[0].steps[-1]
    assert last.note == f"denied: {figures.text}"
