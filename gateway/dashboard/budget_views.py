"""Budgets in rows, bars and words."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

from budget.decisions import Pressure
from budget.forecast import Basis, Forecast
from budget.money import NANO
from budget.policies import Mode, Policy
from budget.postgres.scope_tree import Moment, Node
from budget.scopes import Kind, Scope
from budget.views import BudgetView
from gateway.dashboard.approval_views import BASES, SOURCES
from gateway.dashboard.charts import DOLLARS, SHORT_NUMBER, axis, grid, legend
from gateway.dashboard.markup import (
    NOTHING,
    bar,
    dollars,
    exact,
    join,
    left,
    moment,
    percent,
    scope_name,
    short,
    table,
    tag,
)

PRESSURES = {Pressure.LOW: "good", Pressure.MEDIUM: "", Pressure.HIGH: "warn", Pressure.CRITICAL: "bad"}
EFFECTS = {
    Mode.HARD: "what does not fit is refused",
    Mode.SOFT: "what does not fit is warned about and goes on",
    Mode.APPROVAL: "what does not fit waits for a person",
}
_FIELDS = {
    "limit_tokens": "Token limit",
    "limit_nano_usd": "Money limit",
    "mode": "Mode",
    "window": "Window",
    "timezone": "Time zone",
    "warn_at": "Warns at",
    "backpressure": "Slows down at",
    "approval": "Approvals",
    "frozen": "Frozen",
}


def budget_bar(budget: BudgetView) -> Markup:
    """The unit that is used most, as a bar."""
    policy = budget.policy
    if policy.limit_nano_usd is not None and (policy.limit_tokens is None or _money_leads(budget)):
        held, granted = budget.held.nano_usd, budget.granted.nano_usd
        return bar(budget.spent.nano_usd, held, policy.limit_nano_usd, granted, words="nano-dollars")
    return bar(budget.spent.tokens, budget.held.tokens, policy.limit_tokens, budget.granted.tokens)


def _money_leads(budget: BudgetView) -> bool:
    tokens, nano = budget.policy.limit_tokens or 0, budget.policy.limit_nano_usd or 0
    money = (budget.spent.nano_usd + budget.held.nano_usd) * (tokens + budget.granted.tokens)
    return money > (budget.spent.tokens + budget.held.tokens) * (nano + budget.granted.nano_usd)


def row(
    node: Node, depth: int, budget: BudgetView, forecast: Forecast | None, *, chosen: bool, is_open: bool, path: str
) -> Markup:
    """One line of the tree."""
    name = str(node.scope)
    toggle = Markup('<span class="twig"></span>')
    if node.has_children:
        toggle = Markup(
            '<button type="button" class="twig" data-act="toggle" data-path="{}" aria-expanded="{}" '
            'aria-label="What {} holds">{}</button>'
        ).format(path, "true" if is_open else "false", name, "▾" if is_open else "▸")
    marks = [tag("frozen", "busy")] if budget.policy.frozen else []
    return Markup(
        '<tr data-key="{}"{}><td class="tree" style="--depth:{}">{}'
        '<button type="button" class="name" data-act="choose" data-scope="{}"{}>{}</button>{}</td>'
        '<td class="used">{}<span class="num">{}{}</span></td><td>{}</td>'
        '<td class="num">{}<span class="runs-out">{}</span></td><td>{}</td></tr>'
    ).format(
        path,
        Markup(' class="chosen"') if chosen else NOTHING,
        depth,
        toggle,
        name,
        Markup(' aria-current="true"') if chosen else NOTHING,
        scope_name(node.scope),
        join(marks),
        budget_bar(budget),
        used(budget),
        limit(budget),
        pressure(budget),
        rate(forecast),
        exhausts(budget, forecast) if forecast is not None and forecast.exhausts_at else NOTHING,
        budget.policy.mode,
    )


def used(budget: BudgetView) -> Markup:
    """What is spent and held, short."""
    parts = [Markup('<span title="{} tokens spent, {} held">{}</span>')]
    total = budget.spent + budget.held
    shown = parts[0].format(exact(budget.spent.tokens), exact(budget.held.tokens), short(total.tokens))
    return shown + (Markup(" · {}").format(dollars(total.nano_usd)) if total.nano_usd else NOTHING)


def limit(budget: BudgetView) -> Markup:
    """What it is used of, grants included, short."""
    policy, shown = budget.policy, []
    if policy.limit_tokens is not None:
        granted = f" + {short(budget.granted.tokens)}" if budget.granted.tokens else ""
        shown.append(f"{short(policy.limit_tokens)}{granted}")
    if policy.limit_nano_usd is not None:
        granted = f" + {dollars(budget.granted.nano_usd)}" if budget.granted.nano_usd else ""
        shown.append(f"{dollars(policy.limit_nano_usd)}{granted}")
    return Markup(" of {}").format(" · ".join(shown)) if shown else NOTHING


def pressure(budget: BudgetView) -> Markup:
    """How tight it is, as a label with the share."""
    if budget.policy.unlimited:
        return Markup('<span class="muted">no limit</span>')
    return tag(f"{percent(budget.ratio)} {budget.pressure}", PRESSURES[budget.pressure])


def rate(forecast: Forecast | None) -> Markup:
    """Tokens an hour."""
    if forecast is None or forecast.basis is Basis.TOO_SHORT or forecast.tokens_per_hour is None:
        return Markup('<span class="muted" title="too little history for a rate">—</span>')
    title = f"{exact(forecast.tokens_per_hour)} tokens per hour {BASES[forecast.basis]}"
    return Markup('<span title="{}">{}/h</span>').format(title, short(forecast.tokens_per_hour))


def runs_out_within(budget: BudgetView, forecast: Forecast | None, within: timedelta, now: datetime) -> bool:
    """Whether something is left that is gone before `within` has passed, as `exhausts` shows it."""
    if forecast is None or forecast.exhausts_at is None or budget.ratio is None or budget.ratio >= 1:
        return False
    return forecast.exhausts_at <= now + within


def exhausts(budget: BudgetView, forecast: Forecast | None) -> Markup:
    """When nothing is left at that rate."""
    if forecast is None or forecast.exhausts_at is None:
        return Markup('<span class="muted">—</span>')
    if budget.ratio is None or budget.ratio >= 1:
        return tag("used up", "bad")
    return left(forecast.exhausts_at)


def figures(budget: BudgetView, forecast: Forecast | None) -> Markup:
    """Everything that is counted, exactly."""
    policy = budget.policy
    with_money = policy.limit_nano_usd is not None or bool(budget.spent.nano_usd or budget.held.nano_usd)
    columns = [_figures(exact, "tokens", budget, policy.limit_tokens)]
    columns += [_figures(dollars, "nano_usd", budget, policy.limit_nano_usd)] if with_money else []
    cell = Markup('<td class="num">{}</td>')
    rows = [
        Markup("<tr><td>{}</td>{}</tr>").format(name, join(cell.format(column[place]) for column in columns))
        for place, name in enumerate(("Spent", "Held", "Granted", "Limit", "Left", "Overrun"))
    ]
    money_head = Markup('<th class="num">Money</th>') if with_money else NOTHING
    heads = Markup('<td></td><th class="num">Tokens</th>') + money_head
    window = "lifetime" if budget.window_start is None else f"{policy.window}, {policy.timezone}"
    span = NOTHING
    if budget.window_start is not None and budget.window_end is not None:
        span = Markup(": {} to {}, {}").format(
            moment(budget.window_start), moment(budget.window_end), left(budget.window_end)
        )
    return Markup(
        '{}<dl class="about"><dt>Window</dt><dd>{}{}</dd><dt>Pressure</dt><dd>{}</dd>'
        "<dt>Burn rate</dt><dd>{}</dd><dt>Runs out</dt><dd>{}</dd></dl>"
    ).format(
        table("Figures", heads, rows, "figures"),
        window,
        span,
        pressure(budget),
        rate(forecast),
        exhausts(budget, forecast),
    )


def _figures(shown: Callable[[int], str], unit: str, budget: BudgetView, most: int | None) -> list[str]:
    """One unit's figures from top to bottom."""
    spent, held, granted, overrun = (
        getattr(one, unit) for one in (budget.spent, budget.held, budget.granted, budget.overrun)
    )
    limits = ["—", "—"] if most is None else [shown(most), shown(most + granted - spent - held)]
    return [shown(spent), shown(held), shown(granted), *limits, shown(overrun)]


