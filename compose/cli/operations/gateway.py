"""`purser gateway`."""

from typing import Annotated

import typer

from purser.compose.cli.leaving import leave
from purser.compose.cli.output import DataOption, JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(gateway)


def gateway(
    data: DataOption = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", min=0, max=65_535)] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the HTTP API on the configured Postgres and Temporal; ctrl-C stops it."""
    from purser.compose.cli.run_async import freeze_heap, until_stopped
    from purser.compose.processes.gateway import run_gateway
    from purser.compose.processes.up_file import command_settings
    from purser.compose.processes.warming import warm_up_models
    from purser.compose.stack.ports import choose_port
    from purser.compose.telemetry.logging import configure_logging

    settings = command_settings(data, gateway_port=port)
    if settings.gateway_port == 0:
        settings = settings.model_copy(update={"gateway_port": choose_port(0, settings.gateway_host)})
    configure_logging(settings)

    def ready() -> None:
        freeze_heap()
        warm_up_models()
        if as_json:
            print_json({"gateway": f"http://{settings.gateway_host}:{settings.gateway_port}"})

    until_stopped(lambda stop: run_gateway(settings, stop, ready))
    leave(0)
