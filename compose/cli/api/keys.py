"""`purser keys`: create, list, change, revoke."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from purser.budget.scopes import check_id
from purser.budget.texts import parts_of
from purser.compose.cli.output import DataOption, JsonOption, out, print_answer, print_json
from purser.gateway.access.roles import Role

if TYPE_CHECKING:
    from purser.compose.cli.api.client import Gateway
    from purser.compose.settings import Settings


PathOption = Annotated[
    str | None,
    typer.Option(metavar="SCOPES", help="Scopes of its calls through the proxy that name none: user:ana, session:s1."),
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Manage keys of the HTTP API.")
    group.command("create")(create)
    group.command("list")(list_keys)
    group.command("change")(change)
    group.command("revoke")(revoke)
    app.add_typer(group, name="keys")


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Owner of the key; decisions carry this name.")],
    role: Annotated[Role, typer.Option(help="What the key may do.")],
    tenant: Annotated[
        str | None, typer.Option(help="Tenant of the key; if set, the key is made in the database (PURSER_DSN).")
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="DURATION", help="Time until it expires, such as 30d.")] = None,
    rate_limit: Annotated[
        int | None, typer.Option(min=1, help="Requests a second. Default: the limit of the gateway.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Tag of every call made with the key; repeatable.")
    ] = None,
    path: PathOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and show it once.

    The first key of a tenant is created in the database, later ones over HTTP with an admin key.
    """
    from purser.compose.cli.amounts import seconds, tags_by_name
    from purser.compose.cli.api.client import gateway
    from purser.compose.processes.up_file import command_settings

    life, tags, scopes = seconds(expires), tags_by_name(tag or []), parts_of(path or "")
    settings = command_settings(data)
    if tenant is not None or settings.api_key is None or settings.url is None:
        made = _create_in_database(settings, tenant, name, role, life, rate_limit, tags, scopes)
    else:
        with gateway(data) as api:
            body = {"name": name, "role": role, "expires_in_s": life, "rate_limit_per_s": rate_limit}
            made = api.post("/v1/keys", body | {"tags": tags, "path": scopes})
    if as_json:
        print_json(made)
        return
    out.print(f"{made['key_id']} for {made['name']}, {made['role']}. It is shown this once:", markup=False)
    out.print(made["key"], style="bold", markup=False)


def list_keys(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List all keys of the tenant, including those that have ended."""
    from rich.markup import escape

    from purser.compose.cli.lists import Cell, print_list, text

    columns = {
        "key": text("key_id"),
        "name": text("name"),
        "role": text("role"),
        "tags": Cell(lambda key: escape(", ".join(f"{name}={value}" for name, value in key["tags"].items()))),
        "path": Cell(lambda key: escape(", ".join(key["path"]))),
        "created": text("created_at"),
        "state": Cell(_state),
    }
    print_list(data, "/v1/keys", {}, columns, as_json=as_json)


def _state(key: Mapping[str, Any]) -> str:
    if key["revoked_at"]:
        return f"[red]revoked {key['revoked_at']}[/]"
    if key["expires_at"] is None:
        return "[green]live[/]"
    ended = datetime.fromisoformat(key["expires_at"]) <= datetime.now(UTC)
    return f"[red]ended {key['expires_at']}[/]" if ended else f"[green]live until {key['expires_at']}[/]"


def change(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The id that `purser keys list` shows.")],
    role: Annotated[Role | None, typer.Option(help="What the key may do.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Time from now until it expires, such as 30d.")
    ] = None,
    never_expires: Annotated[bool, typer.Option("--never-expires", help="Remove its end.")] = False,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="SCOPES",
            help="Scopes of its calls through the proxy that name none: user:ana, session:s1. Empty: only the tenant.",
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a key, from its next request on. What is not named stays as it is.

    A later end also revives a key that has expired.
    """
    from rich.markup import escape

    from purser.compose.cli.amounts import seconds

    if expires is not None and never_expires:
        raise typer.BadParameter("--expires and --never-expires both say when the key ends: name one")
    scopes = None if path is None else parts_of(path)
    given = {"role": role, "expires_in_s": seconds(expires), "path": scopes}
    change: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if never_expires:
        change["expires_at"] = None
    if not change:
        raise typer.BadParameter("nothing to change: name --role, --expires, --never-expires or --path")
    changed = _with_id(data, lambda api: api.request("PATCH", _of(key_id), json=change))
    if as_json:
        print_json(changed)
        return
    payers = ", ".join(changed["path"]) or "only the tenant"
    out.print(f"{escape(changed['name'])}: {changed['role']}, {_state(changed)}, calls on {escape(payers)}.")


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The id that `purser keys list` shows.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key, with immediate effect."""
    revoked = _with_id(data, lambda api: api.delete(_of(key_id)))
    print_answer(revoked, _print_revoked, as_json=as_json)


def _print_revoked(key: Mapping[str, Any]) -> None:
    out.print(f"{key['key_id']} of {key['name']} is revoked.", markup=False)


def _of(key_id: str) -> str:
    return f"/v1/keys/{check_id(key_id, 'the id of the key')}"


def _with_id(data: Path | None, ask: Callable[["Gateway"], dict[str, Any]]) -> dict[str, Any]:
    """Sends a request about one key; where there is none, the error says how to find it."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.errors import RequestFailed

    try:
        with gateway(data) as api:
            return ask(api)
    except RequestFailed as failed:
        if failed.problem.get("status") == 404:
            failed.problem["remedy"] = "`purser keys list` shows the ids."
        raise


def _create_in_database(
    settings: "Settings",
    tenant: str | None,
    name: str,
    role: Role,
    life: int | None,
    rate_limit: int | None,
    tags: Mapping[str, str],
    path: Sequence[str],
) -> dict[str, Any]:
    from purser.budget.actors import Actor
    from purser.compose.cli.run_async import run_on_pool
    from purser.compose.processes.gateway import DEFAULT_TENANT
    from purser.gateway.access.views import KeyView
    from purser.gateway.postgres.keys import Keys

    made = run_on_pool(
        settings,
        lambda pool: Keys(pool).create(
            tenant or DEFAULT_TENANT,
            name,
            role,
            by=Actor("purser keys", None),
            expires_at=None if life is None else datetime.now(UTC) + timedelta(seconds=life),
            rate_limit_per_s=rate_limit,
            tags=tags,
            path=path,
        ),
    )
    return KeyView.of(made.key).model_dump(mode="json") | {"key": made.secret}
