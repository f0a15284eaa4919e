"""`purser reconcile FILE`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from purser.compose.cli.output import FAILURE, DataOption, JsonOption, out, print_json

_SHOWN = 20
"""Most lines of each list for people; `--json` has all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reconcile")(reconcile)


def reconcile(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Usage export of OpenAI or Anthropic.")],
    tenant: Annotated[
        list[str] | None,
        typer.Option(help="Tenant whose ledger is compared; repeatable. Default: the one named default."),
    ] = None,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Compare the ledgers of all tenants, if one account serves them.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a provider's usage file with the ledger: what was captured, what nobody held, tokens that differ.

    Exit code 1 if they differ. The stack may be up or down.
    """
    from purser.budget.errors import InvalidRequest
    from purser.budget.postgres.reports import reconciling
    from purser.budget.reports.provider_usage import read_usage_file
    from purser.compose.cli.run_async import run_on_pool
    from purser.compose.processes.gateway import DEFAULT_TENANT
    from purser.compose.processes.up_file import command_settings

    if tenant and all_tenants:
        raise typer.BadParameter("name tenants with --tenant, or take --all-tenants: not both")
    tenants = None if all_tenants else tenant or [DEFAULT_TENANT]
    try:
        read = read_usage_file(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{str(file)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"{str(file)!r} is not text: export usage as CSV or JSON") from None
    found = run_on_pool(command_settings(data), lambda pool: reconciling.reconcile(pool, tenants, read))
    if as_json:
        print_json({"file": str(file), "format": read.format, "lines": len(read.uses), **found.to_json()})
    else:
        _print(found.to_json())
    if not found.ok:
        raise typer.Exit(FAILURE)


def _print(found: dict[str, Any]) -> None:
    share = f"{float(found['captured_share']) * 100:.2f} %"
    out.print(f"Captured {share} of {found['provider_tokens']:,} tokens.", markup=False)
    if found["purser_provider_calls_unguarded"] is not None:
        calls = f"{found['purser_provider_calls_unguarded']:,} of {found['provider_calls']:,}"
        out.print(f"Calls that nobody held: {calls}.", markup=False)
    for name, title in (("unguarded", "Beyond the ledger"), ("differing", "Other tokens")):
        for gap in found[name][:_SHOWN]:
            what = " ".join(filter(None, (gap["day"], gap["model"], gap["request_id"])))
            tokens = f"provider {gap['provider_tokens']:,}, ledger {gap['ledger_tokens']:,} tokens"
            out.print(f"{title}: {what}: {tokens}", markup=False)
        if len(found[name]) > _SHOWN:
            out.print(f"and {len(found[name]) - _SHOWN:,} more; --json lists all.", markup=False)
    if found["complete_after"] is not None:
        from purser.compose.cli.tables import complete_note

        lines = f"Lines not compared: {found['not_compared']:,}." if found["not_compared"] else ""
        out.print(f"{complete_note(found['complete_after'])} {lines}".rstrip(), markup=False)
