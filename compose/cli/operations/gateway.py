"""`purser gateway`."""

import asyncio
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
    processes: Annotated[int | None, typer.Option(help="Processes that share the port.", min=1, max=64)] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the HTTP API on the configured Postgres and Temporal; ctrl-C stops it."""
    from purser.compose.cli.run_async import freeze_heap, until_stopped
    from purser.compose.http.serving import listen
    from purser.compose.processes.gateway import run_gateway
    from purser.compose.processes.several import ALONE, fork_processes
    from purser.compose.processes.up_file import command_settings
    from purser.compose.processes.warming import warm_up_models
    from purser.compose.stack.ports import choose_port
    from purser.compose.telemetry.logging import configure_logging

    settings = command_settings(data, gateway_port=port, gateway_processes=processes)
    if settings.gateway_port == 0:
        settings = settings.model_copy(update={"gateway_port": choose_port(0, settings.gateway_host)})
    configure_logging(settings)

    def announce() -> None:
        if as_json:
            print_json({"gateway": f"http://{settings.gateway_host}:{settings.gateway_port}"})

    place = ALONE
    if settings.gateway_processes > 1:
        # Processes that share a port do not notice that another gateway has it, too.
        listen(settings.gateway_host, settings.gateway_port).close()
        place = fork_processes(settings.gateway_processes, announce)

    def ready() -> None:
        freeze_heap()
        warm_up_models()
        if place is ALONE:
            announce()
        else:
            place.report_ready()

    async def run(stop: asyncio.Event) -> None:
        if place is not ALONE:
            place.stop_without_supervisor(stop)
        await run_gateway(settings, stop, ready, place=place)

    until_stopped(run)
    leave(0)
