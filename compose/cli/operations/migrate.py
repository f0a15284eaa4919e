"""`purser migrate`."""

import typer

from purser.compose.cli.output import DataOption, JsonOption, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(migrate)


def migrate(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Migrate the database to the schema of this version. Repeatable; older workers keep working meanwhile."""
    import asyncio

    from purser.compose.database import database
    from purser.compose.migrate import current
    from purser.compose.migrate import migrate as run_migrate
    from purser.compose.processes.up_file import command_settings

    async def run() -> tuple[str | None, str | None]:
        async with database(command_settings(data)) as dsn:
            return await current(dsn), await run_migrate(dsn)

    before, after = asyncio.run(run())
    if as_json:
        print_json({"from": before, "to": after})
    elif before == after:
        out.print(f"The database is at {after}: nothing to do.")
    else:
        out.print(f"Migrated from {before or 'empty'} to {after}.")
