"""The `--summarizer` option of commands: no summary, an extract, or a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from purser.context.windows.builder import Summarize

EXTRACTIVE, NONE = "extractive", "none"
SummarizerOption = Annotated[
    str, typer.Option(help="extractive, none, or a model, for which a running Purser holds budget.")
]


@contextmanager
def summarizing(name: str, data: Path | None = None) -> "Iterator[Summarize | None]":
    """Open a summarizer by name: `extractive`, `none`, or a model.

    A window is built even if the model cannot be called; that error is raised at the end.

    Raises:
        NoGateway: a model is named, and no running gateway is known that could hold its budget.
        Unreachable: the gateway does not answer.
        RequestFailed: the budget refused.
    """
    from purser.context.compression.extraction import extract

    if name in (EXTRACTIVE, NONE):
        yield extract if name == EXTRACTIVE else None
        return
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.context.model_writer import SESSION, ModelWriter
    from purser.compose.processes.up_file import command_settings

    with gateway(data) as client:
        client.get(f"/v1/budgets/{SESSION}")
        writer = ModelWriter(name, client, command_settings(data))
        yield writer
        if writer.problem is not None:
            raise writer.problem
