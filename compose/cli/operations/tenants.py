"""`purser tenants`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from purser.compose.cli.output import DataOption, JsonOption, print_json

if TYPE_CHECKING:
    from purser.gateway.postgres.keys import Tenant


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="List tenants, for operators.")
    group.command("list")(list_tenants)
    app.add_typer(group, name="tenants")


def list_tenants(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List all tenants that have keys or have made calls, from the database (PURSER_DSN), with the stack up or down."""
    import asyncio
    from dataclasses import asdict

    from rich.markup import escape

    from purser.compose.cli.tables import number, print_table, table
    from purser.compose.migrate import migrated_pool
    from purser.compose.processes.up_file import command_settings
    from purser.gateway.postgres.keys import Keys

    settings = command_settings(data)

    async def run() -> Sequence["Tenant"]:
        async with migrated_pool(settings) as pool:
            return await Keys(pool).tenants()

    found = [
        asdict(one) | {"last_call_at": one.last_call_at and one.last_call_at.isoformat()} for one in asyncio.run(run())
    ]
    if as_json:
        print_json({"items": found})
        return
    rows = [
        (escape(one["tenant"]), number(one["live_keys"]), number(one["admin_keys"]), one["last_call_at"] or "-")
        for one in found
    ]
    columns = ("tenant", "live keys", "of admins", "last call")
    print_table(table(*columns, rows=rows, right=columns[1:3]))
