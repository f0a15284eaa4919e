"""The pages of tasks: the list, and one task with its progress."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from markupsafe import Markup

from purser.activities.errors import TaskNotFound
from purser.activities.postgres.overviews import PlannedAgent
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard import shell
from purser.gateway.dashboard.amounts import instant
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.context import context_settings
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.tasks import detail
from purser.gateway.dashboard.tasks.charts import costs_chart, costs_height, gantt, gantt_height
from purser.gateway.dashboard.tasks.graph import Node, graph
from purser.gateway.dashboard.tasks.list import PAGE, Wanted, filters, listing
from purser.gateway.dashboard.visit import Visit
from purser.gateway.tasks.control import Steer, steer
from purser.gateway.tasks.routes import context_of
from purser.workflows.contract import TaskRef

TURNS = 100
KINDS = ("task", "agent", "turn", "approval", "compression")


@page("/tasks", "Tasks", needs=Permission.READ_WORK)
async def tasks(visit: Visit, live: Live, state: str = "", q: str = "", before: str = "") -> Markup:
    """Builds the list; URL parameters that are not valid are ignored."""
    wanted = Wanted.read(state, q, before)
    choices, rows = visit.screen.region(), visit.screen.region(LOADING)

    async def refresh() -> None:
        overviews = visit.services.pages.tasks
        choices.show(filters(wanted, await overviews.counts(visit.tenant)))
        found = await overviews.page(visit.tenant, limit=PAGE, **asdict(wanted))
        rows.show(listing(found, wanted))

    await live.follow(("task", "agent", "approval"), refresh)
    return component("regions", choices, rows)


@page("/tasks/{task_id}", "Tasks", needs=Permission.READ_WORK)
async def task(visit: Visit, live: Live, task_id: str, before: str = "") -> Markup:
    """Builds the page of one task."""
    try:
        await visit.services.tasks.get(visit.tenant, task_id)
    except TaskNotFound:
        return shell.error("There is no such task", "It may belong to another tenant, or its id was mistyped.")
    one = _TaskPage(visit, task_id, instant(before), await visit.services.pages.tasks.agents(visit.tenant, task_id))
    await live.follow(KINDS, one.refresh)
    return one.shown()


@page("/tasks/{task_id}/calls/{key}", "Tasks", needs=Permission.READ_WORK)
async def call(visit: Visit, live: Live, task_id: str, key: str) -> Markup:
    """Builds the page of what one call saw."""
    try:
        stored = await visit.services.calls.of_key(visit.tenant, task_id, key)
    except TaskNotFound:
        return shell.error("There is no such call", "It may belong to another task or tenant.")
    return detail.window(task_id, stored)


class _TaskPage:
    """The regions of one task's page."""

    def __init__(self, visit: Visit, task_id: str, before: datetime | None, plans: Mapping[str, PlannedAgent]) -> None:
        self._visit = visit
        self._task_id = task_id
        self._before = before
        self._plans = plans
        screen = visit.screen
        self._header, self._controls, self._approvals = screen.region(), screen.region(), screen.region()
        self._gantt = screen.chart("Timeline of the turns by agent. The table below has the same data in words.")
        self._turns = screen.region(LOADING)
        self._agents = screen.region()
        self._costs = screen.chart("Cost by agent and model. The table next to it has the figures.")
        self._cost_table = screen.region()
        self._budgets, self._context = screen.region(), screen.region()
        self._dialogs = screen.region(detail.dialogs()).on_act(self._steered)

    def shown(self) -> Markup:
        """The page as it is now."""
        return render(
            "tasks/page.html",
            task_id=self._task_id,
            header=self._header,
            controls=self._controls,
            approvals=self._approvals,
            gantt=self._gantt,
            turns=self._turns,
            agents=self._agents,
            costs=self._costs,
            cost_table=self._cost_table,
            budgets=self._budgets,
            context=self._context,
            dialogs=self._dialogs,
        )

    async def refresh(self) -> None:
        """Reads and shows everything."""
        tenant, use, now = self._visit.tenant, self._visit.services, datetime.now(UTC)
        task = await use.tasks.get(tenant, self._task_id)
        caller = self._visit.caller
        ref = TaskRef(self._task_id, tenant)
        self._header.show(detail.header(task, ref, self._visit.workflow_url(self._task_id), now))
        self._controls.show(detail.controls(task["status"], may=caller.may(Permission.RUN)))
        asked = await use.pages.tasks.approvals(tenant, self._task_id)
        self._approvals.show(render("tasks/approvals.html", approvals=asked))
        turns = await use.pages.timelines.turns(
            tenant, self._task_id, ended_at=task["ended_at"], before=self._before, limit=TURNS
        )
        submitted = task["submitted_at"] if turns.before is None else None
        if turns.turns:
            self._gantt.show(gantt(turns.turns, now, submitted), height=gantt_height(turns.turns))
        self._turns.show(detail.turns_table(turns.turns, now, self._task_id, turns.before, newest=self._before is None))
        self._agents.show(detail.agents(task, self._plans, graph(_nodes(task["agents"], self._plans))))
        costs = await use.pages.tasks.costs(tenant, self._task_id)
        if any(cost.tokens for cost in costs):
            by_money = any(cost.nano_usd for cost in costs)
            self._costs.show(costs_chart(costs, by_money=by_money), height=costs_height(costs))
        self._cost_table.show(detail.costs_table(costs))
        drawn_on = await use.policies.budgets_of(tenant, task["scopes"], self._task_id)
        self._budgets.show(detail.budgets(drawn_on))
        self._context.show(context_settings(await context_of(use, tenant, self._task_id)))

    async def _steered(self, act: Act) -> None:
        if act.name not in tuple(Steer):
            return
        how = Steer(act.name)

        async def send(caller: Principal) -> None:
            await steer(self._visit.services, caller, self._task_id, how)

        await self._visit.perform(Permission.RUN, "steer tasks", send)
        self._visit.screen.toast(_DONE[how])
        await self.refresh()


_DONE: Mapping[Steer, str] = {
    Steer.PAUSE: "The task pauses before its next model call.",
    Steer.RESUME: "The task resumes.",
    Steer.CANCEL: "The task is being cancelled.",
}


def _nodes(shown: Mapping[str, Mapping[str, str]], plans: Mapping[str, PlannedAgent]) -> list[Node]:
    return [
        Node(agent_id, agent["status"], plans[agent_id].depends_on if agent_id in plans else ())
        for agent_id, agent in shown.items()
    ]
