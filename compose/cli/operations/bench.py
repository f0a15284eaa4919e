"""`purser bench`."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from purser.benchmarks import ALIASES, NAMES
from purser.compose.cli.amounts import model_name
from purser.compose.cli.output import FAILURE, JsonOption, out, print_json
from purser.compose.cli.tables import print_table, table

if TYPE_CHECKING:
    from purser.benchmarks.outcome import Cell, Outcome, Table
    from purser.compose.demo.progress import Progress

Name = StrEnum("Name", {name: name for name in (*NAMES, *ALIASES)})  # type: ignore[misc] # known when it runs
NameArgument = Annotated[Name, typer.Argument(metavar="NAME", help=f"One of {', '.join(NAMES)}.")]
BenchDataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of conversations, default PURSER_BENCH_DATA.", file_okay=False),
]

SecondsOption = Annotated[
    float | None,
    typer.Option(
        help="Seconds of each run, for gate, http, ledger, proxy, scale, tasks and turn.", min=1, show_default=False
    ),
]
StreamsOption = Annotated[
    int | None, typer.Option(help="Event streams open during the run, for http.", min=1, max=1_000)
]
ModelOption = Annotated[
    str | None,
    typer.Option(help="Model that writes the summaries, for summaries; default: recorded ones.", callback=model_name),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)


def bench(
    name: NameArgument,
    data: BenchDataOption = None,
    seconds: SecondsOption = None,
    streams: StreamsOption = None,
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a benchmark; exit code 1 if what it measured did not work correctly.

    Without --json, stderr shows what it measures at the moment. Ctrl-C ends it, and nothing of it keeps running.
    """
    from importlib import import_module
    from inspect import signature

    from purser.benchmarks.outcome import machine
    from purser.compose.cli.interrupting import interrupted_by_signals
    from purser.compose.settings.load import load_settings

    folder = load_settings(bench_data=data).bench_data
    run = import_module(f"purser.benchmarks.{ALIASES.get(name, name)}").run
    options = {"seconds": seconds, "streams": streams, "model": model}
    given = {option: value for option, value in options.items() if value is not None}
    for option in given.keys() - signature(run).parameters.keys():
        raise typer.BadParameter(f"the benchmark {name} has no such option", param_hint=f"--{option}")
    with interrupted_by_signals(), nullcontext() if as_json else _shown_progress(name):
        outcome: Outcome = run(folder, **given)
    settings = machine() | ({"data": str(folder)} if folder else {}) | dict(outcome.settings)
    if as_json:
        passed, results = outcome.gate_passed, outcome.results
        print_json({"bench": str(name), "gate_passed": passed, "settings": settings, "results": results})
    else:
        _print(outcome, settings)
    if not outcome.gate_passed:
        raise typer.Exit(FAILURE)


@contextmanager
def _shown_progress(name: str) -> Iterator[None]:
    """Write a line to stderr for each part that the benchmark begins."""
    from purser.benchmarks.progress import log
    from purser.compose.demo.progress import Progress
    from purser.compose.demo.report import page

    lines = _Lines(Progress(page(stderr=True)), name)
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(lines)


class _Lines(logging.Handler):
    """Writes records as the progress of a benchmark."""

    def __init__(self, progress: "Progress", name: str) -> None:
        super().__init__()
        self._progress, self._name = progress, name

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # the terminal is closed
            self._progress.write(record.getMessage(), self._name)


def _print(outcome: "Outcome", settings: dict[str, object]) -> None:
    for made in outcome.tables:
        out.print(f"[bold]{escape(made.title)}[/]")
        print_table(table(*made.columns, rows=map(_cells, made.rows), right=_figures(made)))
        out.print()
    out.print(", ".join(f"{setting} {value}" for setting, value in settings.items()), markup=False)
    out.print("[green]Gate passed.[/]" if outcome.gate_passed else "[red]Gate failed.[/]")


def _cells(row: "Iterable[Cell]") -> list[str]:
    return [_cell(cell) for cell in row]


def _cell(cell: "Cell") -> str:
    match cell:
        case None:
            return "-"
        case str():
            return escape(cell)
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:,.1f}"


def _figures(made: "Table") -> list[str]:
    """Columns without text."""
    columns = zip(made.columns, zip(*made.rows, strict=True), strict=True) if made.rows else ()
    return [name for name, cells in columns if not any(isinstance(cell, str) for cell in cells)]
