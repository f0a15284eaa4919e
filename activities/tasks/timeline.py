"""The timeline of a task, turn by turn: a pure function from database rows to steps that a page can draw.

A turn is admitted, delayed, called and settled. Before that it may wait for open holds of others or for an approval. A
turn whose hold was lost is admitted again, and all its steps belong to the same turn.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import zip_longest
from typing import TypeVar

from purser.activities.tasks.timeline_rows import Admission, AgentRow, ApprovalWait, Attempt, Compression, TimelineRows
from purser.budget.climbs import step_text
from purser.budget.refusals import Refusal

T = TypeVar("T")
K = TypeVar("K")

NOTICEABLE = timedelta(milliseconds=500)
"""Shorter waits are not shown."""
LAST_ANSWER = "last answer"
"""The note of an agent's last call, which used what budgets reserve for it."""
LONGEST_SLEEP = 1.2
"""Longest sleep as a multiple of the delay: the workflow adds up to a fifth at random."""


class StepKind(StrEnum):
    """The kinds of steps in a turn, in the order in which they happen."""

    QUEUED = "queued"
    """The turn waited for a worker, or for the end of a pause."""
    WAITED = "waited"
    """The turn waited for open holds of others."""
    ASKED = "asked"
    """The turn waited for an approval."""
    REFUSED = "refused"
    """Nothing was held, and the agent ended."""
    LADDER = "ladder"
    """The call took a step of a ladder, and asked for less."""
    ADMITTED = "admitted"
    DELAYED = "delayed"
    """Backpressure delayed the call."""
    COMPRESSED = "compressed"
    CALLED = "called"
    """One attempt at the provider."""
    PACED = "paced"
    """The provider's pace delayed the call."""
    BACKED_OFF = "backoff"
    """The pause between a failed attempt and the next one."""
    SETTLED = "settled"
    RELEASED = "released"
    """The hold ended without a reply."""
    EXPIRED = "expired"
    """The lease of the hold ended."""
    REJECTED = "rejected"
    """The provider refused the request for good."""


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a turn. A momentary step ends when it starts; a step that has not ended has no end."""

    kind: StepKind
    start: datetime
    end: datetime | None
    tokens: int = 0
    """Tokens held, asked for, charged or saved, depending on the kind."""
    nano_usd: int = 0
    note: str = ""
    """A stable code or a name, never text of the conversation."""
    ref: str = ""
    """Id of the approval request or of the hold."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one agent."""

    agent_id: str
    number: int
    """From 1; 0 for steps outside any turn."""
    model: str
    steps: tuple[Step, ...]
    tokens: int = 0
    """Tokens charged."""
    nano_usd: int = 0
    """Nano-dollars charged."""
    capped: bool = False
    """Whether the reply was cut at a reduced output cap."""
    key: str = ""
    """Key of its last call; empty outside any turn."""

    @property
    def start(self) -> datetime:
        """When the turn began."""
        return self.steps[0].start

    @property
    def end(self) -> datetime | None:
        """When the turn ended; `None` while a step is running."""
        ends = [step.end for step in self.steps]
        return None if None in ends else max(end for end in ends if end)


def timeline(rows: TimelineRows, ended_at: datetime | None = None) -> tuple[Turn, ...]:
    """Returns turns in the order in which they began, each compression in the turn in which it happened.

    Args:
        rows: the rows of the turns.
        ended_at: end of the task, which ends all its steps; `None`: it is running.
    """
    attempts = _by(rows.attempts, lambda one: one.hold_id)
    approval_waits = _by(rows.approval_waits, lambda one: one.key)
    turns = _by(sorted(rows.admissions, key=lambda one: (one.asked_at, one.key)), lambda one: (one.agent_id, one.turn))
    steps = {
        turn: [
            step
            for one, following in zip_longest(admissions, admissions[1:])
            for step in _steps(
                _until_last(one, following),
                attempts.get(one.hold_id or 0, ()),
                approval_waits.get(one.key, ()),
                ended_at,
            )
        ]
        for turn, admissions in turns.items()
    }
    for agent in rows.agents:
        _add_boundaries(agent, turns, steps)
    outside: dict[str, list[Step]] = {}
    for compression in rows.compressions:
        turn = _turn_of(compression, steps)
        (steps[turn] if turn else outside.setdefault(compression.agent_id, [])).append(_compressed(compression))
    shown = [_turn(turn, turns[turn], steps[turn]) for turn in turns]
    shown += [Turn(agent_id, 0, "", (step,)) for agent_id, alone in outside.items() for step in alone]
    return tuple(sorted(shown, key=lambda turn: (turn.start, turn.agent_id, turn.number)))


