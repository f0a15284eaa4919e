"""One task: what is shown, as markup."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from activities.postgres.overviews import Cost, PlannedAgent, TaskApproval
from activities.timeline import Step, StepKind, Turn
from budget.scopes import Kind
from budget.usage import Usage
from budget.views import BudgetView
from gateway.dashboard.markup import (
    NOTHING,
    address,
    bar,
    dollars,
    exact,
    join,
    link,
    moment,
    money,
    percent,
    plural,
    scope_name,
    tag,
    tokens,
)
from gateway.dashboard.tasks_charts import INSTANTS, OWN
from gateway.dashboard.work_words import (
    by,
    cell,
    definition,
    figure,
    lasting,
    long_text,
    row,
    section,
    state,
    table,
    took,
    words,
)
from gateway.steering import LIVE, Steer
from workflows.contract import TaskStatus

Shown = Mapping[str, Any]
"""A task as `Tasks.get` tells it."""


def ended_at(task: Shown) -> datetime | None:
    """When a task ended."""
    return datetime.fromisoformat(task["ended_at"]) if task["ended_at"] else None


def header(task: Shown, workflow: Markup, now: datetime) -> Markup:
    """What the task is and how it stands, with a link to its workflow."""
    began, ended = datetime.fromisoformat(task["submitted_at"]), ended_at(task)
    facts = (
        definition("State", state(task["status"])),
        definition("User", task["user_id"] or ""),
        definition("Session", link(address(f"/sessions/{task['session_id']}"), task["session_id"])),
        definition(
            "Submitted",
            Markup("{}{}").format(moment(began, "second"), f" by {task['submitter']}" if task["submitter"] else ""),
        ),
        definition("Ended", moment(ended, "second") if ended else NOTHING),
        definition("Took" if ended else "Going on for", took(began, ended or now)),
        definition("Workflow", workflow),
        definition("Ledger", link(address("/ledger", task=task["task_id"]), "its entries")),
    )
    return Markup('<dl class="facts">{}</dl>').format(join(facts))


def controls(status: str, *, may: bool) -> Markup:
    """Buttons of what can be done to a task now."""
    if status not in LIVE:
        return NOTHING
    if not may:
        return Markup('<p class="note">Your role may look at tasks, not steer them.</p>')
    ways = [Steer.RESUME] if status == TaskStatus.PAUSED else [Steer.PAUSE]
    buttons = [
        Markup('<button type="button" class="btn" data-opens="confirm-{}">{}</button>').format(way, way.capitalize())
        for way in ways
    ]
    buttons.append(
        Markup('<button type="button" class="btn danger" data-opens="confirm-{}">Cancel task</button>').format(
            Steer.CANCEL
        )
    )
    return Markup('<div class="acts">{}</div>').format(join(buttons))


_ASKED: Mapping[Steer, tuple[str, str, str]] = {
    Steer.PAUSE: (
        "Pause this task?",
        "Its agents stop before their next model call. Calls under way are finished and paid for; nothing is held "
        "while it is paused.",
        "Pause",
    ),
    Steer.RESUME: ("Resume this task?", "Its agents go on where they stopped.", "Resume"),
    Steer.CANCEL: (
        "Cancel this task?",
        "It ends within seconds and gives back what it holds. What it has spent stays spent. This cannot be undone.",
        "Cancel task",
    ),
}


def dialogs() -> Markup:
    """Asks before anything is done."""
    return join(
        Markup(
            '<dialog id="confirm-{way}" aria-labelledby="confirm-{way}-title"><form data-act="{way}">'
            '<h2 id="confirm-{way}-title">{title}</h2><p>{text}</p><div class="acts">'
            '<button type="submit" class="btn {css}" data-closes>{yes}</button>'
            '<button type="button" class="btn" data-closes autofocus>Back</button></div></form></dialog>'
        ).format(way=way, title=title, text=text, yes=yes, css="danger" if way is Steer.CANCEL else "main-act")
        for way, (title, text, yes) in _ASKED.items()
    )


def agents(task: Shown, plans: Mapping[str, PlannedAgent], picture: Markup) -> Markup:
    """The agents: how they stand, what they used, what they replied."""
    rows = (_agent(task["task_id"], name, shown, plans.get(name)) for name, shown in task["agents"].items())
    columns = ("Agent", "State", "#Turns", "#Input", "#Output", "#Cost", "#Delayed", "Reply")
    return section("Agents", picture + table("Agents", columns, rows))


def _agent(task_id: str, name: str, shown: Shown, plan: PlannedAgent | None) -> Markup:
    usage = Usage.from_dict(shown["usage"])
    reply = long_text(shown["reply"], lines=2) if shown["reply"] else Markup('<span class="muted">none yet</span>')
    return row(
        name,
        link(address("/ledger", scope=f"agent:{task_id}/{name}"), name, "id") + by(plan.model if plan else ""),
        cell(state(shown["status"]) + by(_why(shown)) + _marks(shown)),
        figure(exact(shown["turns"])),
        figure(
            tokens(usage.total - usage.output) + by(f"{exact(usage.cache_read)} cached" if usage.cache_read else "")
        ),
        figure(tokens(usage.output)),
        figure(money(shown["nano_usd"])),
        figure(lasting(shown["delay_ms"] / 1_000) if shown["delay_ms"] else "—"),
        cell(reply, "wide"),
    )


def _why(shown: Shown) -> str:
    """Why an agent ended or waits, where that is not as one wishes."""
    if shown["status"] in ("completed", "running", "waiting"):
        return ""
    return words(shown["reason"]) + (f": {shown['scope']}" if shown["scope"] else "")


def _marks(shown: Shown) -> Markup:
    marks = (
        tag(f"overrun {exact(shown['overrun'])}", "warn") if shown["overrun"] else NOTHING,
        tag("output capped", "warn") if shown["output_capped"] else NOTHING,
        tag(f"{shown['approvals']} {plural(shown['approvals'], 'approval')}") if shown["approvals"] else NOTHING,
    )
    return join(marks)


def budgets(views: Sequence[BudgetView]) -> Markup:
    """The budgets that the task draws on, as bars."""
    return section("Budgets", Markup('<div class="budgets">{}</div>').format(join(_budget(view) for view in views)))


def _budget(view: BudgetView) -> Markup:
    policy, figures = view.policy, []
    if policy.limit_tokens is not None or policy.limit_nano_usd is None:
        figures.append(_line(view.spent.tokens, view.held.tokens, policy.limit_tokens, view.granted.tokens, "tokens"))
    if policy.limit_nano_usd is not None:
        figures.append(
            _line(view.spent.nano_usd, view.held.nano_usd, policy.limit_nano_usd, view.granted.nano_usd, "nano")
        )
    return Markup('<div class="budget" data-key="{}"><h3>{}</h3><p class="note">{}{}</p>{}</div>').format(
        str(view.scope),
        link(address("/budgets", scope=str(view.scope)), _short(view)),
        f"{policy.mode} · {policy.window} · {percent(view.ratio)}",
        Markup(" {}").format(tag("frozen", "bad")) if policy.frozen else NOTHING,
        join(figures),
    )


def _short(view: BudgetView) -> Markup:
    """An agent without the task that all of them have in common."""
    if view.scope.kind is Kind.AGENT:
        return scope_name(f"agent:{view.scope.id.rpartition('/')[2]}")
    return scope_name(view.scope)


def _line(spent: int, held: int, limit: int | None, granted: int, unit: str) -> Markup:
    def said(value: int) -> str:
        return exact(value) if unit == "tokens" else dollars(value)

    most = "no limit" if limit is None else f"of {said(limit)}" + (f" + {said(granted)} granted" if granted else "")
    held_too = f" and {said(held)} held" if held else ""
    name = "tokens" if unit == "tokens" else "nano-dollars"
    return Markup('{}<p class="figure num">{}{} {}</p>').format(
        bar(spent, held, limit, granted, words=name), said(spent), held_too, most
    )


def costs_table(costs: Sequence[Cost]) -> Markup:
    """Cost per agent and model, with the sum."""
    if not costs:
        return Markup('<p class="note">Nothing has been held yet.</p>')
    rows = [
        row(
            f"{cost.agent_id} {cost.model}",
            cost.agent_id or OWN,
            cell(cost.model or "—"),
            figure(exact(cost.holds)),
            figure(exact(cost.tokens)),
            figure(money(cost.nano_usd)),
        )
        for cost in costs
    ]
    together = row(
        "together",
        "Together",
        cell(""),
        figure(exact(sum(cost.holds for cost in costs))),
        figure(exact(sum(cost.tokens for cost in costs))),
        figure(money(sum(cost.nano_usd for cost in costs))),
        css="sum",
    )
    return table("Cost by agent and model", ("Agent", "Model", "#Holds", "#Tokens", "#Cost"), [*rows, together])


def approvals(found: Sequence[TaskApproval]) -> Markup:
    """Requests that its agents wait or waited for."""
    if not found:
        return NOTHING
    rows = join(
        Markup('<li data-key="{}">{} {} asks for {} {}{} <span class="muted">{}</span></li>').format(
            one.approval_id,
            state(one.state),
            scope_name(one.scope),
            exact(one.asked_tokens),
            plural(one.asked_tokens, "token"),
            f", {exact(one.granted_tokens)} granted" if one.granted_tokens else "",
            link(address("/approvals", id=one.approval_id), moment(one.created_at, "second")),
        )
        for one in found
    )
    return section("Approvals", Markup('<ul class="plain-list">{}</ul>').format(rows))


def turns_table(turns: Sequence[Turn], now: datetime, task_id: str, older: datetime | None, *, newest: bool) -> Markup:
    """The turns in rows, newest first, each with its steps."""
    if not turns:
        return Markup('<p class="note">No agent has asked for a turn yet.</p>')
    columns = ("Began", "Agent", "#Turn", "Model", "What happened", "#Tokens", "#Cost", "#Took")
    shown = table("Turns", columns, (_turn(turn, now) for turn in reversed(turns)), "turns")
    links = []
    if not newest:
        links.append(link(address(f"/tasks/{task_id}"), "Newest turns", "btn"))
    if older is not None:
        links.append(link(address(f"/tasks/{task_id}", before=older.isoformat()), "Older turns", "btn"))
    if not links:
        return shown
    return join((shown, Markup('<nav class="pager" aria-label="More turns">{}</nav>').format(join(links))))


def _turn(turn: Turn, now: datetime) -> Markup:
    end = turn.end
    steps = join((_step(step, now) for step in turn.steps), '<span class="then" aria-hidden="true">→</span>')
    return row(
        f"{turn.agent_id}/{turn.number}/{turn.start.isoformat()}",
        moment(turn.start, "second"),
        cell(turn.agent_id or OWN, "id"),
        figure(str(turn.number or "—")),
        cell(turn.model or "—"),
        cell(join((steps, tag("output capped", "warn") if turn.capped else NOTHING)), "steps"),
        figure(tokens(turn.tokens) if turn.tokens else "—"),
        figure(money(turn.nano_usd) if turn.nano_usd else "—"),
        figure(took(turn.start, end) if end else Markup('<span class="muted">going on</span>')),
    )


def _step(step: Step, now: datetime) -> Markup:
    """A step in a row: what it was, and the figure that matters."""
    span = ((step.end or max(now, step.start)) - step.start).total_seconds()
    match step.kind:
        case StepKind.ADMITTED:
            told = f"{exact(step.tokens)} held"
        case StepKind.SETTLED | StepKind.RELEASED | StepKind.EXPIRED:
            told = f"{exact(step.tokens)} charged"
        case StepKind.COMPRESSED:
            told = f"−{exact(step.tokens)} tokens"
        case StepKind.ASKED:
            told = f"{lasting(span)}, {step.note}"
        case StepKind.REJECTED:
            told = step.note
        case StepKind.REFUSED:
            told = f"{exact(step.tokens)} asked, {step.note}"
        case StepKind.DELAYED:
            told = f"{lasting(span)} ({step.note})"
        case _:
            plain = not step.note or step.note.startswith("attempt ")
            told = lasting(span) + ("" if plain else f", {words(step.note)}")
    going = Markup(' <i class="dot" aria-hidden="true"></i>') if step.end is None else NOTHING
    kind = Markup('<i class="mark {}" aria-hidden="true"></i>{}').format(step.kind, step.kind)
    if step.kind is StepKind.ASKED:
        kind = Markup('<i class="mark asked" aria-hidden="true"></i>{}').format(
            link(address("/approvals", id=step.ref), "asked")
        )
    return Markup('<span class="step" title="{}">{} <small class="num">{}</small>{}</span>').format(
        step.note if step.kind not in INSTANTS else "", kind, told, going
    )
