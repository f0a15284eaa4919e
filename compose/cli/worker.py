"""`purser worker`."""

import typer

from compose.cli.output import DataOption, JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(worker)


def worker(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Run workflows and activities against the configured Temporal and Postgres; ctrl-C drains and stops."""
    from compose.cli.run_async import until_stopped
    from compose.logging import configure_logging
    from compose.running import command_settings
    from compose.worker import run_worker

    settings = command_settings(data)
    configure_logging(settings)

    def ready() -> None:
        if as_json:
            print_json({"task_queue": settings.task_queue})

    until_stopped(lambda stop: run_worker(settings, stop, ready))
