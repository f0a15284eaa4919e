"""`purser tenants`."""

import typer

from purser.compose.cli.output import DataOption, JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="List tenants, for operators.")
    group.command("list")(list_tenants)
    app.add_typer(group, name="tenants")


def list_tenants(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List all tenants that have keys or have made calls, from the database (PURSER_DSN), with the stack up or down."""
    from dataclasses import asdict

    from rich.markup import escape

    from purser.compose.cli.run_async import run_on_pool
    from purser.compose.cli.tables import number, print_table, table
    from purser.compose.processes.up_file import command_settings
    from purser.gateway.postgres.keys import Keys

    tenants = run_on_pool(command_settings(data), lambda pool: Keys(pool).tenants())
    found = [asdict(one) | {"last_call_at": one.last_call_at and one.last_call_at.isoformat()} for one in tenants]
    if as_json:
        print_json({"items": found})
        return
    rows = [
        (escape(one["tenant"]), number(one["live_keys"]), number(one["admin_keys"]), one["last_call_at"] or "-")
        for one in found
    ]
    columns = ("tenant", "live keys", "of admins", "last call")
    print_table(table(*columns, rows=rows, right=columns[1:3]))
