"""`purser audit`."""

from typing import TYPE_CHECKING, Any

import typer

from purser.compose.cli.output import FAILURE, DataOption, JsonOption, out, print_answer

if TYPE_CHECKING:
    from purser.budget.postgres.connections.pools import Pool


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit_ledger)


def audit_ledger(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Recompute every balance from its entries and check the ledger's invariants, with the stack up or down.

    The result is stored for metrics, `purser doctor` and the dashboard, unless the database is read only.
    """
    from time import monotonic

    from purser.budget.postgres.audit.audit import Audit, audit
    from purser.budget.postgres.audit.results import AuditResults, AuditRun
    from purser.compose.cli.run_async import run_on_pool
    from purser.compose.processes.up_file import command_settings

    async def run(pool: "Pool") -> Audit:
        began = monotonic()
        found = await audit(pool)
        if not await AuditResults(pool).store(AuditRun.of(found, monotonic() - began, "purser audit")):
            typer.echo("The database is read only: the result is not stored, and no alert sees it.", err=True)
        return found

    found = run_on_pool(command_settings(data), run)
    print_answer(found.to_json(), _print, as_json=as_json)
    if not found.ok:
        raise typer.Exit(FAILURE)


def _print(found: dict[str, Any]) -> None:
    differences = found["differences"]
    out.print("Checked " + ", ".join(f"{count:,} {name}" for name, count in found["checked"].items()) + ".")
    for difference in differences:
        figures = ", ".join(f"{name} {value}" for name, value in difference.items() if name not in ("check", "what"))
        out.print(f"[red]{difference['check']}[/]: {difference['what']}")
        out.print(f"  {figures}", markup=False)
    out.print("[green]Everything agrees.[/]" if found["ok"] else f"[red]{len(differences)} differences.[/]")
