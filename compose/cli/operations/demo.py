"""`purser demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from purser.compose.cli.amounts import model_name
from purser.compose.cli.output import FAILURE, JsonOption, SafeConsole, print_json

if TYPE_CHECKING:
    from purser.compose.demo.figures import Figures


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running after the report.")] = False,
    model: Annotated[
        str | None, typer.Option(help="Call a real model, by its LiteLLM name.", callback=model_name)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a real multi-agent task under a tight budget, and report what the budget did.

    Everything runs in a temporary directory that is deleted afterwards; a running `up` is not affected.
    """
    from purser.compose.cli.api.reasons import why
    from purser.compose.cli.leaving import leave
    from purser.compose.cli.run_async import until_stopped
    from purser.compose.demo import report
    from purser.compose.demo.keyboard import is_interactive
    from purser.compose.demo.run import Options, run_demo

    ended: list[Figures] = []

    def on_figures(figures: "Figures", data: Path) -> None:
        ended.append(figures)
        if as_json:
            print_json(report.to_json(figures))
        else:
            report.show(figures, running_in=data if keep else None)
        for line in why(figures.task):
            SafeConsole(stderr=True, highlight=False).print(line, style="yellow", markup=False)

    options = Options(model, keep, interactive=not as_json and is_interactive())
    until_stopped(lambda stop: run_demo(options, report.page(stderr=True), on_figures, stop))
    leave(0 if ended and ended[0].ok else FAILURE)
