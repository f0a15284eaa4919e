"""`purser budget`: list, show, set, apply, export."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from purser.budget.policies.fields import Mode, OnExpiry
from purser.budget.policies.templates import is_pattern
from purser.budget.scopes import Kind, Scope
from purser.compose.cli.api import policies
from purser.compose.cli.output import AllOption, DataOption, JsonOption, LimitOption, out, print_answer

ScopeArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCOPE",
        help="kind:id such as session:s1, a further limit such as session:s1@day, or a template such as"
        " 'agent:*/writer'.",
    ),
]

Field = StrEnum(
    "Field",
    "limit_tokens limit_nano_usd mode window timezone warn_at backpressure approval frozen shadow learned_holds "
    "last_answer rollover ladder",
)
"""The fields of a policy."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Show and change budgets.")
    group.command("list")(list_budgets)
    group.command("show")(show)
    group.command("set")(set_budget)
    policies.register(group)
    app.add_typer(group, name="budget")


def list_budgets(
    over: Annotated[str | None, typer.Option(help="Only budgets with at least this ratio, for example 0.95.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only scopes of this kind.")] = None,
    limit: LimitOption = 100,
    whole: AllOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the scopes that have been used or have a policy, oldest first."""
    from purser.compose.cli.lists import print_list
    from purser.compose.cli.tables import budgets

    print_list(data, "/v1/budgets", {"over": over, "kind": kind, "limit": limit}, budgets, whole=whole, as_json=as_json)


def show(scope: ScopeArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show one budget in its current window, or the fields of a template."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.policies import print_template, template

    with gateway(data) as api:
        if is_pattern(scope):
            print_template(scope, template(api, scope), as_json)
        else:
            print_answer(api.get(_path(scope)), _print, as_json=as_json)


def set_budget(
    scope: ScopeArgument,
    limit_tokens: Annotated[int | None, typer.Option(help="Token limit.", min=0)] = None,
    limit_usd: Annotated[str | None, typer.Option(help="Money limit in dollars, for example 0.25.")] = None,
    mode: Annotated[Mode | None, typer.Option(help="What happens when a request does not fit.")] = None,
    window: Annotated[
        str | None, typer.Option(help="Period of the limit: lifetime, hour, day, week, month, or rolling (5h, 7d).")
    ] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA time zone in which windows begin.")] = None,
    warn_at: Annotated[list[str] | None, typer.Option(help="Ratio at which to warn; repeatable.")] = None,
    backpressure: Annotated[list[str] | None, typer.Option(help="Delay, as RATIO:DELAY_MS; repeatable.")] = None,
    frozen: Annotated[bool | None, typer.Option("--frozen/--no-frozen", help="Admit nothing.")] = None,
    shadow: Annotated[bool | None, typer.Option("--shadow/--no-shadow", help="Only record what it would do.")] = None,
    learned_holds: Annotated[
        str | None, typer.Option(help="Quantile of an agent's replies that a hold covers at first; 0: the output cap.")
    ] = None,
    last_answer: Annotated[
        str | None, typer.Option(help="Share of a task's or an agent's limit for last answers, for example 0.1.")
    ] = None,
    rollover: Annotated[
        str | None, typer.Option(help="Grant what is left to the next calendar window, up to this share of the limit.")
    ] = None,
    ladder: Annotated[
        list[str] | None,
        typer.Option(help="Step to spend less, for example '80 %: model=openai/gpt-4o-mini output=50%'; repeatable."),
    ] = None,
    approver_role: Annotated[list[str] | None, typer.Option(help="Role that may approve; repeatable.")] = None,
    not_submitter: Annotated[
        bool | None, typer.Option("--not-submitter/--or-submitter", help="The submitter of a task may not approve.")
    ] = None,
    two_people_above_tokens: Annotated[int | None, typer.Option(help="Larger grants need two people.", min=0)] = None,
    two_people_above_usd: Annotated[str | None, typer.Option(help="Larger grants of dollars need two people.")] = None,
    deadline_s: Annotated[int | None, typer.Option(help="Seconds until a request expires.", min=1)] = None,
    remind_s: Annotated[int | None, typer.Option(help="Seconds before the deadline to send a reminder.", min=1)] = None,
    escalate_s: Annotated[
        int | None, typer.Option(help="Seconds before the deadline to let deputies decide.", min=1)
    ] = None,
    on_expiry: Annotated[OnExpiry | None, typer.Option(help="What happens to a request that expires.")] = None,
    clear: Annotated[list[Field] | None, typer.Option(help="Field to reset to its default; repeatable.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the policy of a scope or a template, from the next hold on. Fields that are not named stay as they are."""
    from purser.compose.cli.amounts import nano_usd
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.policies import set_template

    fields = {
        "limit_tokens": limit_tokens,
        "limit_nano_usd": nano_usd(limit_usd),
        "mode": mode,
        "window": window,
        "timezone": timezone,
        "warn_at": warn_at,
        "backpressure": [_step(text) for text in backpressure] if backpressure else None,
        "frozen": frozen,
        "shadow": shadow,
        "learned_holds": learned_holds,
        "last_answer": last_answer,
        "rollover": rollover,
        "ladder": [_ladder_step(text) for text in ladder] if ladder else None,
    }
    rules = {
        "roles": approver_role,
        "not_submitter": not_submitter,
        "two_people_above_tokens": two_people_above_tokens,
        "two_people_above_nano_usd": nano_usd(two_people_above_usd),
        "deadline_s": deadline_s,
        "on_expiry": on_expiry,
        "remind_s": remind_s,
        "escalate_s": escalate_s,
    }
    change: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    _check(change)
    given_rules = {name: value for name, value in rules.items() if value is not None}
    cleared = {str(field): None for field in clear or ()}
    if both := cleared.keys() & (change.keys() | ({"approval"} if given_rules else set())):
        raise typer.BadParameter(f"{', '.join(sorted(both))} is both set and cleared: do one of the two")
    change |= cleared
    if not change and not given_rules:
        raise typer.BadParameter("nothing to change: name at least one field")
    with gateway(data) as api:
        if is_pattern(scope):
            set_template(api, scope, change, given_rules, as_json)
            return
        if given_rules:
            change["approval"] = api.get(_path(scope))["approval"] | given_rules
        print_answer(api.put(_path(scope), change), _print, as_json=as_json)


def _check(change: dict[str, Any]) -> None:
    """Refuses values that no policy has, as the gateway would."""
    from purser.budget.errors import InvalidPolicy
    from purser.budget.policies.policy import PolicyPatch

    try:
        PolicyPatch.parse(change)
    except InvalidPolicy as error:
        raise typer.BadParameter(str(error)) from None


def _path(scope: str) -> str:
    return f"/v1/budgets/{Scope.parse(scope)}"


def _step(text: str) -> list[object]:
    ratio, colon, delay = text.partition(":")
    if not colon or not delay.isdecimal():
        raise typer.BadParameter(f"{text[:40]!r} is not a backpressure step: write RATIO:DELAY_MS, for example 0.9:750")
    return [ratio, int(delay)]


def _ladder_step(text: str) -> dict[str, Any]:
    from purser.budget.errors import InvalidPolicy
    from purser.budget.policies.ladder import read_typed

    try:
        return read_typed(text)
    except InvalidPolicy as error:
        raise typer.BadParameter(str(error)) from None


def _print(view: dict[str, Any]) -> None:
    from purser.compose.cli.tables import budgets, number, print_table

    print_table(budgets([view, *view["further_limits"]]))
    if any(view["would"].values()):
        counts = ", ".join(f"{outcome} {number(calls)}" for outcome, calls in view["would"].items())
        out.print(f"calls it would have held up: {counts}", markup=False)
    stored = sorted(name for name, source in view["sources"].items() if source != "default")
    if stored:
        out.print("set: " + ", ".join(f"{name} ({view['sources'][name]})" for name in stored), markup=False)
