"""The `purser` command.

Each module of `GROUPS` registers its commands. A command imports heavy modules when it runs, so that `purser --help`
is quick.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from purser.compose.cli.output import BAD_USAGE, FAILURE, fail, problem_of, usage_problem

GROUPS = (
    "operations.up",
    "operations.demo",
    "api.run",
    "api.tasks",
    "api.budget",
    "api.approvals",
    "api.reports",
    "api.keys",
    "api.sign_in",
    "operations.worker",
    "operations.gateway",
    "operations.migrate",
    "operations.doctor",
    "operations.audit",
    "operations.reconcile",
    "context.tokens",
    "context.redact",
    "context.window",
    "api.compare",
    "context.compress",
    "operations.bench",
)
"""Modules, in the order in which `purser --help` lists their commands."""


def main() -> None:
    """Entry point. Exit code 0: success, 1: failure, 2: bad usage."""
    as_json = "--json" in sys.argv[1:]
    try:
        code = build()(prog_name="purser", standalone_mode=False)
    except typer.Abort:
        code = FAILURE
    except typer.TyperException as error:
        problem = usage_problem(error)
        # Without a command, typer has already shown the help and the error has no text.
        if problem["detail"]:
            fail(problem, as_json=as_json)
        code = BAD_USAGE
    except Exception as error:
        fail(problem_of(error), as_json=as_json, bug=error)
        code = FAILURE
    sys.exit(code if isinstance(code, int) else 0)


class _Commands(TyperGroup):
    """Commands, of which some have names of two words, such as `window compare` next to `window FILE`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Finds the command of a line; two words take precedence."""
        name = " ".join(args[:2])
        return (name, self.commands[name], args[2:]) if name in self.commands else super().resolve_command(ctx, args)


def build() -> typer.Typer:
    """The application with the commands of all groups."""
    app = typer.Typer(
        cls=_Commands,
        help="A budget service for multi-agent LLM work.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def purser(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
        ] = False,
    ) -> None:
        pass

    for group in GROUPS:
        import_module(f"purser.compose.cli.{group}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("purser"))
        raise typer.Exit
