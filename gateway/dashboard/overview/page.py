"""The overview of a tenant: what was spent, what runs out, and what waits."""

from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from purser.budget.gate import Amount
from purser.budget.reports.usage import By
from purser.gateway.dashboard.approvals.wording import who
from purser.gateway.dashboard.budgets.wording import leading_bar, limit, use_of
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address
from purser.gateway.dashboard.ledger.usage import href_of
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.overview.spending import PERIODS, USUAL, Line, Period, Spending, chart, label
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.visit import Visit
from purser.workflows.contract import TaskStatus

SOON = timedelta(hours=24)
LINES = 12
"""Most lines in the table of spending."""
ROWS = 8
"""Most budgets, and most requests."""
SPENDING_EVERY_S = 60.0
HEIGHT = 230
_DIMENSIONS = tuple(one for one in By if one is not By.DAY)
_STATES = (TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL, TaskStatus.PAUSED)


@page("/overview", "Overview")
async def overview(visit: Visit, live: Live, period: str = "", by: str = "") -> Markup:
    """Builds the page; URL parameters that are not valid are ignored.

    Args:
        visit: the visit.
        live: keeps the page up to date.
        period: code of one of `PERIODS`.
        by: dimension of the spending.
    """
    chosen = next((one for one in PERIODS if one.code == period), USUAL)
    dimension = By(by) if by in _DIMENSIONS else By.MODEL
    one = _OverviewPage(visit, Spending(visit.services.usage, visit.tenant, dimension, chosen))
    live.start((), one.refresh_spending, every_s=SPENDING_EVERY_S)
    live.start(("budget", "threshold", "approval"), one.refresh_budgets)
    await live.follow(("approval", "task", "agent"), one.refresh_waiting)
    return render(
        "overview/page.html",
        periods=component("chips", "Period", [_chip(p.name, p, dimension, p is chosen) for p in PERIODS]),
        dimensions=component(
            "chips", "Spending by", [_chip(f"by {d}", chosen, d, d is dimension) for d in _DIMENSIONS]
        ),
        spending=one.spending,
        tokens=one.tokens,
        money=one.money,
        sums=one.sums,
        budgets=one.budgets,
        waiting=one.waiting,
    )


def _chip(text: str, period: Period, by: By, current: bool) -> tuple[str, str, bool, None]:
    return address("/overview", period=period.code, by=by), text, current, None


class _OverviewPage:
    """The regions of one open page."""

    def __init__(self, visit: Visit, read: Spending) -> None:
        self.visit = visit
        self.read = read
        screen = visit.screen
        self.spending = screen.region(LOADING)
        self.sums, self.budgets, self.waiting = screen.region(), screen.region(LOADING), screen.region(LOADING)
        self.tokens, self.money = (screen.chart("Spending over time", height=HEIGHT) for _ in range(2))

    async def refresh_spending(self) -> None:
        """Reads and shows what was spent."""
        now, by, period = datetime.now(UTC), self.read.by, self.read.period
        lines = await self.read.lines(now)
        total = await self._total(period.starts(now)[0], now)
        self.spending.show(render("overview/total.html", total=total))
        self.sums.show(sums(lines, by, total.total))
        for drawn, in_money in ((self.tokens, False), (self.money, True)):
            if any(line.total.nano_usd if in_money else line.total.tokens for line in lines):
                text = label(lines, by, period, in_money=in_money)
                drawn.show(chart(lines, period, now, in_money=in_money), label=text)
            else:
                drawn.hide()

    async def refresh_budgets(self) -> None:
        """Reads and shows the budgets that are used most, and those that run out soon."""
        use, tenant = self.visit.services, self.visit.tenant
        soon = await use.burn.soon(tenant, SOON, None, "", ROWS)
        used = [node.scope for node in await use.tree.most_used(tenant, "", None, ROWS, running=True)]
        views = await use.policies.budgets_of(tenant, list(dict.fromkeys((*used, *soon))))
        limited = sorted((view for view in views if not view.policy.unlimited), key=use_of, reverse=True)
        forecasts = await use.burn.of(tenant, limited)
        self.budgets.show(
            render(
                "overview/budgets.html",
                budgets=limited,
                forecasts=forecasts,
                leading_bar=leading_bar,
                limit=limit,
            )
        )

    async def refresh_waiting(self) -> None:
        """Reads and shows what waits for a person, and the tasks that have not ended."""
        use, tenant = self.visit.services, self.visit.tenant
        counts = await use.pages.tasks.counts(tenant)
        self.waiting.show(
            render(
                "overview/waiting.html",
                pending=await use.queue.count(tenant),
                requests=await use.queue.pending(tenant, ROWS),
                states=[(state, counts.get(state, 0)) for state in _STATES],
                who=who,
            )
        )

    async def _total(self, since: datetime, until: datetime) -> Line:
        """All charges of a time range, each counted once."""
        report = await self.visit.services.usage.report(self.visit.tenant, By.DAY, since, until)
        return Line("all", tuple(line.charged for line in report.lines), sum(line.attempts for line in report.lines))


def sums(lines: list[Line], by: By, total: Amount) -> Markup:
    """The table of spending."""
    return render(
        "overview/sums.html",
        by=by,
        lines=lines[:LINES],
        count=len(lines),
        total=total,
        share=lambda line: _share(line.total, total),
        href=lambda line: href_of(by, line.name),
    )


def _share(part: Amount, whole: Amount) -> float | None:
    """The share in money, or in tokens where nothing costs money."""
    if whole.nano_usd:
        return part.nano_usd / whole.nano_usd
    return part.tokens / whole.tokens if whole.tokens else None
