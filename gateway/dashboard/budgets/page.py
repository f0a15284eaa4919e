"""The page of budgets: the tree of scopes, one scope in detail, and changes to its policy."""

from datetime import UTC, datetime

from markupsafe import Markup

from purser.budget.errors import InvalidRequest
from purser.budget.policies.templates import Pattern, read_name
from purser.budget.reports.forecast import Forecast
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.budgets import routes as api
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.budgets import detail, templates, wording
from purser.gateway.dashboard.budgets import form as budget_form
from purser.gateway.dashboard.budgets.chart import course
from purser.gateway.dashboard.budgets.fields import read_patch
from purser.gateway.dashboard.budgets.form import Change
from purser.gateway.dashboard.budgets.templates import TemplateChange
from purser.gateway.dashboard.budgets.tree import Filter, Tree, by_use, finder
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address, sentence
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.policies import BASES
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit
from purser.wire.budgets import BudgetBody

EVERY_S = 5.0
"""Refresh interval: spending changes without an event."""
CHANGES = 8
"""Number of changes of a policy that are shown."""
NARROW = 1100
"""Width of the window in pixels below which the chosen scope is below the tree."""


@page("/budgets", "Budgets")
async def budgets(
    visit: Visit,
    live: Live,
    over: str = "",
    exhausts: str = "",
    kind: str = "",
    q: str = "",
    order: str = "",
    scope: str = "",
) -> Markup:
    """Builds the page.

    Args:
        visit: the visit.
        live: keeps the page up to date.
        over: only scopes of whose limit at least this share is used.
        exhausts: `1h` or `24h`: only scopes that run out within this time, the soonest first.
        kind: only scopes of this kind.
        q: only scopes whose id contains this text.
        order: `tree` shows the tree, instead of the most used scopes first.
        scope: a scope or the pattern of a template to open.
    """
    one = _BudgetsPage(visit, live, Tree(visit, Filter(over, exhausts, kind, q, order)), _parsed(scope))
    await one.part.first()
    return render(
        "budgets/page.html",
        finder=one.finder,
        opener=one.opener,
        listing=one.listing,
        templates=one.templates,
        top=one.top,
        chart=one.chart,
        bottom=one.bottom,
        history=one.history,
    )


