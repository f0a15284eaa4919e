"""Tasks: the list, and one task as it goes."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from nicegui import ui

from purser.activities.errors import TaskNotFound
from purser.activities.postgres.overviews import PlannedAgent
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard import live, shell
from purser.gateway.dashboard.actions import perform, toast
from purser.gateway.dashboard.charts import Chart
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act, Region
from purser.gateway.dashboard.tasks import detail
from purser.gateway.dashboard.tasks.charts import costs_chart, costs_height, gantt, gantt_height
from purser.gateway.dashboard.tasks.graph import Node, graph
from purser.gateway.dashboard.tasks.list import PAGE, Wanted, filters, listing
from purser.gateway.dashboard.visit import Visit
from purser.gateway.tasks.control import Steer, steer
from purser.gateway.tasks.views import scopes_of
from purser.workflows.contract import TaskRef

TURNS = 100
KINDS = ("task", "agent", "turn", "approval", "compression")


@page("/tasks", "Tasks", needs=Permission.READ_WORK)
async def tasks(visit: Visit, state: str = "", q: str = "", before: str = "") -> None:
    """The list. What cannot be read of its address is left out."""
    wanted = Wanted.read(state, q, before)
    choices, rows = Region(), Region(LOADING)

    async def refresh() -> None:
        overviews = visit.services.pages.tasks
        choices.show(filters(wanted, await overviews.counts(visit.tenant)))
        found = await overviews.page(visit.tenant, limit=PAGE, **asdict(wanted))
        rows.show(listing(found, wanted))

    await live.follow(("task", "agent", "approval"), refresh)


@page("/tasks/{task_id}", "Tasks", needs=Permission.READ_WORK)
async def task(visit: Visit, task_id: str, before: str = "") -> None:
    """One task."""
    try:
        await visit.services.tasks.get(visit.tenant, task_id)
    except TaskNotFound:
        shell.error("There is no such task", "It may belong to another tenant, or its id was mistyped.")
        return
    one = _TaskPage(visit, task_id, _instant(before), await visit.services.pages.tasks.agents(visit.tenant, task_id))
    await live.follow(KINDS, one.refresh)


class _TaskPage:
    """The parts of one task's page."""

    def __init__(self, visit: Visit, task_id: str, before: datetime | None, plans: Mapping[str, PlannedAgent]) -> None:
        self._visit = visit
        self._task_id = task_id
        self._before = before
        self._plans = plans
        Region(component("heading", task_id))
        with ui.element("section").classes("card head-card"):
            self._header = Region()
            self._controls = Region()
        self._approvals = Region()
        with ui.element("section").classes("card"):
            Region(component("heading", "Timeline"))
            self._gantt = Chart("Timeline of the turns by agent. The table below tells the same in words.")
            self._turns = Region(LOADING)
        self._agents = Region()
        with ui.element("section").classes("card"):
            Region(component("heading", "Cost by agent and model"))
            with ui.element("div").classes("beside"):
                self._costs = Chart("Cost by agent and model. The table beside it has the figures.")
                self._cost_table = Region()
        self._budgets = Region()
        Region(detail.dialogs()).classes("dialogs").on_act(self._steered)

    async def refresh(self) -> None:
        """Reads everything again."""
        tenant, use, now = self._visit.tenant, self._visit.services, datetime.now(UTC)
        task = await use.tasks.get(tenant, self._task_id)
        caller = self._visit.caller
        ref = TaskRef(self._task_id, tenant)
        self._header.show(detail.header(task, ref, self._visit.workflow_url(self._task_id), now))
        self._controls.show(detail.controls(task["status"], may=caller.may(Permission.RUN)))
        asked = await use.pages.tasks.approvals(tenant, self._task_id)
        self._approvals.show(render("tasks/approvals.html", approvals=asked))
        turns = await use.pages.timelines.turns(
            tenant, self._task_id, ended_at=detail.ended_at(task), before=self._before, limit=TURNS
        )
        self._gantt.hide(not turns.turns)
        submitted = datetime.fromisoformat(task["submitted_at"]) if turns.before is None else None
        self._gantt.show(gantt(turns.turns, now, submitted), height=gantt_height(turns.turns))
        self._turns.show(detail.turns_table(turns.turns, now, self._task_id, turns.before, newest=self._before is None))
        self._agents.show(detail.agents(task, self._plans, graph(_nodes(task["agents"], self._plans))))
        costs = await use.pages.tasks.costs(tenant, self._task_id)
        self._costs.hide(not any(cost.tokens for cost in costs))
        by_money = any(cost.nano_usd for cost in costs)
        self._costs.show(costs_chart(costs, by_money=by_money), height=costs_height(costs))
        self._cost_table.show(detail.costs_table(costs))
        drawn_on = await use.policies.budgets_of(tenant, scopes_of(tenant, task), self._task_id)
        self._budgets.show(detail.budgets(drawn_on))

    async def _steered(self, act: Act) -> None:
        if act.name not in tuple(Steer):
            return
        how = Steer(act.name)

        async def send(caller: Principal) -> None:
            await steer(self._visit.services, caller, self._task_id, how)

        await perform(self._visit, Permission.RUN, "steer tasks", send)
        toast(_DONE[how])
        await self.refresh()


_DONE: Mapping[Steer, str] = {
    Steer.PAUSE: "The task pauses before its next model call.",
    Steer.RESUME: "The task goes on.",
    Steer.CANCEL: "The task is being cancelled.",
}


def _nodes(shown: Mapping[str, Mapping[str, str]], plans: Mapping[str, PlannedAgent]) -> list[Node]:
    return [
        Node(agent_id, agent["status"], plans[agent_id].depends_on if agent_id in plans else ())
        for agent_id, agent in shown.items()
    ]


def _instant(text: str) -> datetime | None:
    """A time of an address, `None` if somebody wrote something else there."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