def _steps(
    one: Admission, attempts: Iterable[Attempt], approval_waits: Iterable[ApprovalWait], ended_at: datetime | None
) -> Iterable[Step]:
    """Steps of one admission, in order."""
    for step in one.ladder:
        yield Step(StepKind.LADDER, one.asked_at, one.asked_at, one.asked_tokens, note=step_text(step))
    asked = [
        Step(StepKind.ASKED, ask.since, ask.until or ended_at, ask.tokens, note=ask.approver or ask.state,
             ref=ask.approval_id)
        for ask in sorted(approval_waits, key=lambda ask: ask.since)
    ]  # fmt: skip
    attempts = sorted(attempts, key=lambda attempt: attempt.attempt)
    if not asked and (waited := _waited(one, ended_at)):
        yield waited
    yield from asked
    if one.held_at is not None:
        if asked and asked[-1].end is not None:
            yield from _gap(StepKind.QUEUED, asked[-1].end, one.held_at)
        note = LAST_ANSWER if one.last else f"would {one.would}" if one.would else ""
        yield Step(StepKind.ADMITTED, one.held_at, one.held_at, one.held_tokens, note=note, ref=str(one.hold_id))
        slept = _slept(one, attempts)
        if one.delay_ms > 0:
            yield Step(StepKind.DELAYED, one.held_at, slept, note=_slow(one))
        if one.paced_ms > 0:
            until = attempts[0].started_at if attempts else one.ended_at or ended_at
            yield Step(StepKind.PACED, slept, until, note=f"{one.paced_ms} ms by the pace of {one.model}")
        elif attempts:
            yield from _gap(StepKind.QUEUED, slept, attempts[0].started_at)
    yield from _calls(one, attempts, ended_at)
    yield from _ended(one)


def _until_last(one: Admission, following: Admission | None) -> Admission:
    """The admission; if nothing was held and the agent made its last call instead, it ended with that."""
    return replace(one, ended_at=following.asked_at) if following and following.last and not one.held_at else one


def _calls(one: Admission, attempts: Sequence[Attempt], ended_at: datetime | None) -> Iterable[Step]:
    """Attempts with their results, and the pauses between them."""
    for attempt, following in zip_longest(attempts, attempts[1:]):
        end = attempt.failed_at or attempt.reported_at
        if end is None and attempt.state != "reported":
            end = following.started_at if following else one.ended_at
        end = _not_before(end or ended_at, attempt.started_at)
        late = "late" if attempt.late else attempt.state if attempt.state == "presumed" else ""
        outcome = ", ".join(part for part in (attempt.failure, late) if part)
        note = outcome or f"attempt {attempt.attempt}"
        yield Step(StepKind.CALLED, attempt.started_at, end, attempt.tokens, attempt.nano_usd, note=note,
                   ref=str(attempt.hold_id))  # fmt: skip
        if following and end is not None and end < following.started_at:
            yield Step(StepKind.BACKED_OFF, end, following.started_at)


def _gap(kind: StepKind, start: datetime, end: datetime) -> Iterable[Step]:
    """A wait, if it is long enough to be shown."""
    if end - start >= NOTICEABLE:
        yield Step(kind, start, end)


