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
    from purser.compose.http.serving import listen, port_of, reserve
    from purser.compose.processes.gateway import run_gateway
    from purser.compose.processes.several import ALONE, fork_processes
    from purser.compose.processes.up_file import command_settings
    from purser.compose.processes.warming import warm_up_models
    from purser.compose.telemetry.logging import configure_logging

    settings = command_settings(data, gateway_port=port, gateway_processes=processes)
    configure_logging(settings)
    # Several processes listen on their own, on a port that is theirs as long as this socket is open.
    alone = settings.gateway_processes == 1
    bound = (listen if alone else reserve)(settings.gateway_host, settings.gateway_port)
    settings = settings.model_copy(update={"gateway_port": port_of(bound)})

    def announce() -> None:
        if as_json:
            print_json({"gateway": settings.gateway_url})

    place = ALONE if alone else fork_processes(settings.gateway_processes, announce)

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
        await run_gateway(settings, stop, ready, place=place, listener=bound if alone else None)

    until_stopped(run)
    leave(0)
