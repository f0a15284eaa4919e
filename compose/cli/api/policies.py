"""`purser budget apply`, `export` and `replay`: all policies as one file."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from purser.compose.cli.output import DataOption, JsonOption, out, print_answer, print_json

if TYPE_CHECKING:
    from purser.compose.cli.api.client import Gateway

TIMEOUT_S = 300.0
"""How long thousands of policies may take to be stored, or to be replayed over the calls of months."""
PoliciesFile = Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON, as `export` prints it.")]


def register(group: typer.Typer) -> None:
    """Add the commands to `purser budget`."""
    group.command("apply")(apply)
    group.command("export")(export)
    group.command("replay")(replay)


def apply(
    file: PoliciesFile,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes and make none.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Also remove policies that the file does not name.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store the policies and templates of a file, all or none, and show what changed."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.policies_file import read_policies_file

    policies = read_policies_file(file)
    with gateway(data) as api:
        body = {"policies": policies, "prune": prune, "dry_run": dry_run}
        found = api.request("PUT", "/v1/policies", json=body, timeout=TIMEOUT_S)
    if as_json:
        print_json(found)
        return
    for change in found["changes"]:
        _print(change)
    count = len(found["changes"])
    done = "would change" if dry_run else "changed"
    out.print(f"{count or 'No'} {'policy' if count == 1 else 'policies'} {done}.")


def replay(
    file: PoliciesFile,
    since: Annotated[str, typer.Option(help="How far back the history begins, such as 12h or 7d.")] = "7d",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the policies of a file would have done with the calls of the past. Changes nothing."""
    from rich.markup import escape

    from purser.compose.cli.amounts import seconds
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.policies_file import read_policies_file
    from purser.compose.cli.tables import number, print_table, table, usd

    begin = datetime.now(UTC) - timedelta(seconds=seconds(since) or 0)
    policies = read_policies_file(file)
    with gateway(data) as api:
        found = api.post("/v1/policies/replay", {"policies": policies, "since": begin.isoformat()}, timeout_s=TIMEOUT_S)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            escape(line.get("scope", "all")),
            *(number(line[name]) for name in ("refused", "asked", "waited", "tasks_stopped", "delayed")),
            f"{line['delay_ms'] / 1_000:,.1f} s",
            number(line["saved_tokens"]),
            usd(line["saved_nano_usd"]),
        )
        for line in (*found["scopes"], found["total"])
    ]
    columns = (
        "scope",
        "refused",
        "asked",
        "waited",
        "tasks stopped",
        "delayed",
        "delays",
        "tokens saved",
        "money saved",
    )
    print_table(table(*columns, rows=rows, right=columns[1:]))
    _print_steps(found["scopes"])
    out.print(f"{number(found['calls'])} calls since {begin:%Y-%m-%d %H:%M} UTC.", markup=False)
    out.print(f"Not known: {'; '.join(found['not_known'])}.", markup=False)


def _print_steps(scopes: Sequence[Mapping[str, Any]]) -> None:
    """Print what the steps of ladders would have done, if calls reach any."""
    from rich.markup import escape

    from purser.compose.cli.tables import number, print_table, table, usd

    columns = ("ladder of", "step", "from", "calls", "of unknown effect", "tokens saved", "money saved")
    rows = [
        (
            escape(line["scope"]),
            str(step["step"]),
            f"{step['ratio'] * 100:g} %",
            number(step["calls"]),
            number(step["unknown"]),
            number(step["saved_tokens"]),
            usd(step["saved_nano_usd"]),
        )
        for line in scopes
        for step in line["ladder"]
    ]
    if rows:
        print_table(table(*columns, rows=rows, right=columns[1:]))


def export(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Print all stored policies and templates as YAML, which `apply` reads."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.policies_file import write_policies

    with gateway(data) as api:
        found = api.get("/v1/policies")
    print_answer(found, lambda made: typer.echo(write_policies(made["policies"]), nl=False), as_json=as_json)


def template(api: "Gateway", pattern: str) -> dict[str, Any] | None:
    """Read the fields of a template, None if it does not exist."""
    fields: dict[str, Any] | None = api.get("/v1/policies")["policies"].get(pattern)
    return fields


def set_template(
    api: "Gateway", pattern: str, change: Mapping[str, Any], rules: Mapping[str, Any], as_json: bool
) -> None:
    """Change fields of a template, and print them; None clears one. A template without fields is removed."""
    stored = template(api, pattern)
    fields = stored or {}
    if rules:
        change = {**change, "approval": {**fields.get("approval", {}), **rules}}
    changed = {name: value for name, value in {**fields, **change}.items() if value is not None}
    api.put("/v1/policies", {"policies": {pattern: changed or None}})
    absent = "no such template" if stored is None else "removed"
    print_template(pattern, template(api, pattern), as_json, absent)


def print_template(
    pattern: str, fields: Mapping[str, Any] | None, as_json: bool, absent: str = "no such template"
) -> None:
    """Print the fields of a template; `absent` says why there are none."""
    from purser.compose.cli.api.policies_file import write_policies

    if as_json:
        print_json({"name": pattern, "fields": fields})
    elif fields is None:
        out.print(f"{pattern}: {absent}.", markup=False)
    else:
        typer.echo(write_policies({pattern: fields}), nl=False)


_SIGNS = {"create": ("+", "green"), "change": ("~", "yellow"), "remove": ("-", "red")}


def _print(change: dict[str, Any]) -> None:
    sign, colour = _SIGNS[change["action"]]
    out.print(f"{sign} {change['name']}", style=colour, markup=False)
    before, after = change["before"] or {}, change["after"] or {}
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            out.print(f"    {name}: {_shown(before.get(name))} → {_shown(after.get(name))}", markup=False)


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
