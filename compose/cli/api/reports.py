"""`purser usage`, `purser ledger` and `purser events`."""

from typing import Annotated, Any

import typer

from purser.budget.reports.entries import EntryKind
from purser.budget.reports.usage import By
from purser.compose.cli.output import DataOption, JsonOption, out, print_json

Since = Annotated[str | None, typer.Option("--from", help="At or after this time, for example 2026-11-20T18:00:00Z.")]
Until = Annotated[str | None, typer.Option("--to", help="Before this time.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(usage)
    app.command()(ledger)
    app.command()(events)


def usage(
    by: Annotated[By, typer.Option(help="Dimension by which to sum.")] = By.MODEL,
    since: Since = None,
    until: Until = None,
    timezone: Annotated[str | None, typer.Option(help="IANA time zone in which days begin.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of rows.", min=1, max=1_000)] = 100,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was charged, by default within the last 30 days."""
    from rich.markup import escape

    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.tables import number, print_table, table, usd

    asked = {"by": by, "from": since, "to": until, "timezone": timezone, "limit": limit}
    with gateway(data) as api:
        page = api.get("/v1/usage", **asked)
    if as_json:
        print_json(page)
        return
    rows = [
        (
            escape(line["id"]) or "-",
            number(line["charged_tokens"]),
            usd(line["nano_usd"]),
            number(line["attempts"]),
            number(line["unpriced_attempts"]),
            number(line["presumed"]["tokens"]),
            number(line["overrun"]["tokens"]),
        )
        for line in page["items"]
    ]
    columns = (by, "tokens", "money", "attempts", "unpriced", "presumed", "overrun")
    print_table(table(*columns, rows=rows, right=columns[1:]))
    _print_more(page)


def ledger(
    scope: Annotated[str | None, typer.Option(help="Only of this scope, for example session:s1.")] = None,
    kind: Annotated[EntryKind | None, typer.Option(help="Only of this kind.")] = None,
    task: Annotated[str | None, typer.Option(help="Only of holds of this task.")] = None,
    hold: Annotated[str | None, typer.Option(help="Only of this hold.")] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="Maximum number of rows.", min=1, max=1_000)] = 100,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the entries of the ledger, newest first."""
    from rich.markup import escape

    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.tables import number, print_table, table, usd

    filters = {"scope": scope, "kind": kind, "task": task, "hold": hold, "from": since, "to": until, "limit": limit}
    with gateway(data) as api:
        page = api.get("/v1/ledger", **filters)
    if as_json:
        print_json(page)
        return
    rows = [
        (
            entry["at"],
            escape(entry["scope"]),
            entry["kind"],
            entry["hold_id"] or "-",
            f"{entry['moved']['tokens']['spent']:+,}",
            f"{entry['moved']['tokens']['held']:+,}",
            number(entry["after"]["tokens"]["spent"]),
            number(entry["after"]["tokens"]["held"]),
            usd(entry["after"]["nano_usd"]["spent"]),
        )
        for entry in page["items"]
    ]
    columns = ("at", "scope", "kind", "hold", "spent +", "held +", "spent", "held", "money spent")
    print_table(table(*columns, rows=rows, right=columns[4:]))
    _print_more(page)


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new events until ctrl-C.")] = False,
    kind: Annotated[list[str] | None, typer.Option(help="Only these, for example budget; repeatable.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="Only of these; a task includes its agents.")] = None,
    after: Annotated[
        int | None, typer.Option(help="Resume after this event; 0: from the oldest, the default without --follow.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print events, one a line: budgets, approvals, compressions, progress of tasks; with --json as documents."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.event_lines import read_events

    start = after if follow or after is not None else 0
    try:
        with gateway(data) as api:
            for event in read_events(api, {"kind": kind, "scope": scope}, start, follow=follow):
                if as_json:
                    print_json(event)
                else:
                    out.print(_line(event), markup=False)
    except KeyboardInterrupt:
        return


def _line(event: dict[str, Any]) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in event["data"].items() if not isinstance(value, dict | list))
    return " ".join(part for part in (event["at"], event["kind"], event["scope"], facts) if part)


def _print_more(page: dict[str, Any]) -> None:
    if page["cursor"] is not None:
        out.print("There are more: raise --limit, or narrow the time range.")
