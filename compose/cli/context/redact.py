"""`purser redact`."""

import sys
from typing import TYPE_CHECKING

import typer

from purser.compose.cli.context.tokens import FileArgument
from purser.compose.cli.output import JsonOption, as_json_text, print_json, visible

if TYPE_CHECKING:
    from purser.context.redaction import Redactor


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(redact)


def redact(file: FileArgument, as_json: JsonOption = False) -> None:
    """Replace personal data and secrets in a conversation or a text with placeholders."""
    from purser.compose.cli.context.conversation_file import read_file
    from purser.context.redaction import redact_value

    redactor = configured_redactor()
    read = read_file(file)
    if isinstance(read, str):
        text = redactor.redact(read)
    else:
        messages = redact_value(read.originals, redactor.redact)
        if file.suffix.lower() == ".jsonl":
            text = "".join(as_json_text(message) + "\n" for message in messages)
        else:
            text = as_json_text(messages)
    if as_json:
        print_json({"text": text, "counts": redactor.counts})
    else:
        typer.echo(visible(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))
        counted = ", ".join(f"{label} {count}" for label, count in sorted(redactor.counts.items()))
        typer.echo(f"replaced: {counted or 'nothing'}", err=True)


def configured_redactor() -> "Redactor":
    """A redactor that finds what the settings name, too; raises `SettingsError`."""
    from purser.compose.settings import load_settings
    from purser.context.redaction import Redactor, custom_detectors

    return Redactor(custom=custom_detectors(load_settings().redaction_patterns))
