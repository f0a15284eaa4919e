"""`purser doctor`."""

import typer

from purser.compose.cli.output import FAILURE, DataOption, JsonOption, out, print_json

MARKS = {"ok": "[green]ok[/]", "off": "[yellow]off[/]", "warned": "[yellow]warned[/]", "failed": "[red]failed[/]"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check configuration, services and versions, and say how to fix what fails."""
    from dataclasses import asdict

    from rich.markup import escape

    from purser.compose.cli.run_async import run_to_end
    from purser.compose.cli.tables import print_table, table
    from purser.compose.doctor import diagnose
    from purser.compose.processes.up_file import command_settings

    diagnosis = run_to_end(diagnose(command_settings(data)))
    if as_json:
        print_json({"ok": diagnosis.ok} | asdict(diagnosis))
    else:
        rows = [
            (finding.name, MARKS[finding.state], escape(finding.detail), escape(finding.remedy))
            for finding in diagnosis.findings
        ]
        print_table(table("part", "state", "found", "what to do", rows=rows))
        for name, origin in diagnosis.configured.items():
            out.print(f"{name} is set by the {origin}")
    if not diagnosis.ok:
        raise typer.Exit(FAILURE)
