"""`purser up`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from purser.compose.cli.leaving import leave
from purser.compose.cli.output import FAILURE, JsonOption, out, print_json

if TYPE_CHECKING:
    from purser.compose.processes.up_file import Running


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(up)


def up(
    data: Annotated[Path | None, typer.Option(help="Data directory.", file_okay=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port of the gateway; 0: any free one.", min=0, max=65_535)] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete the data in the directory first.")] = False,
    temporal_ui: Annotated[
        bool, typer.Option("--temporal-ui", help="Start Temporal's Web UI too; it asks for no sign-in.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Start everything on this machine; ctrl-C stops it.

    Postgres and Temporal are embedded unless PURSER_DSN and PURSER_TEMPORAL_ADDRESS are set.
    """
    from dataclasses import asdict

    from purser.compose.cli.run_async import freeze_heap, noting_stop, until_stopped
    from purser.compose.processes.up import up as run_up
    from purser.compose.processes.up_file import Running, remember
    from purser.compose.settings import load_settings
    from purser.compose.telemetry.logging import configure_logging

    settings = load_settings(data_dir=data, gateway_port=port, temporal_ui=temporal_ui or None)
    configure_logging(settings)
    was_up = False

    def announce(running: Running, link: str) -> None:
        nonlocal was_up
        was_up = True
        freeze_heap()
        remember(settings.data_dir)
        if as_json:
            print_json({name: value for name, value in asdict(running).items() if name != "pid"})
            return
        _show(running, link, settings.data_dir)

    until_stopped(lambda stop: noting_stop(run_up(settings, stop, announce, fresh=fresh), stop))
    leave(0 if was_up else FAILURE)


def _show(running: "Running", link: str, data_dir: Path) -> None:
    """Print what runs; without a terminal no secret, because a supervisor writes the output to a log."""
    from purser.compose.processes.up_file import FILE

    out.print(f"[bold green]Purser is up[/] at [bold]{running.gateway}[/]")
    out.print(f"  Temporal   {running.temporal}" + (f", UI {running.temporal_ui}" if running.temporal_ui else ""))
    out.print(f"  Data       {data_dir}", markup=False)
    if not out.is_terminal:
        out.print(f"  Admin key  in {data_dir / FILE}, which no other user can read", markup=False)
        out.print(f"  Sign in    `purser sign-in --data {data_dir}` prints a link", markup=False)
        return
    out.print(f"  Admin key  {running.admin_key}")
    out.print(f"  Sign in    {link}")
    out.print("             Once, within 10 minutes; `purser sign-in` prints a new link.")
    out.print("ctrl-C stops it.")