class _BudgetsPage:
    """State of one open page of budgets."""

    def __init__(self, visit: Visit, live: Live, tree: Tree, chosen: Scope | Pattern | None) -> None:
        self.visit = visit
        self.tree = tree
        self.chosen = chosen
        self.armed: Change | TemplateChange | None = None
        self.problem = ""
        self.opened = 0
        """Number of budgets opened by name: the form is emptied after each."""
        screen = visit.screen
        self.finder = screen.region(finder(tree.filter)).on_act(self.handle)
        self.listing = screen.region(LOADING).on_act(self.handle)
        self.opener, self.templates, self.top, self.bottom, self.history = (
            screen.region().on_act(self.handle) for _ in range(5)
        )
        if visit.caller.may(Permission.SET_BUDGETS):
            self._show_opener()
        self.chart = screen.chart("What was spent over time; the table above has the current figures", height=210)
        self.part = live.start(("budget", "threshold", "approval"), self.refresh, every_s=EVERY_S)
        self.seldom = live.start(("budget",), self.refresh_templates)
        """What changes seldom: the list of templates."""

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
        wanted = [*scopes, chosen] if isinstance(chosen, Scope) and chosen not in scopes else scopes
        found = {view.scope: view for view in await use.policies.budgets_of(tenant, wanted)}
        forecasts = await use.burn.of(tenant, list(found.values()))
        if not self.tree.filter.is_tree and not self.tree.filter.exhausts:
            lines = by_use(lines, found)
        self.listing.show(
            render(
                "budgets/tree.html",
                lines=lines,
                budgets=found,
                forecasts=forecasts,
                chosen=chosen,
                open=self.tree.open,
                is_tree=self.tree.filter.is_tree,
                is_filtered=not self.tree.filter.is_empty,
                leading_bar=wording.leading_bar,
                limit=wording.limit,
                bases=BASES,
            )
        )
        if isinstance(chosen, Pattern):
            await self._show_template(chosen)
        elif chosen is not None:
            await self._show_detail(found[chosen], forecasts.get(chosen))
        await self._show_history(chosen)

    async def refresh_templates(self) -> None:
        """Reads and shows the templates."""
        found = await self.visit.services.tree.templates(self.visit.tenant)
        self.templates.show(templates.listing(found, self.chosen))

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
                await self._choose(_parsed(act.data.get("scope", "")))
            case "filter":
                await self._filter(act)
            case "open":
                await self._open(act.fields.get("name", ""))
            case "change" | "freeze" | "thaw" | "reset" | "template" | "remove":
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
        self.top.show(detail.figures(budget, forecast))
        in_money = budget.policy.limit_tokens is None and budget.policy.limit_nano_usd is not None
        if len(points) >= 2:
            self.chart.show(course(points, datetime.now(UTC), in_money=in_money))
        else:
            self.chart.hide()
        armed = self.armed if isinstance(self.armed, Change) else None
        self.bottom.show(budget_form.form(budget, self.visit.caller, armed, self.problem))

    async def _show_template(self, pattern: Pattern) -> None:
        now = await templates.stored(self.visit, pattern)
        matches = await self.visit.services.tree.matching(self.visit.tenant, pattern, templates.SHOWN)
        armed = self.armed if isinstance(self.armed, TemplateChange) else None
        self.top.show(component("id_heading", str(pattern)))
        self.chart.hide()
        self.bottom.show(templates.form(pattern, now, matches, self.visit.caller, armed, self.problem))

    async def _show_history(self, chosen: Scope | Pattern | None) -> None:
        if chosen is None:
            return
        action = "template.set" if isinstance(chosen, Pattern) else "policy.set"
        changes, _ = await self.visit.services.changes.list(
            self.visit.tenant, target=str(chosen), action=action, limit=CHANGES
        )
        self.history.show(detail.history(changes, str(chosen)))

    async def _open(self, name: str) -> None:
        try:
            found = read_name(name.strip())
        except InvalidRequest as error:
            self._show_opener(name, sentence(str(error)))
            return
        self.opened += 1
        self._show_opener()
        await self._choose(found)

    def _show_opener(self, typed: str = "", problem: str = "") -> None:
        self.opener.show(render("budgets/opener.html", opened=self.opened, typed=typed, problem=problem))

    async def _choose(self, chosen: Scope | Pattern | None) -> None:
        self.chosen, self.armed, self.problem = chosen, None, ""
        await self.part.refresh()
        self.seldom.request_refresh()
        self._update_address()
        self.visit.screen.reveal("#detail", below=NARROW)

    async def _filter(self, act: Act) -> None:
        given = act.fields.get
        wanted = Filter(
            given("over", ""), given("exhausts", ""), given("kind", ""), given("q", "").strip(), given("order", "")
        )
        self.tree.look_for(wanted)
        self.chosen = None
        await self.part.refresh()
        self._update_address()

    def _update_address(self) -> None:
        now = self.tree.filter
        shown = {"over": now.over, "exhausts": now.exhausts, "kind": now.kind, "q": now.text, "order": now.order}
        self.visit.screen.address(address("/budgets", **shown, scope=self.chosen))

    # --- changing -----------------------------------------------------------------------------------------------------

    async def _request_change(self, act: Act) -> None:
        if self.chosen is None:
            return
        try:
            self.armed = await self._change(self.chosen, act)
            self.problem = ""
        except Refused as error:
            self.armed, self.problem = None, str(error)
        await self.part.refresh()
        if self.armed is not None:
            self.visit.screen.reveal("#confirm", focus=True)

    async def _change(self, chosen: Scope | Pattern, act: Act) -> Change | TemplateChange:
        if isinstance(chosen, Pattern):
            after = None if act.name == "remove" else read_patch(act.fields)
            return templates.changed(await templates.stored(self.visit, chosen), after)
        budget = await self.visit.services.policies.budget(self.visit.tenant, chosen)
        match act.name:
            case "change":
                return budget_form.read(budget, act.fields)
            case "reset":
                return budget_form.reset(budget, act.data.get("field", ""))
        return budget_form.frozen(budget, act.name == "freeze")

    async def _store(self, change: Change | TemplateChange) -> None:
        chosen = self.chosen
        if chosen is None:
            return
        self.armed = None
        try:
            if isinstance(change, TemplateChange) and isinstance(chosen, Pattern):
                await templates.store(self.visit, chosen, change)
            elif isinstance(change, Change) and isinstance(chosen, Scope):
                await self._store_policy(chosen, change)
            self.problem = ""
            self.visit.screen.toast(f"{chosen}: changed.")
        except Refused as error:
            self.problem = str(error)
            self.visit.screen.toast(str(error), good=False)
        await self.part.refresh()

    async def _store_policy(self, scope: Scope, change: Change) -> None:
        async def store(caller: Principal) -> None:
            now = await self.visit.services.policies.budget(caller.tenant, scope)
            if any(getattr(now.policy, name) != getattr(change.seen, name) for name in change.given):
                raise Refused(
                    "Someone else has changed this budget in the meantime. Check the new policy, then change it."
                )
            await api.change(str(scope), BudgetBody.model_validate(dict(change.given)), caller, self.visit.services)

        await self.visit.perform(Permission.SET_BUDGETS, "change budgets", store)


def _parsed(text: str) -> Scope | Pattern | None:
    try:
        return read_name(text) if text else None
    except InvalidRequest:
        return None