def _add_boundaries(
    agent: AgentRow, turns: Mapping[tuple[str, int], Sequence[Admission]], steps: Mapping[tuple[str, int], list[Step]]
) -> None:
    """Adds the wait before the first turn of an agent, and the refusal after its last one."""
    own = sorted(turn for turn in turns if turn[0] == agent.agent_id)
    if not own:
        return
    if own[0][1] == 1:
        steps[own[0]][:0] = _gap(StepKind.QUEUED, agent.ready_at, turns[own[0]][0].asked_at)
    last = turns[own[-1]][-1]
    if agent.status == "refused" and last.held_at is None:
        at = agent.ended_at or last.ended_at or last.asked_at
        shown = ", ".join(part for part in (agent.reason, agent.scope) if part)
        if last.refusal is not None:
            shown = f"{agent.reason}: {Refusal.parse(last.refusal, agent.reason).text}"
        steps[own[-1]].append(Step(StepKind.REFUSED, at, at, last.asked_tokens, note=shown))


def _slow(one: Admission) -> str:
    """The length of a delay and the scope that caused it."""
    used = "" if one.slowed_ratio is None else f" at {int(one.slowed_ratio * 100)} %"
    return f"{one.delay_ms} ms" + (f" by {one.slowed_by}{used}" if one.slowed_by else "")


def _waited(one: Admission, ended_at: datetime | None) -> Step | None:
    """The wait before a hold; if an ask was never admitted, until its key was closed."""
    if one.held_at is not None and one.held_at - one.asked_at < NOTICEABLE:
        return None
    end = one.held_at or one.ended_at or ended_at
    return Step(StepKind.WAITED, one.asked_at, end, one.asked_tokens)


def _slept(one: Admission, attempts: Sequence[Attempt]) -> datetime:
    """The end of a delay: its due time, or the first attempt if that came within the random extra share."""
    assert one.held_at is not None
    delay = timedelta(milliseconds=one.delay_ms)
    due = one.held_at + delay
    if attempts:
        first = attempts[0].started_at
        return first if first <= one.held_at + delay * LONGEST_SLEEP + NOTICEABLE else due
    return min(due, one.ended_at) if one.ended_at else due


def _ended(one: Admission) -> Iterable[Step]:
    if one.rejected is not None:
        at = one.ended_at or one.held_at or one.asked_at
        yield Step(StepKind.REJECTED, at, at, one.charged_tokens, one.charged_nano, note=one.rejected)
    if one.ended_at is None or one.held_at is None or one.state is None:
        return
    kind = {"settled": StepKind.SETTLED, "expired": StepKind.EXPIRED}.get(one.state, StepKind.RELEASED)
    yield Step(kind, one.ended_at, one.ended_at, one.charged_tokens, one.charged_nano, ref=str(one.hold_id))


def _turn_of(compression: Compression, steps: Mapping[tuple[str, int], Sequence[Step]]) -> tuple[str, int] | None:
    """The last turn of the agent that had begun, or was about to begin, when the compression began."""
    began = compression.began_at or compression.ended_at
    own = [(turn, done) for turn, done in steps.items() if turn[0] == compression.agent_id and done]
    before = [(done[0].start, turn) for turn, done in own if done[0].start <= began]
    after = [(done[0].start, turn) for turn, done in own if done[0].start > began]
    # A compression for which a turn waits runs before any row of that turn is stored.
    running = [turn for start, turn in before if (end := steps[turn][-1].end) is None or end >= began]
    if running:
        return running[-1]
    if after:
        return min(after)[1]
    return max(before)[1] if before else None


def _compressed(one: Compression) -> Step:
    saved = one.tokens_before - one.tokens_after
    note = f"version {one.version}, {one.method}, {one.trigger}"
    return Step(StepKind.COMPRESSED, one.began_at or one.ended_at, one.ended_at, saved, note=note)


def _turn(turn: tuple[str, int], admissions: Sequence[Admission], steps: Sequence[Step]) -> Turn:
    last = admissions[-1]
    return Turn(
        agent_id=turn[0],
        number=turn[1],
        model=last.model,
        steps=tuple(sorted(steps, key=lambda step: step.start)),
        tokens=sum(one.charged_tokens for one in admissions),
        nano_usd=sum(one.charged_nano for one in admissions),
        capped=any(one.capped for one in admissions),
        key=last.key,
    )


def _not_before(end: datetime | None, start: datetime) -> datetime | None:
    return end if end is None else max(end, start)


def _by(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
