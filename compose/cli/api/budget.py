"""`purser budget`: show, set."""

from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import quote

import typer

from purser.budget.policies import Mode, OnExpiry
from purser.budget.windows import Window
from purser.compose.cli.output import DataOption, JsonOption, out, print_json

ScopeArgument = Annotated[str, typer.Argument(metavar="SCOPE", help="kind:id, for example session:s1 or agent:t1/a1.")]

Field = StrEnum(
    "Field",
    "limit_tokens limit_nano_usd mode window timezone warn_at backpressure approval frozen",
)
"""The fields of a policy."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Show and change budgets.")
    group.command("show")(show)
    group.command("set")(set_budget)
    app.add_typer(group, name="budget")


def show(scope: ScopeArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show one budget in its current window."""
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        _print(api.get(_path(scope)), as_json)


def set_budget(
    scope: ScopeArgument,
    limit_tokens: Annotated[int | None, typer.Option(help="Token limit.", min=0)] = None,
    limit_usd: Annotated[str | None, typer.Option(help="Money limit in dollars, for example 0.25.")] = None,
    mode: Annotated[Mode | None, typer.Option(help="What happens when a request does not fit.")] = None,
    window: Annotated[Window | None, typer.Option(help="Period that the limit applies to.")] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA time zone in which windows begin.")] = None,
    warn_at: Annotated[list[str] | None, typer.Option(help="Ratio at which to warn; repeatable.")] = None,
    backpressure: Annotated[list[str] | None, typer.Option(help="Delay, as RATIO:DELAY_MS; repeatable.")] = None,
    frozen: Annotated[bool | None, typer.Option("--frozen/--no-frozen", help="Admit nothing.")] = None,
    approver_role: Annotated[list[str] | None, typer.Option(help="Role that may approve; repeatable.")] = None,
    not_submitter: Annotated[
        bool | None, typer.Option("--not-submitter/--or-submitter", help="The submitter of a task may not approve.")
    ] = None,
    two_people_above_tokens: Annotated[int | None, typer.Option(help="Larger grants need two people.", min=0)] = None,
    deadline_s: Annotated[int | None, typer.Option(help="Seconds until a request expires.", min=1)] = None,
    on_expiry: Annotated[OnExpiry | None, typer.Option(help="What happens to a request that expires.")] = None,
    clear: Annotated[list[Field] | None, typer.Option(help="Field to reset to its default; repeatable.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the policy of a scope, from the next hold on. Fields that are not named stay as they are."""
    from purser.compose.cli.amounts import nano_usd
    from purser.compose.cli.api.client import gateway

    fields = {
        "limit_tokens": limit_tokens,
        "limit_nano_usd": nano_usd(limit_usd),
        "mode": mode,
        "window": window,
        "timezone": timezone,
        "warn_at": warn_at,
        "backpressure": [_step(text) for text in backpressure] if backpressure else None,
        "frozen": frozen,
    }
    rules = {
        "roles": approver_role,
        "not_submitter": not_submitter,
        "two_people_above_tokens": two_people_above_tokens,
        "deadline_s": deadline_s,
        "on_expiry": on_expiry,
    }
    change: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    given_rules = {name: value for name, value in rules.items() if value is not None}
    change |= {str(field): None for field in clear or ()}
    if not change and not given_rules:
        raise typer.BadParameter("nothing to change: name at least one field")
    with gateway(data) as api:
        if given_rules:
            change["approval"] = api.get(_path(scope))["approval"] | given_rules
        _print(api.put(_path(scope), change), as_json)


def _path(scope: str) -> str:
    return f"/v1/budgets/{quote(scope, safe=':/')}"


def _step(text: str) -> list[object]:
    ratio, colon, delay = text.partition(":")
    if not colon or not delay.isdecimal():
        raise typer.BadParameter(f"{text[:40]!r} is not a backpressure step: write RATIO:DELAY_MS, for example 0.9:750")
    return [ratio, int(delay)]


def _print(view: dict[str, Any], as_json: bool) -> None:
    from purser.compose.cli.tables import budgets, print_table

    if as_json:
        print_json(view)
        return
    print_table(budgets([view]))
    stored = sorted(name for name, source in view["sources"].items() if source != "default")
    if stored:
        out.print("set: " + ", ".join(f"{name} ({view['sources'][name]})" for name in stored), markup=False)
