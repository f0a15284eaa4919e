"""The list of tasks: its URL parameters, and how it is rendered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

from purser.activities.postgres.overviews import TaskRow
from purser.budget.texts import number_of
from purser.gateway.dashboard.amounts import plain_text
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.formats import address, words
from purser.workflows.contract import TaskStatus

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
    """The tasks that a page shows."""

    state: TaskStatus | None = None
    search: str = ""
    before: int | None = None

    @classmethod
    def read(cls, state_: str, search: str, before: str) -> Self:
        """Parses the parameters of the URL; those that are not valid are ignored."""
        known = TaskStatus(state_) if state_ in tuple(TaskStatus) else None
        return cls(known, plain_text(search), number_of(before))

    def href(self, *, state: TaskStatus | None, before: int | None = None) -> str:
        """URL of the tasks in another state, or of older tasks."""
        return address("/tasks", state=state, q=self.search, before=before)


def filters(wanted: Wanted, counts: Mapping[TaskStatus, int]) -> Markup:
    """Links to the states with the number of tasks in each, and a search form."""
    states = [(wanted.href(state=None), "All", wanted.state is None, sum(counts.values()))]
    for one in _ORDER:
        if counts.get(one) or one is wanted.state:
            name = words(one).capitalize()
            states.append((wanted.href(state=one), name, one is wanted.state, counts.get(one, 0)))
    return render("tasks/filters.html", states=states, wanted=wanted)


def listing(rows: Sequence[TaskRow], wanted: Wanted) -> Markup:
    """The table of tasks."""
    newest = wanted.href(state=wanted.state) if wanted.before is not None else None
    older = wanted.href(state=wanted.state, before=rows[-1].number) if len(rows) == PAGE else None
    return render("tasks/list.html", tasks=rows, wanted=wanted, newest=newest, older=older)