def sources(budget: BudgetView) -> Markup:
    """Every field of the policy with where it comes from."""
    rows = [
        Markup("<tr><td>{}</td><td>{}</td><td>{}</td></tr>").format(
            label,
            value_of(budget.policy, name),
            SOURCES.get(budget.sources.get(name, ""), budget.sources.get(name, "")),
        )
        for name, label in _FIELDS.items()
    ]
    heads = Markup("<th>Field</th><th>Value</th><th>Set by</th>")
    return Markup(
        '<details class="sources"><summary>Policy, and where each field comes from</summary>{}</details>'
    ).format(table("Policy", heads, rows))


def value_of(policy: Policy, name: str) -> str:
    """One field of a policy in words."""
    value = getattr(policy, name)
    match name:
        case "limit_tokens":
            return "none" if value is None else f"{exact(value)} tokens"
        case "limit_nano_usd":
            return "none" if value is None else dollars(value)
        case "warn_at":
            return ", ".join(f"{ratio * 100:.0f} %" for ratio in value) or "never"
        case "backpressure":
            return ", ".join(f"{step.ratio * 100:.0f} %: {step.delay_ms} ms" for step in value) or "never"
        case "approval":
            people = (
                f"two people above {exact(value.two_people_above_tokens)} tokens"
                if value.two_people_above_tokens is not None
                else "one person"
            )
            return f"{people}, {value.deadline_s // 60} min, then {value.on_expiry}"
        case "frozen":
            return "yes" if value else "no"
    return str(value)


