"""Renders the regions of one task's page."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from purser.activities.postgres.calls.calls import StoredCall
from purser.activities.postgres.overviews import Cost, PlannedAgent
from purser.activities.tasks.timeline import Step, StepKind, Turn
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind
from purser.budget.usage import Usage
from purser.context.windows.reports import spans
from purser.gateway.dashboard.components import Bar, bar, render
from purser.gateway.dashboard.formats import address, dollars, duration_text, exact, words
from purser.gateway.dashboard.tasks.charts import COLOURS, INSTANTS, OWN
from purser.gateway.tasks.control import Steer
from purser.wire.enums import LIVE_TASKS
from purser.workflows.contract import TaskRef, TaskStatus

Shown = Mapping[str, Any]
"""A task as `Tasks.get` returns it."""


def header(task: Shown, ref: TaskRef, workflow_url: str | None, now: datetime) -> Markup:
    """The facts and state of the task, with a link to its workflow."""
    return render(
        "tasks/header.html",
        task=task,
        began=task["submitted_at"],
        ended=task["ended_at"],
        now=now,
        workflow_url=workflow_url,
        workflow_id=ref.workflow_id,
    )


def controls(status: str, *, may: bool) -> Markup:
    """Buttons for the actions that are possible now."""
    ways: list[tuple[Steer, str, str]] = []
    if status in LIVE_TASKS:
        way = Steer.RESUME if status == TaskStatus.PAUSED else Steer.PAUSE
        ways = [(way, way.capitalize(), ""), (Steer.CANCEL, "Cancel task", "danger")]
    return render("tasks/controls.html", ways=ways, may=may)


_ASKED: Mapping[Steer, tuple[str, str, str]] = {
    Steer.PAUSE: (
        "Pause this task?",
        "Its agents stop before their next model call. Calls under way are finished and paid for; nothing is held "
        "while it is paused.",
        "Pause",
    ),
    Steer.RESUME: ("Resume this task?", "Its agents continue where they stopped.", "Resume"),
    Steer.CANCEL: (
        "Cancel this task?",
        "It ends within seconds and releases what it holds. What it has spent stays spent. This cannot be undone.",
        "Cancel task",
    ),
}


def dialogs() -> Markup:
    """The dialogs that ask for confirmation of each action."""
    questions = [(way, *question, "danger" if way is Steer.CANCEL else "main-act") for way, question in _ASKED.items()]
    return render("tasks/dialogs.html", questions=questions)


def agents(task: Shown, plans: Mapping[str, PlannedAgent], graph: Markup) -> Markup:
    """The agents: state, usage and reply of each."""
    listed = [(name, agent, Usage.from_dict(agent["usage"]), plans.get(name)) for name, agent in task["agents"].items()]
    return render("tasks/agents.html", task_id=task["task_id"], agents=listed, graph=graph)


def budgets(views: Sequence[BudgetView]) -> Markup:
    """The budgets that the task draws on, as bars."""
    return render("tasks/budgets.html", budgets=[(view, _short(view), _lines(view)) for view in views])


def _short(view: BudgetView) -> str:
    """The scope; an agent's without the task id in front of its name."""
    return f"agent:{view.scope.id.rpartition('/')[2]}" if view.scope.kind is Kind.AGENT else str(view.scope)


def _lines(view: BudgetView) -> list[tuple[Bar, str]]:
    """Bar and figures of each limited unit; of tokens if none is limited."""
    policy, spent, held, granted, lines = view.policy, view.spent, view.held, view.granted, []
    if (most := policy.limit_tokens) is not None or policy.limit_nano_usd is None:
        shown = bar(spent.tokens, held.tokens, most, granted.tokens)
        lines.append((shown, _figures(exact, spent.tokens, held.tokens, most, granted.tokens)))
    if (nano := policy.limit_nano_usd) is not None:
        shown = bar(spent.nano_usd, held.nano_usd, nano, granted.nano_usd, unit="nano-dollars")
        lines.append((shown, _figures(dollars, spent.nano_usd, held.nano_usd, nano, granted.nano_usd)))
    return lines


def _figures(form: Callable[[int], str], spent: int, held: int, limit: int | None, granted: int) -> str:
    most = "no limit" if limit is None else f"of {form(limit)}" + (f" + {form(granted)} granted" if granted else "")
    return f"{form(spent)}{f' and {form(held)} held' if held else ''} {most}"


def costs_table(costs: Sequence[Cost]) -> Markup:
    """Cost per agent and model, with the sum."""
    return render("tasks/costs.html", costs=costs, own=OWN)


def turns_table(turns: Sequence[Turn], now: datetime, task_id: str, older: datetime | None, *, newest: bool) -> Markup:
    """The turns in rows, newest first, each with its steps."""
    here = f"/tasks/{task_id}"
    return render(
        "tasks/turns.html",
        here=here,
        turns=turns,
        own=OWN,
        instants=INSTANTS,
        colours=COLOURS,
        step_figure=lambda step: _step_figure(step, now),
        newest=None if newest else address(here),
        older=None if older is None else address(here, before=older.isoformat()),
    )


def window(task_id: str, stored: StoredCall) -> Markup:
    """What a call saw, part by part."""
    return render(
        "tasks/window.html", task_id=task_id, stored=stored, plan=stored.call.plan, parts=spans(stored.call.plan)
    )


def _step_figure(step: Step, now: datetime) -> str:
    """The most important figure of a step."""
    duration = ((step.end or max(now, step.start)) - step.start).total_seconds()
    match step.kind:
        case StepKind.ADMITTED:
            return f"{exact(step.tokens)} held"
        case StepKind.SETTLED | StepKind.RELEASED | StepKind.EXPIRED:
            return f"{exact(step.tokens)} charged"
        case StepKind.COMPRESSED:
            return f"−{exact(step.tokens)} tokens"
        case StepKind.ASKED:
            return f"{duration_text(duration)}, {step.note}"
        case StepKind.REJECTED:
            return step.note
        case StepKind.REFUSED:
            return f"{exact(step.tokens)} asked, {step.note}"
        case StepKind.DELAYED:
            return f"{duration_text(duration)} ({step.note})"
        case _:
            plain = not step.note or step.note.startswith("attempt ")
            return duration_text(duration) + ("" if plain else f", {words(step.note)}")
