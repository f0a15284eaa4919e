"""Text output of commands: tables of budgets and agents, amounts, states."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from purser.budget.money import dollars
from purser.budget.reports.views import whole_percent
from purser.budget.usage import COUNTS
from purser.compose.cli.output import SafeConsole, out

WIDE = 240
"""Width in columns where there is no terminal."""

COLOURS = {
    "low": "green",
    "medium": "green",
    "high": "yellow",
    "critical": "red",
    "completed": "green",
    "approved": "green",
    "running": "cyan",
    "waiting": "dim",
    "skipped": "dim",
    "pending": "yellow",
    "paused": "yellow",
    "waiting_approval": "yellow",
    "partial": "yellow",
    "refused": "red",
    "denied": "red",
    "expired": "red",
    "failed": "red",
    "cancelled": "red",
}


def print_table(made: Table) -> None:
    """Print a table: folded to the width of a terminal, one line per row for other programs."""
    (out if out.is_terminal else SafeConsole(highlight=False, width=WIDE)).print(made)


def table(*columns: str, rows: Iterable[Iterable[object]], right: Iterable[str] = ()) -> Table:
    """Build a plain table; columns named in `right` are right-aligned. Cells are rich markup."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    figures = set(right)
    for column in columns:
        made.add_column(
            column, justify="right" if column in figures else "left", no_wrap=column in figures, overflow="fold"
        )
    for row in rows:
        made.add_row(*(str(cell) for cell in row))
    return made


def complete_note(after: str) -> str:
    """Say that entries up to a time are deleted."""
    return f"Retention has deleted entries; the ledger is complete after {after}."


def context(view: Mapping[str, Any]) -> Table:
    """Build a table of the settings of windows that are not defaults, each with its source."""
    given = {name: one for name, one in view["settings"].items() if one["source"] != "default"}
    rows = [(name, escape(str(one["value"])), escape(one["source"])) for name, one in given.items()]
    return table("context", "value", "source", rows=rows or [("all settings", "", "default")])


def budgets(views: Sequence[Mapping[str, Any]]) -> Table:
    """Build a table of budgets, one line each, from views in the shape of `GET /budgets/{scope}`."""
    money = any(view["limit_nano_usd"] is not None or view["nano_usd"]["spent"] for view in views)
    columns = ("scope", "mode", "used", "spent", "held", "granted", "limit", *(("money",) if money else ()))
    return table(*columns, rows=[_budget(view, money) for view in views], right=columns[2:])


def _budget(view: Mapping[str, Any], money: bool) -> Iterator[str]:
    tokens, per_window = view["tokens"], "" if view["window"] == "lifetime" else f" per {view['window']}"
    yield escape(view["scope"])
    yield f"{view['mode']} (shadow)" if view["shadow"] else view["mode"]
    yield "[red]frozen[/]" if view["frozen"] else f"[{COLOURS[view['pressure']]}]{percent(view['ratio'])}[/]"
    yield from (number(tokens[name]) for name in ("spent", "held", "granted"))
    yield number(view["limit_tokens"]) + per_window
    if money:
        yield f"{usd(view['nano_usd']['spent'])} of {usd(view['limit_nano_usd'])}"


def agents(task: Mapping[str, Any]) -> Table:
    """Build a table of the agents of a task in the shape of `GET /tasks/{id}`."""
    rows = [
        (
            escape(agent_id),
            status(agent["status"]),
            agent["turns"],
            number(sum(agent["usage"][name] for name in COUNTS)),
            usd(agent["nano_usd"]),
            agent["holds"],
            f"{agent['delay_ms']} ms",
            agent["approvals"],
            number(agent["overrun"]),
        )
        for agent_id, agent in task["agents"].items()
    ]
    columns = ("agent", "status", "turns", "tokens", "money", "holds", "delayed", "approvals", "overrun")
    return table(*columns, rows=rows, right=columns[2:])


def status(name: str) -> str:
    """Format a state in its colour."""
    return f"[{COLOURS.get(name, 'default')}]{name.replace('_', ' ')}[/]"


def number(value: int | None) -> str:
    """Format a count with separators; a missing limit is a dash."""
    return "-" if value is None else f"{value:,}"


def usd(nano: int | None) -> str:
    """Format nano-dollars as exact dollars; a missing limit is a dash."""
    return "-" if nano is None else dollars(nano)


def percent(ratio: float | None) -> str:
    """Format a ratio as a percentage, cut to whole percents; a limit of zero has no ratio."""
    return "none left" if ratio is None else f"{whole_percent(ratio)}%"
