"""`purser worker`."""

from typing import TYPE_CHECKING, Annotated

import typer

from purser.compose.cli.leaving import leave
from purser.compose.cli.output import FAILURE, DataOption, JsonOption, out, print_json

if TYPE_CHECKING:
    from purser.compose.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(worker)


def worker(
    verify: Annotated[
        int | None,
        typer.Option(help="Only replay this many running workflows; exit code 1 if one fails.", min=1),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run workflows and activities against the configured Temporal and Postgres; ctrl-C drains and stops."""
    from purser.compose.cli.run_async import freeze_heap, until_stopped
    from purser.compose.processes.up_file import command_settings
    from purser.compose.processes.warming import warm_up_models
    from purser.compose.processes.worker import run_worker
    from purser.compose.telemetry.logging import configure_logging

    settings = command_settings(data)
    configure_logging(settings)
    if verify is not None:
        _verify(settings, verify, as_json)
        return

    def ready() -> None:
        freeze_heap()
        warm_up_models()
        if as_json:
            print_json({"task_queue": settings.task_queue})

    until_stopped(lambda stop: run_worker(settings, stop, ready))
    leave(0)


def _verify(settings: "Settings", limit: int, as_json: bool) -> None:
    from purser.compose.cli.run_async import run_to_end
    from purser.compose.temporal import connect
    from purser.compose.versions import ReplayResult, replay_running

    async def run() -> ReplayResult:
        return await replay_running(await connect(settings), settings.task_queue, limit)

    replayed = run_to_end(run())
    if as_json:
        print_json({"ok": replayed.ok, "replayed": replayed.workflows, "failed": replayed.failed})
    else:
        out.print(f"{replayed.workflows} running workflows replayed, {len(replayed.failed)} failed.")
        for workflow_id, error in replayed.failed.items():
            out.print(f"{workflow_id}: {error}", markup=False)
    if not replayed.ok:
        raise typer.Exit(FAILURE)
