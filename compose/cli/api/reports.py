"""`purser usage`, `purser ledger` and `purser events`."""

from typing import Annotated, Any

import typer

from purser.budget.reports.entries import EntryKind
from purser.budget.reports.usage import By
from purser.compose.cli.amounts import moment
from purser.compose.cli.output import AllOption, DataOption, JsonOption, LimitOption, out, print_answer

Since = Annotated[
    str | None,
    typer.Option("--from", help="At or after this time, for example 2026-11-20T18:00:00Z.", callback=moment),
]
Until = Annotated[str | None, typer.Option("--to", help="Before this time.", callback=moment)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(usage)
    app.command()(ledger)
    app.command()(events)


def usage(
    by: Annotated[By, typer.Option(help="Dimension by which to sum.")] = By.MODEL,
    since: Since = None,
    until: Until = None,
    within: Annotated[
        str | None, typer.Option(help="Only calls that drew on the budget of this scope, for example session:s1.")
    ] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA time zone in which days begin.")] = None,
    limit: LimitOption = 100,
    whole: AllOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was charged, by default within the last 30 days."""
    from purser.compose.cli.lists import figure, money, print_list, text

    columns = {
        str(by): text("id"),
        "tokens": figure("charged_tokens"),
        "money": money("nano_usd"),
        "attempts": figure("attempts"),
        "unpriced": figure("unpriced_attempts"),
        "presumed": figure("presumed.tokens"),
        "overrun": figure("overrun.tokens"),
    }
    asked = {"by": by, "from": since, "to": until, "within": within, "timezone": timezone, "limit": limit}
    print_list(data, "/v1/usage", asked, columns, whole=whole, as_json=as_json)


def ledger(
    scope: Annotated[str | None, typer.Option(help="Only of this scope, for example session:s1.")] = None,
    kind: Annotated[EntryKind | None, typer.Option(help="Only of this kind.")] = None,
    task: Annotated[str | None, typer.Option(help="Only of holds of this task.")] = None,
    hold: Annotated[str | None, typer.Option(help="Only of this hold.")] = None,
    since: Since = None,
    until: Until = None,
    limit: LimitOption = 100,
    whole: AllOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the entries of the ledger, newest first."""
    from purser.compose.cli.lists import change, figure, money, print_list, text

    columns = {
        "at": text("at"),
        "scope": text("scope"),
        "kind": text("kind"),
        "hold": text("hold_id"),
        "spent +": change("moved.tokens.spent"),
        "held +": change("moved.tokens.held"),
        "spent": figure("after.tokens.spent"),
        "held": figure("after.tokens.held"),
        "money spent": money("after.nano_usd.spent"),
    }
    filters = {"scope": scope, "kind": kind, "task": task, "hold": hold, "from": since, "to": until, "limit": limit}
    print_list(data, "/v1/ledger", filters, columns, whole=whole, as_json=as_json)


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new events until ctrl-C.")] = False,
    kind: Annotated[list[str] | None, typer.Option(help="Only these, for example budget; repeatable.")] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="Only of these, with their further limits; a task includes its agents.")
    ] = None,
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
                print_answer(event, _print, as_json=as_json)
    except KeyboardInterrupt:
        return


def _print(event: dict[str, Any]) -> None:
    facts = ", ".join(f"{name} {value}" for name, value in event["data"].items() if not isinstance(value, dict | list))
    line = " ".join(part for part in (event["at"], event["kind"], event["scope"], facts) if part)
    out.print(line, markup=False)
