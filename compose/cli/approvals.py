"""`purser approvals`: list, show, approve, deny."""

import uuid
from typing import Annotated, Any
from urllib.parse import quote

import typer

from budget.approvals import ApprovalState
from compose.cli.output import DataOption, JsonOption, out, print_json

ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL_ID")]
Note = Annotated[str | None, typer.Option(help="Why, for the record.")]
DecisionId = Annotated[str | None, typer.Option(help="Name of the decision: send it twice, it counts once.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Decide what asks for a person.")
    group.command("list")(list_approvals)
    group.command("show")(show)
    group.command("approve")(approve)
    group.command("deny")(deny)
    app.add_typer(group, name="approvals")


def list_approvals(
    state: Annotated[ApprovalState | None, typer.Option(help="Only requests in this state.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=1_000)] = 100,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Requests, newest first."""
    from rich.markup import escape

    from compose.cli.client import gateway
    from compose.cli.tables import number, put, status, table, usd

    with gateway(data) as api:
        page = api.get("/v1/approvals", state=state, limit=limit)
    if as_json:
        print_json(page)
        return
    rows = [
        (
            escape(one["approval_id"]),
            status(one["state"]),
            escape(one["scope"]),
            number(one["asked"]["tokens"]),
            usd(one["asked"]["nano_usd"]),
            escape(", ".join(sorted({waiter["task_id"] or waiter["key"] for waiter in one["waiters"]}))),
            one["deadline"],
        )
        for one in page["items"]
    ]
    columns = ("approval", "state", "scope", "tokens", "money", "for", "deadline")
    put(table(*columns, rows=rows, right=("tokens", "money")))


def show(approval_id: ApprovalId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """One request: what is short, who waits, what was decided."""
    from compose.cli.client import gateway

    with gateway(data) as api:
        request = api.get(_path(approval_id))
    if as_json:
        print_json(request)
    else:
        _print(request)


def approve(
    approval_id: ApprovalId,
    tokens: Annotated[int | None, typer.Option(help="Tokens to grant; what is short by default.", min=1)] = None,
    usd: Annotated[str | None, typer.Option(help="Dollars to grant, for example 0.25.")] = None,
    until: Annotated[str | None, typer.Option(help="When the grant ends, for example 2026-11-20T18:00:00Z.")] = None,
    note: Note = None,
    decision_id: DecisionId = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the scope spend more."""
    from compose.cli.amounts import nano_usd

    grant = {"grant_tokens": tokens, "grant_nano_usd": nano_usd(usd), "until": until}
    _decide(approval_id, "approve", grant | {"note": note}, decision_id, data, as_json)


def deny(
    approval_id: ApprovalId,
    note: Note = None,
    decision_id: DecisionId = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Refuse it: who waits is refused."""
    _decide(approval_id, "deny", {"note": note}, decision_id, data, as_json)


def _decide(
    approval_id: str, decision: str, more: dict[str, Any], decision_id: str | None, data: DataOption, as_json: bool
) -> None:
    from compose.cli.client import gateway

    body = {"decision_id": decision_id or str(uuid.uuid4()), "decision": decision}
    body |= {name: value for name, value in more.items() if value is not None}
    with gateway(data) as api:
        answer = api.post(f"{_path(approval_id)}/decision", body)
    if as_json:
        print_json(answer)
        return
    needed = answer["decisions_needed"]
    out.print(f"{approval_id} is {answer['state']}" + (f": {needed} more person has to approve." if needed else "."))


def _path(approval_id: str) -> str:
    return f"/v1/approvals/{quote(approval_id, safe='')}"


def _print(request: dict[str, Any]) -> None:
    from rich.markup import escape

    from compose.cli.tables import number, put, status, table, usd

    asked = request["asked"]
    out.print(f"[bold]{escape(request['approval_id'])}[/] {status(request['state'])}, {escape(request['scope'])}")
    out.print(f"short      {number(asked['tokens'])} tokens, {usd(asked['nano_usd'])}")
    tokens = request["tokens"]
    limit = number(request["limit_tokens"])
    out.print(f"tokens     {number(tokens['spent'])} spent, {number(tokens['held'])} held, limit {limit}")
    out.print(f"deadline   {request['deadline']}, then {request['rules']['on_expiry']}")
    names = ("task_id", "agent_id", "submitter")
    waiters = [
        (*(escape(one[name] or "") for name in names), number(one["tokens"]), one["since"])
        for one in request["waiters"]
    ]
    if waiters:
        put(table("task", "agent", "submitted by", "asks tokens", "since", rows=waiters, right=("asks tokens",)))
    for one in request["decisions"]:
        note = f": {one['note']}" if one["note"] else ""
        out.print(f"{one['decision']} by {one['approver']} at {one['at']}{note}", markup=False)
