"""The `purser` command.

Each module of `GROUPS` registers its commands; only that of the command is imported. A command imports heavy modules
when it runs. `tests/compose/test_cli.py` lists what short commands never import.
"""

import gc
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from purser.activities.models.library_warnings import quieten_warnings
from purser.compose.cli.output import BAD_USAGE, FAILURE, Interrupted, close_stdout, fail, problem_of, usage_problem

GROUPS: Mapping[str, tuple[str, ...]] = {
    "operations.up": ("up",),
    "operations.demo": ("demo",),
    "api.run": ("run",),
    "api.tasks": ("tasks",),
    "api.sessions": ("sessions",),
    "api.budget": ("budget",),
    "api.approvals": ("approvals",),
    "api.reports": ("usage", "ledger", "events"),
    "api.keys": ("keys",),
    "operations.tenants": ("tenants",),
    "api.sign_in": ("sign-in",),
    "operations.worker": ("worker",),
    "operations.gateway": ("gateway",),
    "operations.migrate": ("migrate",),
    "operations.doctor": ("doctor",),
    "operations.audit": ("audit",),
    "operations.reconcile": ("reconcile",),
    "context.tokens": ("tokens",),
    "context.redact": ("redact",),
    "context.window": ("window",),
    "api.compare": ("window",),
    "context.compress": ("compress",),
    "operations.bench": ("bench",),
}
"""Modules, in the order in which `purser --help` lists their commands, and the first word of each command."""

CTRL_C = 128 + signal.SIGINT
"""What typer returns if ctrl-C ends a command."""
OBJECTS_OF_IMPORTS = 500_000
"""New objects between two garbage collections of a command; a process that serves returns to Python's default."""


def main() -> None:
    """Entry point. Exit code 0: success, 1: failure, 2: bad usage."""
    as_json = "--json" in sys.argv[1:]
    _spare_imports()
    _prepare_stdout()
    quieten_warnings()
    try:
        code = _run()
    except typer.TyperException as error:
        problem = usage_problem(error)
        # Without a command, typer has already shown the help and the error has no text.
        if problem["detail"]:
            fail(problem, as_json=as_json)
        code = BAD_USAGE
    except Exception as error:
        fail(problem_of(error), as_json=as_json, bug=error)
        code = FAILURE
    close_stdout()
    sys.exit(code if isinstance(code, int) else 0)


def _run() -> Any:
    try:
        code = build(*sys.argv[1:2])(prog_name="purser", standalone_mode=False)
    except KeyboardInterrupt:  # before typer watches for it
        code = CTRL_C
    if code == CTRL_C:
        raise Interrupted("ctrl-C ended the command")
    return code


def _spare_imports() -> None:
    """Leave out what libraries would do for nothing while they are imported, a fifth of the start of a command."""
    # Nearly all objects of an import stay: collections would go through them again and again.
    gc.set_threshold(OBJECTS_OF_IMPORTS, *gc.get_threshold()[1:])
    # Searches all installed packages for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # The command line of httpx, with click and pygments: without it httpx works as before.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]


def _prepare_stdout() -> None:
    """Let commands write to it if it is closed, and any character: those that the locale lacks as escapes."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 # open until the process ends
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _Commands(TyperGroup):
    """Commands, of which some have names of two words, such as `window compare` next to `window FILE`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Finds the command of a line; two words take precedence."""
        name = " ".join(args[:2])
        return (name, self.commands[name], args[2:]) if name in self.commands else super().resolve_command(ctx, args)


def build(word: str = "") -> typer.Typer:
    """The application with the commands that begin with a word, or all commands if none does."""
    app = typer.Typer(
        cls=_Commands,
        help="A budget service for multi-agent LLM work.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    @app.callback()
    def purser(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
        ] = False,
    ) -> None:
        pass

    for group in [group for group, words in GROUPS.items() if word in words] or GROUPS:
        import_module(f"purser.compose.cli.{group}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("purser"))
        raise typer.Exit
