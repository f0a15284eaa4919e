"""`purser approvals`: list, show, approve, deny."""

import uuid
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from purser.budget.approvals import ApprovalState, Choice
from purser.budget.reports.views import whole_percent
from purser.budget.scopes import check_id
from purser.compose.cli.amounts import moment
from purser.compose.cli.output import AllOption, DataOption, JsonOption, LimitOption, out, print_answer

if TYPE_CHECKING:
    from purser.compose.cli.api.client import Gateway

_SHOWN = 200
"""Characters of a text about a call that are printed."""


class Channel(StrEnum):
    """How a decision is sent."""

    HTTP = "http"
    TEMPORAL = "temporal"


ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL_ID")]
ApprovalIds = Annotated[list[str], typer.Argument(metavar="APPROVAL_ID...")]
Note = Annotated[str | None, typer.Option(help="The reason, for the record.")]
TicketUrl = Annotated[str | None, typer.Option(help="Where it was discussed: an http or https address.")]
Via = Annotated[Channel, typer.Option(help="`http`, or `temporal`: signed with the key, through the task's workflow.")]
DecisionId = Annotated[str | None, typer.Option(help="Id of the decision: sent twice, it counts once.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="List approval requests and decide them.")
    group.command("list")(list_approvals)
    group.command("show")(show)
    group.command("approve")(approve)
    group.command("deny")(deny)
    app.add_typer(group, name="approvals")


def list_approvals(
    state: Annotated[ApprovalState | None, typer.Option(help="Only requests in this state.")] = None,
    limit: LimitOption = 100,
    whole: AllOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List approval requests, newest first."""
    from rich.markup import escape

    from purser.compose.cli.lists import Cell, figure, money, print_list, status, text

    columns = {
        "approval": text("approval_id"),
        "state": status("state"),
        "scope": text("scope"),
        "tokens": figure("asked.tokens"),
        "money": money("asked.nano_usd"),
        "for": Cell(lambda one: escape(", ".join(sorted({who["task_id"] or who["key"] for who in one["waiters"]})))),
        "deadline": text("deadline"),
    }
    print_list(data, "/v1/approvals", {"state": state, "limit": limit}, columns, whole=whole, as_json=as_json)


def show(approval_id: ApprovalId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show one request: the shortage, who waits, and the decisions."""
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        request = api.get(_path(approval_id))
    print_answer(request, _print, as_json=as_json)


def approve(
    approval_ids: ApprovalIds,
    tokens: Annotated[int | None, typer.Option(help="Tokens to grant. Default: the shortage.", min=1)] = None,
    usd: Annotated[str | None, typer.Option(help="Dollars to grant, for example 0.25.")] = None,
    until: Annotated[
        str | None, typer.Option(help="When the grant ends, for example 2026-11-20T18:00:00Z.", callback=moment)
    ] = None,
    note: Note = None,
    ticket_url: TicketUrl = None,
    decision_id: DecisionId = None,
    via: Via = Channel.HTTP,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve requests: raise the limits of their scopes, each by as much."""
    from purser.compose.cli.amounts import nano_usd

    grant = {"grant_tokens": tokens, "grant_nano_usd": nano_usd(usd), "until": until}
    _decide(approval_ids, "approve", grant | {"note": note, "ticket_url": ticket_url}, decision_id, via, data, as_json)


def deny(
    approval_ids: ApprovalIds,
    note: Note = None,
    ticket_url: TicketUrl = None,
    decision_id: DecisionId = None,
    via: Via = Channel.HTTP,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deny requests: the calls that wait for them are refused."""
    _decide(approval_ids, "deny", {"note": note, "ticket_url": ticket_url}, decision_id, via, data, as_json)


def _decide(
    approval_ids: list[str],
    decision: str,
    more: dict[str, Any],
    decision_id: str | None,
    via: Channel,
    data: DataOption,
    as_json: bool,
) -> None:
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.several import do_each

    if via is Channel.TEMPORAL and more["note"] is not None:
        raise typer.BadParameter("a note would be stored in the workflow's history: leave it out, or use --via http")
    if decision_id is not None and len(approval_ids) > 1:
        raise typer.BadParameter("--decision-id is the id of one decision: name one request, or leave the option out")
    given = {"decision": decision} | {name: value for name, value in more.items() if value is not None}
    with gateway(data) as api:

        def decide(approval_id: str) -> dict[str, Any]:
            body = {"decision_id": decision_id or str(uuid.uuid4()), **given}
            if via is Channel.TEMPORAL:
                return _through_temporal(api, approval_id, body, data)
            return api.post(f"{_path(approval_id)}/decision", body)

        do_each("approval_id", approval_ids, decide, _print_answer, as_json=as_json)


def _print_answer(answer: Mapping[str, Any]) -> None:
    if problem := answer.get("problem"):
        text = f"was not decided: {problem.get('detail') or problem['title']}"
    else:
        needed = answer["decisions_needed"]
        text = f"is {answer['state']}" + (f": {_people(needed)} to approve." if needed else ".")
    out.print(f"{answer['approval_id']} {text}", markup=False)


def _people(needed: int) -> str:
    return "1 more person has" if needed == 1 else f"{needed} more people have"


def _through_temporal(api: "Gateway", approval_id: str, body: dict[str, Any], data: DataOption) -> dict[str, Any]:
    from purser.compose.cli.api.temporal_decision import decide
    from purser.compose.processes.up_file import command_settings

    return decide(command_settings(data), api.get(_path(approval_id)), api.get("/v1/keys/self"), body)


def _path(approval_id: str) -> str:
    return f"/v1/approvals/{check_id(approval_id, 'the id of the request')}"


def _print(request: dict[str, Any]) -> None:
    from rich.markup import escape

    from purser.compose.cli.tables import number, print_table, status, table, usd

    asked = request["asked"]
    out.print(f"[bold]{escape(request['approval_id'])}[/] {status(request['state'])}, {escape(request['scope'])}")
    out.print(f"short      {number(asked['tokens'])} tokens, {usd(asked['nano_usd'])}")
    out.print(f"tokens     {_figures(request['tokens'], request['limit_tokens'], number)}")
    if request["limit_nano_usd"] is not None:
        out.print(f"money      {_figures(request['nano_usd'], request['limit_nano_usd'], usd)}")
    if request["task_id"]:
        out.print(f"for        task {escape(request['task_id'])} alone, which asked for this limit itself")
    on_expiry = request["rules"]["on_expiry"]
    unless = ", unless two people have to approve" if on_expiry == "grant" else ""
    out.print(f"deadline   {request['deadline']}, then {on_expiry}{unless}")
    names = ("task_id", "agent_id", "submitter")
    waiters = [
        (*(escape(one[name] or "") for name in names), number(one["tokens"]), one["since"])
        for one in request["waiters"]
    ]
    if waiters:
        columns = ("task", "agent", "submitted by", "asks tokens", "since")
        print_table(table(*columns, rows=waiters, right=("asks tokens",)))
    for one in request["purposes"]:
        _print_purpose(one)
    if request["effects"] is not None:
        _print_effects(request["effects"])
    if request["state"] == ApprovalState.PENDING:
        out.print(f"to finish  {_finish(request['finish'])}", markup=False)
        out.print(f"to grant   {_people(request['decisions_needed'])} to approve")
    for one in request["related"]:
        asked = f"{number(one['asked']['tokens'])} tokens, {usd(one['asked']['nano_usd'])}"
        out.print(f"waits too  {one['scope']}: {asked}, approval {one['approval_id']}", markup=False)
    for one in request["decisions"]:
        note = f": {one['note']}" if one["note"] else ""
        out.print(f"{one['decision']} by {one['approver']} at {one['at']}{_grant(one)}{note}", markup=False)
        if one["ticket_url"]:
            out.print(f"ticket     {one['ticket_url']}", markup=False, soft_wrap=True)


def _figures(of_scope: dict[str, int], limit: int | None, shown: Callable[[int | None], str]) -> str:
    parts = [f"{shown(of_scope[name])} {name}" for name in ("spent", "held", "granted")]
    return f"{', '.join(parts)}, limit {shown(limit)}"


def _print_purpose(purpose: dict[str, Any]) -> None:
    """Print what a call is for. The texts come from others, so they are printed without markup, one line each."""
    last, tool = purpose["last_input"], purpose["tool"]
    texts = {
        "task": purpose["input"],
        "agent": purpose["instructions"],
        "last input": f"{last['role']}: {last['text']}" if last else "",
        "paid tool": f"{tool['name']} {tool['arguments']}" if tool else "",
    }
    for name, text in texts.items():
        if text:
            out.print(f"{name:<10} {_one_line(text)}", markup=False, highlight=False)


def _one_line(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _grant(decision: dict[str, Any]) -> str:
    from purser.compose.cli.tables import number, usd

    if decision["decision"] != Choice.APPROVE:
        return ""
    until = f", until {decision['until']}" if decision["until"] else ""
    return f", {number(decision['grant_tokens'])} tokens, {usd(decision['grant_nano_usd'])}{until}"


def _print_effects(effects: dict[str, Any]) -> None:
    from purser.compose.cli.tables import number, usd

    eased = "less delay" if effects["without_delay"]["delay_ms"] else "no delay"
    for name, effect in (("exact", effects["shortage"]), (eased, effects["without_delay"])):
        grant = f"{number(effect['grant_tokens'])} tokens, {usd(effect['grant_nano_usd'])}"
        out.print(f"{name:<10} {grant}: {_effect(effect)}", markup=False)


def _finish(finish: dict[str, Any] | None) -> str:
    from purser.compose.cli.tables import number, usd

    if finish is None:
        return "unknown: no turn of a waiting task has a reply yet"
    low, high = (f"{number(finish[end]['tokens'])} tokens, {usd(finish[end]['nano_usd'])}" for end in ("low", "high"))
    return f"{low} to {high}, by {finish['turns']} turns so far"


def _effect(effect: dict[str, Any]) -> str:
    counts = {"go on": "admitted", "ask again": "asking", "wait for open holds": "waiting", "are refused": "refused"}
    parts = [f"{effect[field]} {what}" for what, field in counts.items() if effect[field]]
    # Rounded down: a ratio just below a step of 80% causes no delay, and "80%" would suggest that it does.
    parts += [] if effect["ratio"] is None else [f"{whole_percent(effect['ratio'])}% used"]
    parts += [f"slowed by {effect['delay_ms']} ms ({effect['slowed_by']})"] if effect["delay_ms"] else []
    return ", ".join(parts)