def field_name(name: str) -> str:
    """A field of a policy as people call it."""
    return _FIELDS[name]


def course(points: Sequence[Moment], budget: BudgetView, now: datetime, *, in_money: bool) -> Mapping[str, Any]:
    """Spent over time with what was held on top, under the limit: options of a chart."""
    unit = "nano_usd" if in_money else "tokens"
    scale = NANO if in_money else 1

    def line(values: Sequence[tuple[datetime, int | None]]) -> list[list[Any]]:
        return [[round(at.timestamp() * 1000), None if value is None else value / scale] for at, value in values]

    spent = [(one.at, getattr(one.spent, unit)) for one in points]
    taken = [(one.at, getattr(one.spent, unit) + getattr(one.held, unit)) for one in points]
    most = [(one.at, _capacity(one, in_money)) for one in points]
    if points:
        last = points[-1]
        spent.append((now, getattr(last.spent, unit)))
        taken.append((now, getattr(last.spent, unit) + getattr(last.held, unit)))
        most.append((now, _capacity(last, in_money)))
    return {
        "legend": legend(["spent", "held", "limit"]),
        "grid": grid(top=48),
        "xAxis": axis("time", splitNumber=4),
        "yAxis": axis(
            "value",
            "dollars" if in_money else "tokens",
            axisLabel={":formatter": DOLLARS if in_money else SHORT_NUMBER},
        ),
        "series": [
            _area("held", line(taken), width=1),
            _area("spent", line(spent), width=2),
            _stairs("limit", line(most), "var(--bad)", width=1.5, type="dashed"),
        ],
    }


def _area(name: str, data: list[list[Any]], width: float) -> dict[str, Any]:
    color = f"var(--{name})"
    return _stairs(name, data, color, width=width) | {"areaStyle": {"color": color, "opacity": 0.25}}


def _stairs(name: str, data: list[list[Any]], color: str, **line: Any) -> dict[str, Any]:
    """What changes at one moment and stays until the next."""
    return {
        "name": name,
        "type": "line",
        "step": "end",
        "showSymbol": False,
        "symbol": "none",
        "data": data,
        "lineStyle": {"color": color, **line},
        "itemStyle": {"color": color},
    }


def _capacity(at: Moment, in_money: bool) -> int | None:
    most = at.limit_nano_usd if in_money else at.limit_tokens
    granted = at.granted.nano_usd if in_money else at.granted.tokens
    return None if most is None else most + granted


def headline(scope: Scope) -> Markup:
    """The scope on the right, with the way to what stands behind it."""
    more = NOTHING
    if scope.kind in (Kind.TASK, Kind.SESSION):
        more = Markup(' <a href="/{}s/{}">open the {}</a>').format(scope.kind, scope.id, scope.kind)
    return Markup("<h2>{}</h2><p>{}</p>").format(scope_name(scope), more)
