"""The demo's report, for readers who see Purser for the first time."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from purser.budget.money import dollars
from purser.compose.cli.output import SafeConsole
from purser.compose.cli.tables import COLOURS, number, percent, status, table
from purser.compose.demo.command import purser
from purser.compose.demo.figures import Compression, Figures, charged, short_name

WIDTH = 100
BEYOND = {
    "soft": "beyond the limit it goes on with a warning",
    "approval": "beyond the limit a person is asked",
    "hard": "beyond the limit calls are refused",
}
"""What each mode does beyond the limit."""
EXCERPT = 6
"""Lines of a summary that are shown."""


def page(*, stderr: bool = False) -> Console:
    """A console of `WIDTH` columns, or as wide as the terminal if that is narrower."""
    console = SafeConsole(stderr=stderr, highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def to_json(figures: Figures) -> dict[str, Any]:
    """The report as one document."""
    return {"ok": figures.ok, **asdict(figures)}


def show(figures: Figures, running_in: Path | None) -> None:
    """Writes the report as text to stdout.

    Args:
        figures: what to report.
        running_in: data directory of the demo if it keeps running.
    """
    console, task = page(), figures.task
    console.print()
    console.rule(f"[bold]{escape(task['task_id'])} {status(task['status'])}[/]", align="left", style="dim")
    tables = (_summary(figures), _budgets(figures), _agents(figures))
    texts = (*map(_excerpt, figures.compressions), *_reply(task))
    for part in (*tables, *texts):
        console.print()
        console.print(part)
    console.print()
    console.print(_next_steps(figures, running_in), markup=False, soft_wrap=True)


def _summary(figures: Figures) -> Table:
    made = _grid()
    for what, text in _lines(figures):
        made.add_row(f"[bold]{what}[/]", text)
    return made


def _lines(figures: Figures) -> Iterator[tuple[str, str]]:
    held, spent, cached, delayed = figures.held, figures.spent, figures.cached, figures.delayed
    agents = len(figures.task["agents"])
    yield "Ran", f"{agents} agents made {spent.calls} model calls in {figures.seconds:.0f} s."
    for agent_id, agent in figures.task["agents"].items():
        if agent["status"] in ("failed", "refused"):
            yield agent["status"].capitalize(), f"{escape(agent_id)}, because of: {escape(agent['reason'])}."
    yield (
        "Held",
        f"Before each call, the most it could cost was held on three levels: {held.tokens:,} tokens in "
        f"{held.holds} holds. {held.returned_tokens:,} were not needed and were returned.",
    )
    own_log = "" if spent.provider_tokens is None else f" The provider's own log says {spent.provider_tokens:,}."
    yield "Spent", f"{spent.tokens:,} tokens, {_usd(spent.nano_usd)}.{own_log}"
    for one in figures.compressions:
        yield (
            "Saved",
            f"{one.messages} of {one.of_messages} messages of the channel became a summary, {one.tokens_before:,} → "
            f"{one.tokens_after:,} tokens. {one.calls} calls sent it instead: {one.saved_tokens:,} tokens less.",
        )
    if cached.tokens:
        saved = _usd(cached.saved_nano_usd)
        yield "Cached", f"{cached.tokens:,} input tokens came from the provider's cache, {saved} cheaper."
    if delayed.calls:
        seconds = delayed.ms / 1000
        yield "Delayed", f"{delayed.calls} calls were slowed down, {seconds:.2f} s in all, as budgets filled up."
    for warning in figures.warnings:
        meaning = BEYOND[figures.task["scopes"][warning.scope]["mode"]]
        yield "Warned", f"{short_name(warning.scope)} passed {percent(float(warning.ratio))} of its limit; {meaning}."
    for approval in figures.approvals:
        yield "Asked", _approval(approval)
    yield "Audit", _audit(figures.audit)


def _approval(approval: Mapping[str, Any]) -> str:
    waiters = ", ".join(sorted({escape(waiter["agent_id"]) for waiter in approval["waiters"]}))
    missing = number(approval["asked"]["tokens"])
    text = f"{waiters} needed {missing} tokens more than {short_name(approval['scope'])} had left: "
    text += status(approval["state"])
    if approval["decisions"]:
        last = approval["decisions"][-1]
        text += f" by {escape(last['approver'])}" + (f" ({escape(last['note'])})" if last["note"] else "")
    granted = approval["given"]["tokens"]
    return text + (f", {number(granted)} tokens granted." if granted else ".")


def _audit(found: Mapping[str, Any]) -> str:
    checked = found["checked"]
    figures = f"{checked['balances']:,} balances, {checked['holds']:,} holds and {checked['entries']:,} entries"
    if found["ok"]:
        return f"{figures} were recomputed and [green]agree[/]."
    return f"{figures} were recomputed: [red]{len(found['differences'])} differences[/]."


def _budgets(figures: Figures) -> Table:
    rows = []
    for scope, view in figures.task["scopes"].items():
        tokens, held = view["tokens"], figures.holds.get(scope)
        rows.append(
            (
                short_name(scope),
                view["mode"],
                number(view["limit_tokens"]),
                number(tokens["granted"]),
                number(held.most_tokens if held else 0),
                number(tokens["spent"]),
                number(tokens["overrun"]),
                _usd(view["nano_usd"]["spent"]),
                f"[{COLOURS[view['pressure']]}]{percent(view['ratio'])}[/]",
            )
        )
    columns = ("budget", "mode", "limit", "granted", "most held", "spent", "overrun", "money", "used")
    return table(*columns, rows=rows, right=columns[2:])


def _agents(figures: Figures) -> Table:
    rows = [
        (
            escape(agent_id),
            status(agent["status"]),
            agent["turns"],
            number(charged(agent)),
            number(agent["usage"]["cache_read"]),
            _usd(agent["nano_usd"]),
            f"{agent['delay_ms']:,} ms",
            agent["approvals"],
        )
        for agent_id, agent in figures.task["agents"].items()
    ]
    columns = ("agent", "status", "calls", "tokens", "of them cached", "money", "delayed", "approvals")
    return table(*columns, rows=rows, right=columns[2:])


def _excerpt(compression: Compression) -> Panel:
    lines = compression.text.splitlines()
    shown, left = lines[:EXCERPT], len(lines[EXCERPT:])
    text = escape("\n".join(shown)) + (f"\n[dim]… and {left} lines more[/]" if left else "")
    return _panel(text, f"The summary ({compression.method}), as {compression.calls} prompts showed it")


def _reply(task: Mapping[str, Any]) -> Iterator[Panel]:
    """The reply of the last agent, if there is one."""
    *_, last = task["agents"].values()
    if last["reply"]:
        yield _panel(Markdown(last["reply"]), "What the agents wrote")


def _next_steps(figures: Figures, running_in: Path | None) -> str:
    """Commands to try next, each at the end of a line that is not wrapped, so that it can be copied."""
    if running_in is None:
        rows = {
            "Leave all of this running": f"{purser()} demo --keep",
            "Start Purser for your own tasks": f"{purser()} up",
        }
    else:
        rows = {
            "The task, as the API returns it": f"{purser()} tasks show {figures.task['task_id']} --data {running_in}",
            "The audit once more": f"{purser()} audit --data {running_in}",
            "Stop everything and delete it": "ctrl-C",
        }
    return "\n".join(f"{meaning:<33}{typed}" for meaning, typed in rows.items())


def _grid() -> Table:
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column()
    return made


def _panel(content: str | Markdown, title: str) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim")


def _usd(nano: int) -> str:
    """Dollars to a thousandth of a cent; `--json` has exact amounts."""
    return dollars(nano, decimals=5)
