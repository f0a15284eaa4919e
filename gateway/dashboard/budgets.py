"""What every scope may spend and has spent: the tree, one scope in full, and changes to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from markupsafe import Markup
from nicegui import ui
from pydantic import ValidationError

from budget.errors import InvalidRequest
from budget.forecast import Forecast
from budget.policies import read_ratio
from budget.postgres.scope_tree import Node
from budget.scopes import Kind, Scope
from budget.views import BudgetView
from gateway import budgets as api
from gateway.dashboard import budget_form, live
from gateway.dashboard import budget_views as views
from gateway.dashboard.act import Refused, act, sentence, tell
from gateway.dashboard.budget_form import Change
from gateway.dashboard.charts import Chart
from gateway.dashboard.markup import LOADING, NOTHING, address, empty, join, table
from gateway.dashboard.pages import page
from gateway.dashboard.region import Act, Region
from gateway.dashboard.visit import Visit
from gateway.roles import Permission, Principal
from gateway.schemas import BudgetBody

LEVEL = 25
"""Scopes of one level that are shown before somebody asks for more."""
EVERY_S = 5.0
"""What is spent changes without an event."""
_HEADS = ("Scope", "Used", "Pressure", "Burn", "Mode")
_WITHIN = {"1h": timedelta(hours=1), "24h": timedelta(hours=24)}
_EXHAUSTS = (("", "any time"), ("1h", "within 1 h"), ("24h", "within 24 h"))
_OVER = (("", "any use"), ("0.5", "from 50 %"), ("0.8", "from 80 %"), ("0.95", "from 95 %"), ("1", "from 100 %"))


@page("/budgets", "Budgets")
async def budgets(
    visit: Visit,
    over: str | None = None,
    exhausts: str | None = None,
    kind: str | None = None,
    q: str | None = None,
    scope: str | None = None,
) -> None:
    """Args:
    visit: who looks.
    over: only scopes used to this share.
    exhausts: `1h` or `24h`: only scopes that run out so soon, the soonest first.
    kind: only scopes of this kind.
    q: only scopes whose id contains this.
    scope: one to open.
    """
    table = Table(visit, Filter(over or "", exhausts or "", kind or "", q or ""), _parsed(scope))
    Region(Markup("{}").format(_filters(table.filter))).on_act(table.done)
    with ui.element("div").classes("desk wide-left"):
        table.tree = Region(LOADING, "section").props('aria-label="Scopes"').on_act(table.done)
        with ui.element("section").classes("detail").props('aria-label="Budget" id="detail"'):
            with ui.element("div").classes("card") as card:
                table.top = Region().on_act(table.done)
                table.chart = Chart("What was spent over time; the table above says how it stands", height=210)
                table.bottom = Region().on_act(table.done)
            table.card = card
    table.card.set_visibility(False)
    table.part = live.start(("budget", "threshold", "approval"), table.refresh, every_s=EVERY_S)
    await live.first(table.part)


@dataclass
class Filter:
    """What is looked for; empty: the whole tree."""

    over: str
    exhausts: str
    kind: str
    text: str

    @property
    def is_empty(self) -> bool:
        """Whether the tree is shown."""
        return not (self.over or self.exhausts or self.kind or self.text)


@dataclass
class Table:
    """One opened page of budgets."""

    visit: Visit
    filter: Filter
    chosen: Scope | None
    open: set[str] = field(default_factory=set)
    """Paths of the tree that are unfolded."""
    sizes: dict[str, int] = field(default_factory=dict)
    armed: Change | None = None
    problem: str = ""
    tree: Region = field(init=False)
    top: Region = field(init=False)
    bottom: Region = field(init=False)
    chart: Chart = field(init=False)
    card: ui.element = field(init=False)
    part: live.Part = field(init=False)

    async def refresh(self) -> None:
        """Reads what is unfolded and the chosen scope, and shows both."""
        try:
            lines = await self._lines()
        except InvalidRequest as error:
            self.tree.show(empty("This filter cannot be used", sentence(str(error))))
            return
        use, tenant = self.visit.services, self.visit.tenant
        scopes = list({line.node.scope: None for line in lines if line.node is not None})
        # Somebody may choose another one while this reads.
        chosen = self.chosen = self.chosen or next(iter(scopes), None)
        wanted = scopes if chosen in scopes or chosen is None else [*scopes, chosen]
        found = {view.scope: view for view in await use.policies.budgets_of(tenant, wanted)}
        forecasts = await use.burn.of(tenant, list(found.values()))
        rows = []
        for line in lines:
            if line.node is None:
                rows.append(_more(line))
                continue
            scope = line.node.scope
            rows.append(
                views.row(
                    line.node,
                    line.depth,
                    found[scope],
                    forecasts.get(scope),
                    chosen=scope == chosen,
                    is_open=line.path in self.open,
                    path=line.path,
                )
            )
        self.tree.show(_table(rows) if rows else self._nothing())
        self.card.set_visibility(chosen is not None)
        if chosen is not None:
            await self._show_detail(found[chosen], forecasts.get(chosen))

    async def done(self, act: Act) -> None:
        """What a person did."""
        match act.name:
            case "toggle":
                self.open ^= {act.data.get("path", "")}
                await self.part.again()
            case "more":
                path = act.data.get("path", "")
                self.sizes[path] = self.sizes.get(path, LEVEL) + 4 * LEVEL
                await self.part.again()
            case "choose":
                await self._choose(_parsed(act.data.get("scope")))
            case "filter":
                await self._filter(act)
            case "change" | "freeze" | "thaw":
                await self._wants(act)
            case "confirm" if self.armed is not None:
                await self._store(self.armed)
            case "back":
                self.armed, self.problem = None, ""
                await self.part.again()

    # --- the tree -----------------------------------------------------------------------------------------------------

    async def _lines(self) -> Sequence["Line"]:
        use, tenant = self.visit.services, self.visit.tenant
        if self.filter.is_empty:
            await use.tree.place(tenant)
            return await self._below(None, "", 0)
        kind = Kind(self.filter.kind) if self.filter.kind in set(Kind) else None
        size = self.sizes.get("", 2 * LEVEL)
        if self.filter.exhausts:
            within = _WITHIN.get(self.filter.exhausts)
            if within is None:
                raise InvalidRequest(f"exhausts={self.filter.exhausts[:20]!r}: use {' or '.join(_WITHIN)}")
            nodes: Sequence[Node] = [
                Node(scope, False) for scope in await use.burn.soon(tenant, within, kind, self.filter.text, size + 1)
            ]
        elif not self.filter.over:
            nodes = await use.tree.find(tenant, self.filter.text, kind, size + 1)
        else:
            nodes = await self._over(kind, size + 1)
        return _cut([Line(node, 0, str(node.scope)) for node in nodes], size, "")

    async def _over(self, kind: Kind | None, size: int) -> list[Node]:
        least, after, found = read_ratio(self.filter.over, "over"), 0, list[Node]()
        while len(found) < size:
            page, following = await self.visit.services.policies.budgets(
                self.visit.tenant, over=least, kind=kind, after=after, limit=500
            )
            text = self.filter.text.lower()
            found += [Node(view.scope, False) for view in page if text in view.scope.id.lower()]
            if following is None:
                break
            after = following
        return found[:size]

    async def _below(self, parent: Scope | None, path: str, depth: int) -> list["Line"]:
        size = self.sizes.get(path, LEVEL)
        nodes = await self.visit.services.tree.children(self.visit.tenant, parent, size + 1)
        lines = []
        for line in _cut([Line(node, depth, f"{path}/{node.scope}") for node in nodes], size, path, depth):
            lines.append(line)
            if line.node is not None and line.path in self.open and depth < 8:
                lines += await self._below(line.node.scope, line.path, depth + 1)
        return lines

    def _nothing(self) -> Markup:
        if self.filter.is_empty:
            return empty("No budget was used yet", "The first task or hold brings its scopes here.")
        return empty("No scope fits", "Loosen the filter.")

    # --- one scope ----------------------------------------------------------------------------------------------------

    async def _show_detail(self, budget: BudgetView, forecast: Forecast | None) -> None:
        use, tenant, scope = self.visit.services, self.visit.tenant, budget.scope
        points = await use.tree.course(tenant, scope)
        frozen = Markup('<p class="outcome">Frozen: nothing is let through.</p>') if budget.policy.frozen else NOTHING
        self.top.show(
            Markup('<div data-key="{}" class="stack">{}{}<div class="big-bars">{}</div>{}</div>').format(
                str(scope),
                views.headline(scope),
                frozen,
                views.budget_bar(budget),
                views.figures(budget, forecast),
            )
        )
        in_money = budget.policy.limit_tokens is None and budget.policy.limit_nano_usd is not None
        self.chart.hide(len(points) < 2)
        if len(points) >= 2:
            self.chart.show(views.course(points, budget, datetime.now(UTC), in_money=in_money))
        form = budget_form.form(budget, self.visit.caller, self.armed, self.problem)
        self.bottom.show(
            Markup('<div data-key="{}" class="stack">{}{}</div>').format(str(scope), form, views.sources(budget))
        )

    async def _choose(self, scope: Scope | None) -> None:
        self.chosen, self.armed, self.problem = scope, None, ""
        await self.part.again()
        self._remember()
        ui.run_javascript("if (innerWidth < 1100) window.purser.reveal('#detail')")

    async def _filter(self, act: Act) -> None:
        given = act.fields.get
        self.filter = Filter(given("over", ""), given("exhausts", ""), given("kind", ""), given("q", "").strip())
        self.sizes.pop("", None)
        self.chosen = None
        await self.part.again()
        self._remember()

    def _remember(self) -> None:
        now = self.filter
        where = address(
            "/budgets",
            over=now.over or None,
            exhausts=now.exhausts or None,
            kind=now.kind or None,
            q=now.text or None,
            scope=None if self.chosen is None else str(self.chosen),
        )
        ui.run_javascript(f"history.replaceState(null, '', {where!r})")

    # --- changing -----------------------------------------------------------------------------------------------------

    async def _wants(self, act: Act) -> None:
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
        await self.part.again()
        if self.armed is not None:
            ui.run_javascript("window.purser.reveal('#confirm', true)")

    async def _store(self, change: Change) -> None:
        scope = self.chosen
        if scope is None:
            return
        self.armed = None

        async def store(caller: Principal) -> None:
            now = await self.visit.services.policies.budget(caller.tenant, scope)
            if any(getattr(now.policy, name) != getattr(change.seen, name) for name in change.given):
                raise Refused("Somebody else has changed this budget meanwhile. Look again, then change it.")
            await api.change(str(scope), BudgetBody.model_validate(dict(change.given)), caller, self.visit.services)

        try:
            await act(self.visit, Permission.SET_BUDGETS, store)
            self.problem = ""
            tell(f"{scope}: changed.")
        except Refused as error:
            self.problem = str(error)
            tell(str(error), good=False)
        except ValidationError as error:
            self.problem = sentence(error.errors()[0]["msg"])
        await self.part.again()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the tree; without a node the one that shows more."""

    node: Node | None
    depth: int
    path: str


