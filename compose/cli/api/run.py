"""`purser run TASK.json`."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from purser.compose.cli.output import FAILURE, DataOption, Interrupted, JsonOption, SafeConsole, out, print_answer
from purser.wire.enums import LIVE_TASKS

if TYPE_CHECKING:
    from rich.console import Group

    from purser.compose.cli.api.client import Gateway

POLL_S = 0.3
GATEWAY_OUTAGE_S = 120.0
"""How long the gateway may be unreachable while a task runs: the task itself does not need it."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)


def run(
    file: Annotated[Path, typer.Argument(metavar="TASK.json", help="A task file.", exists=True, dir_okay=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file as a submission would, and start and store nothing.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a task, show its progress, print the result. Exit code 0 only if it completed.

    With --dry-run exit code 0 only if the task would be accepted; otherwise the problem names all faults.
    """
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.tasks import print_task

    body = _read(file)
    with gateway(data) as api:
        accepted = api.request("POST", "/v1/tasks", json=body, params={"dry_run": True} if dry_run else None)
        for warning in accepted["warnings"]:
            SafeConsole(stderr=True, highlight=False).print(f"Warning: {warning}", markup=False, soft_wrap=True)
        if dry_run:
            print_answer(accepted, _print_accepted, as_json=as_json)
            return
        task = _follow(api, accepted["task_id"])
    print_answer(task, print_task, as_json=as_json)
    if task["status"] != "completed":
        raise typer.Exit(FAILURE)


def _print_accepted(accepted: dict[str, Any]) -> None:
    out.print(f"{accepted['task_id']} would be accepted; nothing was started.", markup=False)


def _read(file: Path) -> Any:
    from purser.activities.errors import InvalidTask
    from purser.budget.errors import InvalidRequest
    from purser.budget.json_objects import read_object

    try:
        return json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=read_object)
    except InvalidRequest as error:
        raise InvalidTask(f"{str(file)!r}: {error}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidTask(f"{str(file)!r} is not JSON: {error.msg} at {where}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise InvalidTask(f"{str(file)!r} is not JSON in UTF-8 ({type(error).__name__}): write it again") from None


def _follow(api: "Gateway", task_id: str) -> dict[str, Any]:
    """Show the task on stderr until it ends, and return it."""
    from rich.live import Live

    from purser.compose.cli.api.tasks import path_of

    console = SafeConsole(stderr=True, highlight=False)
    seen = ""
    try:
        with Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False) as live:
            while True:
                task = _fetch(api, path_of(task_id))
                if task["status"] not in LIVE_TASKS:
                    return task
                hint = "  ".join((*_failures(task), *decide_hints(api, task)))
                if console.is_terminal:
                    live.update(_progress(task, hint), refresh=True)
                elif (line := _line(task, hint)) != seen:
                    console.print(line, markup=False, soft_wrap=True)
                    seen = line
                time.sleep(POLL_S)
    except KeyboardInterrupt:
        raise Interrupted(
            f"task {task_id!r} goes on without this command", remedy=f"`purser tasks show {task_id}` shows it."
        ) from None


def _fetch(api: "Gateway", path: str) -> dict[str, Any]:
    """Get the current task; waits while the gateway is unreachable."""
    from purser.compose.errors import RequestFailed, Unreachable

    deadline = time.monotonic() + GATEWAY_OUTAGE_S
    while True:
        try:
            return api.get(path)
        except (RequestFailed, Unreachable) as error:
            if not error.is_transient or time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)


def _progress(task: dict[str, Any], hint: str) -> "Group":
    from rich.console import Group
    from rich.markup import escape
    from rich.text import Text

    from purser.compose.cli.tables import agents, status

    head = Text.from_markup(f"[bold]{escape(task['task_id'])}[/] {status(task['status'])}")
    return Group(head, agents(task), Text(hint, style="yellow"))


def _line(task: dict[str, Any], hint: str) -> str:
    states = ", ".join(f"{agent_id} {agent['status']}" for agent_id, agent in task["agents"].items())
    return f"{task['task_id']} {task['status']}: {states}  {hint}".rstrip()


def _failures(task: Mapping[str, Any]) -> list[str]:
    """Why calls of agents are being tried again."""
    failures = [(agent_id, agent.get("failure")) for agent_id, agent in task["agents"].items()]
    return [f"{agent_id}: attempt {one['attempt']} failed ({one['reason']})" for agent_id, one in failures if one]


def decide_hints(api: "Gateway", task: Mapping[str, Any]) -> list[str]:
    """Where to decide what the task waits for; empty while it waits for no decision."""
    if task["status"] != "waiting_approval":
        return []
    pending = _pending(api, task["task_id"])
    if pending is None:
        return ["purser approvals list --state pending shows what to decide"]
    links = [f"{api.url}/approvals?id={approval_id}" for approval_id in pending]
    return [f"decide at {' '.join(links)}"] if links else []


def _pending(api: "Gateway", task_id: str) -> list[str] | None:
    """Ids of the approval requests that the task waits for; `None` if the key may not read them."""
    from purser.compose.errors import RequestFailed, Unreachable

    try:
        requests = [one for page in api.pages("/v1/approvals", state="pending") for one in page["items"]]
    except (RequestFailed, Unreachable):
        return None
    return [one["approval_id"] for one in requests if task_id in {waiter["task_id"] for waiter in one["waiters"]}]
