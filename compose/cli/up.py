"""`purser up`."""

from pathlib import Path
from typing import Annotated

import typer

from compose.cli.output import JsonOption, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(up)


def up(
    data: Annotated[Path | None, typer.Option(help="Directory that keeps everything.", file_okay=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port of the gateway; 0: any free one.", min=0, max=65_535)] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete what the directory holds and begin anew.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start everything on this machine; ctrl-C stops it.

    Postgres and Temporal are embedded unless PURSER_DSN and PURSER_TEMPORAL_ADDRESS name others.
    """
    from dataclasses import asdict

    from compose.cli.run_async import serving, until_stopped
    from compose.logging import configure_logging
    from compose.running import Running, remember
    from compose.settings import load_settings
    from compose.up import up as run_up

    settings = load_settings(data_dir=data, gateway_port=port)
    configure_logging(settings)

    def announce(running: Running, link: str) -> None:
        serving()
        remember(settings.data_dir)
        if as_json:
            print_json({name: value for name, value in asdict(running).items() if name != "pid"})
            return
        out.print(f"[bold green]Purser is up[/] at [bold]{running.gateway}[/]")
        out.print(f"  Temporal   {running.temporal}" + (f", UI {running.temporal_ui}" if running.temporal_ui else ""))
        out.print(f"  Data       {settings.data_dir}", markup=True)
        out.print(f"  Admin key  {running.admin_key}")
        out.print(f"  Sign in    {link}")
        out.print("             Once, within 10 minutes; `purser sign-in` prints a new link.")
        out.print("ctrl-C stops it.")

    until_stopped(lambda stop: run_up(settings, stop, announce, fresh=fresh))
