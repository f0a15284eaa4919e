"""The scopes that the page of budgets lists: the most used first, or the unfolded part of the tree."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from markupsafe import Markup

from purser.budget.errors import InvalidRequest
from purser.budget.policies.fields import read_ratio
from purser.budget.postgres.reports.scope_tree import Node
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.gateway.dashboard.budgets.wording import use_of
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.visit import Visit

LEVEL = 25
"""Number of scopes of one level that are shown at first."""
_WITHIN = {"1h": timedelta(hours=1), "24h": timedelta(hours=24)}
_EXHAUSTS = (("", "any time"), ("1h", "within 1 h"), ("24h", "within 24 h"))
PAGE, PAGES = 500, 10
"""Limits of what is read to find the most used scopes above a share: of more matches, only the oldest count."""
TREE = "tree"
_ORDERS = (("", "most used first"), (TREE, "tree"))
_OVER = (("", "any share"), ("0.5", "50 %"), ("0.8", "80 %"), ("0.95", "95 %"), ("1", "100 %"))


@dataclass
class Filter:
    """What to list, and in which order."""

    over: str
    exhausts: str
    kind: str
    text: str
    order: str = ""
    """`tree`: the tree, instead of the most used scopes first."""

    def __post_init__(self) -> None:
        # Links of alerts have 0.80, the list to choose from 0.8. What is no share stays, and `lines` says why.
        with suppress(InvalidRequest):
            self.over = f"{read_ratio(self.over, 'over').normalize():f}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing is filtered."""
        return not (self.over or self.exhausts or self.kind or self.text)

    @property
    def is_tree(self) -> bool:
        """Whether the tree is shown: it is not filtered."""
        return self.is_empty and self.order == TREE


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the tree; one without a node shows more lines."""

    node: Node | None
    depth: int
    path: str


@dataclass
class Tree:
    """The list of one open page."""

    visit: Visit
    filter: Filter
    open: set[str] = field(default_factory=set)
    """Unfolded paths; initially that of the tenant."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Number of lines of each path for which more were requested."""

    def __post_init__(self) -> None:
        self.open.add(f"/{Scope(Kind.TENANT, self.visit.tenant)}")

    def look_for(self, wanted: Filter) -> None:
        """Applies another filter."""
        self.filter = wanted
        self.sizes.pop("", None)

    def toggle(self, path: str) -> None:
        """Folds or unfolds a scope."""
        self.open ^= {path}

    def show_more(self, path: str) -> None:
        """Shows more of the scopes below a path."""
        self.sizes[path] = self.sizes.get(path, LEVEL) + 4 * LEVEL

    async def lines(self) -> Sequence[Line]:
        """The lines to show now.

        Raises:
            InvalidRequest: the filter is not valid.
        """
        use, tenant = self.visit.services, self.visit.tenant
        if self.filter.is_tree:
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
            nodes = await use.tree.most_used(tenant, self.filter.text, kind, size + 1)
        else:
            nodes = await self._over(kind, size + 1)
        return _cut([Line(node, 0, str(node.scope)) for node in nodes], size, "")

    async def _over(self, kind: Kind | None, size: int) -> list[Node]:
        least, text = read_ratio(self.filter.over, "over"), self.filter.text.lower()
        after, found = 0, list[BudgetView]()
        for _ in range(PAGES):
            page, following = await self.visit.services.policies.budgets(
                self.visit.tenant, over=least, kind=kind, after=after, limit=PAGE
            )
            matching = [view for view in page if text in view.scope.id.lower()]
            found = sorted((*found, *matching), key=use_of, reverse=True)[:size]
            if following is None:
                break
            after = following
        return [Node(view.scope, False) for view in found]

    async def _below(self, parent: Scope | None, path: str, depth: int) -> list[Line]:
        size = self.sizes.get(path, LEVEL)
        nodes = await self.visit.services.tree.children(self.visit.tenant, parent, size + 1)
        lines = []
        for line in _cut([Line(node, depth, f"{path}/{node.scope}") for node in nodes], size, path, depth):
            lines.append(line)
            if line.node is not None and line.path in self.open and depth < 8:
                lines += await self._below(line.node.scope, line.path, depth + 1)
        return lines


def _cut(lines: list[Line], size: int, path: str, depth: int = 0) -> list[Line]:
    """At most `size` lines, and a line that shows more if there are more."""
    return lines if len(lines) <= size else [*lines[:size], Line(None, depth, path)]


def by_use(lines: Sequence[Line], found: Mapping[Scope, BudgetView]) -> list[Line]:
    """The lines by the share of the limit that is used now; those of ended tasks last, then the one that shows more."""

    def place(line: Line) -> tuple[bool, bool, float]:
        if line.node is None:
            return True, True, 0.0
        return False, line.node.has_ended, -use_of(found[line.node.scope])

    return sorted(lines, key=place)


def finder(now: Filter) -> Markup:
    """The form of a filter."""
    kinds = [("", "any kind"), *((kind, kind) for kind in Kind)]
    shares = _OVER if now.over in dict(_OVER) else (*_OVER, (now.over, now.over))
    return render("budgets/filter.html", filter=now, kinds=kinds, shares=shares, exhausts=_EXHAUSTS, orders=_ORDERS)
