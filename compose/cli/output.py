"""Output of commands: one JSON document or text on stdout, everything else on stderr."""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeGuard, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from purser.budget.errors import BudgetError
from purser.compose.errors import ComposeError, RequestFailed

A = TypeVar("A")

FAILURE = 1
BAD_USAGE = 2

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="Data directory of an `up`. Default: the last one.", file_okay=False)
]
MOST_ROWS = 1_000
"""Most items on a page of the API."""
LimitOption = Annotated[int, typer.Option(help="Maximum number of rows.", min=1, max=MOST_ROWS)]
AllOption = Annotated[
    bool, typer.Option("--all", help="All rows, whatever the limit; with --json a document for each 1,000, one a line.")
]

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control and bidi characters, which move the cursor, set colours and titles, or reorder text."""


def visible(text: str) -> str:
    """Replace each control or bidi character with `\N{REPLACEMENT CHARACTER}`, so that a terminal only shows it."""
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


class Interrupted(ComposeError):
    """The user ended the command with ctrl-C."""


class SafeConsole(Console):
    """A console whose own styles are the only control sequences that reach the terminal, whatever text it prints."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, with every text passed through `visible`."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


out = SafeConsole(highlight=False, soft_wrap=True)
"""Console for text on stdout."""


def as_json_text(document: object) -> str:
    """A document on one line, in characters that stdout can write."""
    ensure_ascii = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    return json.dumps(document, ensure_ascii=ensure_ascii, default=str)


def print_json(document: object) -> None:
    """Write one document on one line."""
    line = as_json_text(document)
    # In JSON they occur only in strings, where an escape means the same; a lone surrogate is legal in no other form.
    sys.stdout.write(_HIDDEN.sub(lambda hidden: f"\\u{ord(hidden[0]):04x}", line) + "\n")
    sys.stdout.flush()


def print_answer(answer: A, show: Callable[[A], None], *, as_json: bool) -> None:
    """Print what a command has found: as one JSON document, or as the text that `show` prints."""
    if as_json:
        print_json(answer)
    else:
        show(answer)


def problem_of(error: Exception) -> dict[str, Any]:
    """The RFC 9457 problem of an error. Only errors of Purser and of the operating system show their message."""
    if isinstance(error, RequestFailed):
        return error.problem
    if _is_of_system(error):
        where = f": {error.filename!r}" if error.filename is not None else ""
        return _problem("OperatingSystemError", f"{error.strerror}{where}", "")
    if not isinstance(error, _expected()):
        return _problem(
            "InternalError", f"{type(error).__name__}, which is a bug", "Report it with the trace on stderr."
        )
    return _problem(type(error).__name__, str(error), str(getattr(error, "remedy", "")))


def usage_problem(error: typer.TyperException) -> dict[str, Any]:
    """The problem of an invalid command line."""
    # Typer's own errors format themselves, but their base type does not declare it.
    format_message = getattr(error, "format_message", error.__str__)
    # Typer lists choices one a line; Pydantic adds the prefix to what a type of Purser says.
    detail = " ".join(format_message().split()).replace("Value error, ", "")
    return _problem("BadUsage", detail, "`purser COMMAND --help` shows what a command takes.")


def fail(problem: dict[str, Any], *, as_json: bool, bug: Exception | None = None) -> None:
    """Show a problem: as JSON on stdout; as text on stderr if JSON is not wanted or cannot be written."""
    if bug is not None and not isinstance(bug, _expected()) and not _is_of_system(bug):
        traceback.print_exception(bug, file=sys.stderr)
    if as_json:
        with suppress(OSError):
            print_json(problem)
            return
    console = SafeConsole(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]{problem['title']}[/]: ", end="")
    console.print(problem.get("detail", ""), markup=False)
    if problem.get("remedy"):
        console.print(problem["remedy"], markup=False)


def close_stdout() -> None:
    """Write what is left; where that is not possible, drop it, or Python would try again as it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_of_system(error: Exception) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and error.errno is not None


def _problem(name: str, detail: str, remedy: str) -> dict[str, Any]:
    words = re.findall(r"[A-Z][a-z0-9]*", name)
    problem = {
        "type": f"urn:purser:{'-'.join(words).lower()}",
        "title": " ".join(words).capitalize(),
        "detail": detail,
    }
    return problem | ({"remedy": remedy} if remedy else {})


def _expected() -> tuple[type[Exception], ...]:
    """Base errors of the packages that are loaded: an error of a package never imported cannot have been raised."""
    roots = {
        "purser.activities.errors": "ActivityError",
        "purser.context.errors": "ContextError",
        "purser.gateway.errors": "GatewayError",
    }
    found = [getattr(sys.modules[module], root, None) for module, root in roots.items() if module in sys.modules]
    return (ComposeError, BudgetError, *(root for root in found if root is not None))
