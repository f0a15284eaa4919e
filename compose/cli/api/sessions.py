"""`purser sessions`: list, delete."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from purser.budget.scopes import check_id
from purser.compose.cli.output import AllOption, DataOption, JsonOption, LimitOption, out


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="List stored conversations and delete them.")
    group.command("list")(list_sessions)
    group.command("delete")(delete)
    app.add_typer(group, name="sessions")


def list_sessions(
    user: Annotated[str | None, typer.Option(help="Only sessions of this user.")] = None,
    limit: LimitOption = 100,
    whole: AllOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions that have not been deleted, newest first."""
    from purser.compose.cli.lists import figure, print_list, text

    columns = {
        "session": text("session_id"),
        "user": text("user_id"),
        "messages": figure("messages"),
        "summaries": figure("summaries"),
        "pins": figure("pins"),
        "created": text("created_at"),
        "last append": text("active_on"),
    }
    print_list(data, "/v1/sessions", {"user_id": user, "limit": limit}, columns, whole=whole, as_json=as_json)


def delete(
    session_ids: Annotated[list[str], typer.Argument(metavar="SESSION_ID...")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete all text of sessions, for ever; figures remain."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.several import do_each

    with gateway(data) as api:

        def delete_one(session_id: str) -> dict[str, Any]:
            return api.delete(f"/v1/sessions/{check_id(session_id, 'the id of the session')}")

        do_each("session_id", session_ids, delete_one, _print_deleted, as_json=as_json)


def _print_deleted(answer: Mapping[str, Any]) -> None:
    if problem := answer.get("problem"):
        text = f"was not deleted: {problem.get('detail') or problem['title']}"
    else:
        text = f"is deleted, with {answer['messages']:,} messages and {answer['summaries']:,} summaries."
    out.print(f"{answer['session_id']} {text}", markup=False)
