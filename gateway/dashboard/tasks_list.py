"""Tasks as a list: what is shown, as markup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

from activities.postgres.overviews import TaskRow
from gateway.dashboard.markup import NOTHING, address, empty, exact, join, link, moment, money, tokens
from gateway.dashboard.work_words import by, cell, figure, row, state, table, took, words
from workflows.contract import TaskStatus

PAGE = 50
_ORDER = (
    TaskStatus.RUNNING,
    TaskStatus.WAITING_APPROVAL,
    TaskStatus.PAUSED,
    TaskStatus.COMPLETED,
    TaskStatus.PARTIAL,
    TaskStatus.REFUSED,
    TaskStatus.FAILED,
    TaskStatus.CANCELLED,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks a page shows."""

    state: TaskStatus | None = None
    search: str = ""
    before: int | None = None

    @classmethod
    def read(cls, state_: str, search: str, before: str) -> Self:
        """From the address of the page."""
        known = TaskStatus(state_) if state_ in tuple(TaskStatus) else None
        number = int(before) if before.isascii() and before.isdecimal() and len(before) < 19 else None
        return cls(known, search.strip()[:128].replace("\0", ""), number)

    def href(self, *, state: TaskStatus | None, before: int | None = None) -> str:
        """The page of another state, or of older tasks."""
        return address("/tasks", state=state, q=self.search or None, before=None if before is None else str(before))


def filters(wanted: Wanted, counts: Mapping[TaskStatus, int]) -> Markup:
    """States as links with how many tasks are in each, and a search field."""
    shown = [one for one in _ORDER if counts.get(one) or one is wanted.state]
    links = [_choice(wanted, None, "All", sum(counts.values()))]
    links += [_choice(wanted, one, words(one).capitalize(), counts.get(one, 0)) for one in shown]
    hidden = Markup('<input type="hidden" name="state" value="{}">').format(wanted.state) if wanted.state else NOTHING
    return Markup(
        '<div class="filters"><nav class="chips" aria-label="State">{}</nav>'
        '<form method="get" action="/tasks" role="search" class="search">{}'
        '<label class="sr" for="task-search">Search in ids and submitters</label>'
        '<input id="task-search" type="search" name="q" value="{}" maxlength="128" autocomplete="off" '
        'placeholder="Task, session or submitter"><button class="btn" type="submit">Search</button></form></div>'
    ).format(join(links), hidden, wanted.search)


def _choice(wanted: Wanted, state_: TaskStatus | None, text: str, count: int) -> Markup:
    here = Markup(' aria-current="true"') if state_ is wanted.state else NOTHING
    return Markup('<a href="{}"{}>{} <span class="num">{}</span></a>').format(
        wanted.href(state=state_), here, text, exact(count)
    )


def listing(rows: Sequence[TaskRow], wanted: Wanted) -> Markup:
    """The tasks of one page."""
    if not rows:
        return _nothing(wanted)
    columns = ("Task", "State", "Agents done", "#Tokens", "#Cost", "Session", "Submitted", "#Took")
    listed = table("Tasks", columns, map(_row, rows))
    return Markup('<section class="card">{}{}</section>').format(listed, _pager(rows, wanted))


def _row(one: TaskRow) -> Markup:
    going = Markup('<span class="muted">still going</span>')
    return row(
        one.task_id,
        link(address(f"/tasks/{one.task_id}"), one.task_id, "id"),
        cell(state(one.state)),
        cell(progress(one.agents_ended, one.agents)),
        figure(tokens(one.tokens)),
        figure(money(one.nano_usd)),
        cell(link(address(f"/sessions/{one.session_id}"), one.session_id, "id")),
        cell(moment(one.submitted_at) + by(f"by {one.submitter}" if one.submitter else "")),
        figure(took(one.submitted_at, one.ended_at) if one.ended_at else going),
    )


def progress(done: int, of: int) -> Markup:
    """So many of so many, as a bar and in figures."""
    share = f"{done * 100 / of:.0f}" if of else "0"
    return Markup(
        '<span class="progress"><i aria-hidden="true"><b style="width:{}%"></b></i>'
        '<span class="num">{} of {}</span></span>'
    ).format(share, exact(done), exact(of))


def _pager(rows: Sequence[TaskRow], wanted: Wanted) -> Markup:
    newest = link(wanted.href(state=wanted.state), "Newest", "btn") if wanted.before is not None else NOTHING
    older = NOTHING
    if len(rows) == PAGE:
        older = link(wanted.href(state=wanted.state, before=rows[-1].number), "Older", "btn")
    if not newest and not older:
        return NOTHING
    return Markup('<nav class="pager" aria-label="Older and newer">{}{}</nav>').format(newest, older)


def _nothing(wanted: Wanted) -> Markup:
    if wanted.search:
        return empty("No task matches", Markup('Nothing has “{}” in it. <a href="{}">Show all tasks</a>').format(
            wanted.search, "/tasks"))  # fmt: skip
    if wanted.before is not None:
        return empty("No older tasks", link(wanted.href(state=wanted.state), "Back to the newest"))
    if wanted.state is not None:
        return empty(f"No task is {words(wanted.state)}", link("/tasks", "Show all tasks"))
    return empty(
        "No tasks yet", Markup("Submit one with <code>purser run TASK.json</code> or <code>POST /v1/tasks</code>.")
    )
