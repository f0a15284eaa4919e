"""The page of budgets: the tree of scopes, one scope in detail, and changes to its policy."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup

from purser.budget.errors import InvalidRequest
from purser.budget.reports.forecast import Forecast
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.budgets import routes as api
from purser.gateway.budgets.schemas import BudgetBody
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.budgets import form as budget_form
from purser.gateway.dashboard.budgets import wording
from purser.gateway.dashboard.budgets.chart import course
from purser.gateway.dashboard.budgets.form import Change
from purser.gateway.dashboard.budgets.tree import Filter, Tree, finder
from purser.gateway.dashboard.charts import Chart
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address, sentence
from purser.gateway.dashboard.live import Live, Part
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.policies import BASES
from purser.gateway.dashboard.region import Act, Region
from purser.gateway.dashboard.visit import Visit

EVERY_S = 5.0
"""Refresh interval: spending changes without an event."""
NARROW = 1100
"""Width of the window in pixels below which the chosen scope is below the tree."""


@page("/budgets", "Budgets")
async def budgets(
    visit: Visit,
    live: Live,
    over: str | None = None,
    exhausts: str | None = None,
    kind: str | None = None,
    q: str | None = None,
    scope: str | None = None,
) -> Markup:
    """Builds the page.

    Args:
        visit: the visit.
        live: keeps the page up to date.
        over: only scopes of whose limit at least this share is used.
        exhausts: `1h` or `24h`: only scopes that run out within this time, the soonest first.
        kind: only scopes of this kind.
        q: only scopes whose id contains this text.
        scope: a scope to open.
    """
    wanted = Filter(over or "", exhausts or "", kind or "", q or "")
    one = BudgetsPage(visit, Tree(visit, wanted), _parsed(scope))
    one.part = live.start(("budget", "threshold", "approval"), one.refresh, every_s=EVERY_S)
    await one.part.first()
    return render(
        "budgets/page.html",
        finder=one.finder,
        listing=one.listing,
        top=one.top,
        chart=one.chart,
        bottom=one.bottom,
    )


@dataclass
class BudgetsPage:
    """State of one open page of budgets."""

    visit: Visit
    tree: Tree
    chosen: Scope | None
    armed: Change | None = None
    problem: str = ""
    finder: Region = field(init=False)
    listing: Region = field(init=False)
    top: Region = field(init=False)
    bottom: Region = field(init=False)
    chart: Chart = field(init=False)
    part: Part = field(init=False)

    def __post_init__(self) -> None:
        screen = self.visit.screen
        self.finder = screen.region(finder(self.tree.filter)).on_act(self.handle)
        self.listing = screen.region(LOADING).on_act(self.handle)
        self.top, self.bottom = (screen.region().on_act(self.handle) for _ in range(2))
        self.chart = screen.chart("What was spent over time; the table above has the current figures", height=210)

    async def refresh(self) -> None:
        """Reads the unfolded part of the tree and the chosen scope, and shows both."""
        try:
            lines = await self.tree.lines()
        except InvalidRequest as error:
            self.listing.show(component("empty", "This filter cannot be used", sentence(str(error))))
            return
        use, tenant = self.visit.services, self.visit.tenant
        scopes = list({line.node.scope: None for line in lines if line.node is not None})
        # The person may choose another scope while this reads.
        chosen = self.chosen = self.chosen or next(iter(scopes), None)
        wanted = scopes if chosen in scopes or chosen is None else [*scopes, chosen]
        found = {view.scope: view for view in await use.policies.budgets_of(tenant, wanted)}
        forecasts = await use.burn.of(tenant, list(found.values()))
        within, now = self.tree.filter.within, datetime.now(UTC)
        if within:
            lines = [
                line
                for line in lines
                if line.node is None
                or wording.runs_out_within(found[line.node.scope], forecasts.get(line.node.scope), within, now)
            ]
        self.listing.show(
            render(
                "budgets/tree.html",
                lines=lines,
                budgets=found,
                forecasts=forecasts,
                chosen=chosen,
                open=self.tree.open,
                is_filtered=not self.tree.filter.is_empty,
                leading_bar=wording.leading_bar,
                limit=wording.limit,
                bases=BASES,
            )
        )
        if chosen is not None:
            await self._show_detail(found[chosen], forecasts.get(chosen))

    async def handle(self, act: Act) -> None:
        """Handles an act of the person."""
        match act.name:
            case "toggle":
                self.tree.toggle(act.data.get("path", ""))
                await self.part.refresh()
            case "more":
                self.tree.show_more(act.data.get("path", ""))
                await self.part.refresh()
            case "choose":
                await self._choose(_parsed(act.data.get("scope")))
            case "filter":
                await self._filter(act)
            case "change" | "freeze" | "thaw":
                await self._request_change(act)
            case "confirm" if self.armed is not None:
                await self._store(self.armed)
            case "back":
                self.armed, self.problem = None, ""
                await self.part.refresh()

    # --- one scope ----------------------------------------------------------------------------------------------------

    async def _show_detail(self, budget: BudgetView, forecast: Forecast | None) -> None:
        use, tenant, scope = self.visit.services, self.visit.tenant, budget.scope
        points = await use.tree.history(tenant, scope)
        self.top.show(
            render(
                "budgets/detail.html",
                scope=scope,
                budget=budget,
                bar=wording.leading_bar(budget),
                figures=wording.figures(budget),
                forecast=forecast,
                bases=BASES,
            )
        )
        in_money = budget.policy.limit_tokens is None and budget.policy.limit_nano_usd is not None
        if len(points) >= 2:
            self.chart.show(course(points, budget, datetime.now(UTC), in_money=in_money))
        else:
            self.chart.hide()
        self.bottom.show(budget_form.form(budget, self.visit.caller, self.armed, self.problem))

    async def _choose(self, scope: Scope | None) -> None:
        self.chosen, self.armed, self.problem = scope, None, ""
        await self.part.refresh()
        self._update_address()
        self.visit.screen.reveal("#detail", below=NARROW)

    async def _filter(self, act: Act) -> None:
        given = act.fields.get
        wanted = Filter(given("over", ""), given("exhausts", ""), given("kind", ""), given("q", "").strip())
        self.tree.look_for(wanted)
        self.chosen = None
        await self.part.refresh()
        self._update_address()

    def _update_address(self) -> None:
        now = self.tree.filter
        where = address("/budgets", over=now.over, exhausts=now.exhausts, kind=now.kind, q=now.text, scope=self.chosen)
        self.visit.screen.address(where)

    # --- changing -----------------------------------------------------------------------------------------------------

    async def _request_change(self, act: Act) -> None:
        if self.chosen is None:
            return
        try:
            budget = await self.visit.services.policies.budget(self.visit.tenant, self.chosen)
            if act.name == "change":
                self.armed = budget_form.read(budget, act.fields)
            else:
                self.armed = budget_form.frozen(budget, act.name == "freeze")
            self.problem = ""
        except Refused as error:
            self.armed, self.problem = None, str(error)
        await self.part.refresh()
        if self.armed is not None:
            self.visit.screen.reveal("#confirm", focus=True)

    async def _store(self, change: Change) -> None:
        scope = self.chosen
        if scope is None:
            return
        self.armed = None

        async def store(caller: Principal) -> None:
            now = await self.visit.services.policies.budget(caller.tenant, scope)
            if any(getattr(now.policy, name) != getattr(change.seen, name) for name in change.given):
                raise Refused(
                    "Someone else has changed this budget in the meantime. Check the new policy, then change it."
                )
            await api.change(str(scope), BudgetBody.model_validate(dict(change.given)), caller, self.visit.services)

        try:
            await self.visit.perform(Permission.SET_BUDGETS, "change budgets", store)
            self.problem = ""
            self.visit.screen.toast(f"{scope}: changed.")
        except Refused as error:
            self.problem = str(error)
            self.visit.screen.toast(str(error), good=False)
        await self.part.refresh()


def _parsed(text: str | None) -> Scope | None:
    try:
        return None if not text else Scope.parse(text)
    except InvalidRequest:
        return None
