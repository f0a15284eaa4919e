"""`purser tokens`."""

from pathlib import Path
from typing import Annotated

import typer

from purser.compose.cli.output import JsonOption, out, print_json

FileArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A conversation (.json, .jsonl) or any text.", exists=True, dir_okay=False),
]
ModelOption = Annotated[str, typer.Option(help="Model whose token counter applies.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tokens)


def tokens(
    file: FileArgument,
    model: ModelOption,
    fast: Annotated[bool, typer.Option(help="Estimate by a formula, about 4 % off; loads no vocabulary.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the tokens of a conversation or a text for a model."""
    from dataclasses import asdict

    from purser.compose.cli.context.conversation_file import read_file
    from purser.compose.settings import load_settings
    from purser.context.tokens import count_request, count_text

    load_settings()  # A misspelt setting is an error of every command.
    read = read_file(file)
    if isinstance(read, str):
        count = count_text(read, model, fast=fast)
    else:
        count = count_request(read.originals, [], model, fast=fast)
    if as_json:
        print_json(asdict(count))
    else:
        out.print(f"{count.tokens:,} tokens, {count.content_tokens:,} of them content")
        out.print(f"counted by {count.method}, {count.encoding}: {count.confidence}", markup=False)
