"""The `--summarizer` option of commands: no summary, an extract, or a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from purser.wire.enums import Summarizer

if TYPE_CHECKING:
    from purser.context.compression.requests import Redact
    from purser.context.windows.builder import Summarize

SummarizerOption = Annotated[
    str, typer.Option(help="extractive, none, or a model, for which a running Purser holds budget.")
]


@contextmanager
def summarizing(name: str, redact: "Redact", data: Path | None = None) -> "Iterator[Summarize | None]":
    """Open a summarizer by name: `extractive`, `none`, or a model. Its sources must be redacted already.

    A window is built even if the model cannot be called; that error is raised at the end. If an extract replaces what
    the model should have written, stderr says so.

    Args:
        name: what the option says.
        redact: applied to what a model writes.
        data: data directory of the gateway that holds its budget.

    Raises:
        NoGateway: a model is named, and no running gateway is known that could hold its budget.
        Unreachable: the gateway does not answer.
        RequestFailed: the budget refused.
    """
    from purser.context.compression.extracts.extraction import extract

    if name in tuple(Summarizer):
        yield extract if name == Summarizer.EXTRACTIVE else None
        return
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.context.model_writer import SESSION, ModelWriter
    from purser.compose.processes.up_file import command_settings

    with gateway(data) as client:
        client.get(f"/v1/budgets/{SESSION}")
        writer = ModelWriter(name, client, command_settings(data), redact)
        yield writer
        if writer.problem is not None:
            raise writer.problem
        if writer.fault:
            typer.echo(f"{name} was not used: {writer.fault}; the summary is an extract", err=True)


def origin(summary: str, summarize: "Summarize | None") -> dict[str, str | None]:
    """How a summary was written: `model`, `extractive`, or `none` if there is none; and why not by the model."""
    from purser.context.compression.extracts.extraction import extract

    method: str = Summarizer.EXTRACTIVE if summary else Summarizer.NONE
    fault = None
    if summarize not in (None, extract):
        from purser.compose.cli.context.model_writer import ModelWriter

        assert isinstance(summarize, ModelWriter)
        fault = summarize.fault or None
        method = "model" if summary and summary == summarize.wrote else method
    return {"method": method, "fault": fault}