def _cut(lines: list[Line], size: int, path: str, depth: int = 0) -> list[Line]:
    """At most `size` lines, and one that shows more if there are more."""
    return lines if len(lines) <= size else [*lines[:size], Line(None, depth, path)]


def _more(line: Line) -> Markup:
    return Markup(
        '<tr data-key="more {}"><td colspan="5" class="tree" style="--depth:{}"><span class="twig"></span>'
        '<button type="button" class="plain" data-act="more" data-path="{}">Show more</button></td></tr>'
    ).format(line.path, line.depth, line.path)


def _table(rows: Sequence[Markup]) -> Markup:
    heads = join(
        Markup('<th scope="col" class="{}">{}</th>').format("num" if head == "Burn" else "", head) for head in _HEADS
    )
    return table("Scopes", heads, rows, "scopes-table")


def _filters(now: Filter) -> Markup:
    over = join(_option(value, label, now.over) for value, label in _OVER)
    exhausts = join(_option(value, label, now.exhausts) for value, label in _EXHAUSTS)
    kinds = join(
        _option(value, label, now.kind) for value, label in (("", "any kind"), *((kind, kind) for kind in Kind))
    )
    return Markup(
        '<form class="finder" data-act="filter" data-live="1"><div><label for="q">Find</label>'
        '<input id="q" name="q" type="search" value="{}" placeholder="part of an id"></div>'
        '<div><label for="kind">Kind</label><select id="kind" name="kind">{}</select></div>'
        '<div><label for="over">Used</label><select id="over" name="over">{}</select></div>'
        '<div><label for="exhausts">Used up</label><select id="exhausts" name="exhausts">{}</select></div>'
        '<button type="submit" class="btn">Find</button></form>'
    ).format(now.text, kinds, over, exhausts)


def _option(value: str, label: str, now: str) -> Markup:
    chosen = Markup(" selected") if value == now else NOTHING
    return Markup('<option value="{}"{}>{}</option>').format(value, chosen, label)


def _parsed(text: str | None) -> Scope | None:
    try:
        return None if not text else Scope.parse(text)
    except InvalidRequest:
        return None
