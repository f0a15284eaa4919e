"""`purser tasks`: list, show, pause, resume, cancel."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from purser.compose.cli.output import DataOption, JsonOption, out, print_json
from purser.workflows.contract import TaskStatus

TaskId = Annotated[str, typer.Argument(metavar="TASK_ID", help="As in the task file.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Look at tasks and steer them.")
    group.command("list")(list_tasks)
    group.command("show")(show)
    group.command("pause")(pause)
    group.command("resume")(resume)
    group.command("cancel")(cancel)
    app.add_typer(group, name="tasks")


def list_tasks(
    state: Annotated[TaskStatus | None, typer.Option(help="Only tasks in this state.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=1_000)] = 100,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tasks, newest first."""
    from rich.markup import escape

    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.tables import put, status, table

    with gateway(data) as api:
        page = api.get("/v1/tasks", state=state, limit=limit)
    if as_json:
        print_json(page)
        return
    rows = [
        (escape(task["task_id"]), status(task["status"]), escape(task["session_id"]), task["submitted_at"])
        for task in page["items"]
    ]
    put(table("task", "status", "session", "submitted", rows=rows))


def show(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """One task: its agents, and the budgets that it draws on."""
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        task = api.get(path_of(task_id))
    if as_json:
        print_json(task)
    else:
        print_task(task)


def pause(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Stop before the next model call; nothing is held meanwhile."""
    _steer(task_id, "pause", data, as_json)


def resume(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Go on."""
    _steer(task_id, "resume", data, as_json)


def cancel(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """End the task and release what it holds."""
    _steer(task_id, "cancel", data, as_json)


def path_of(task_id: str) -> str:
    """Where the API has this task."""
    return f"/v1/tasks/{quote(task_id, safe='')}"


def print_task(task: dict[str, Any]) -> None:
    """A task for people."""
    from rich.markup import escape

    from purser.compose.cli.api.reasons import why
    from purser.compose.cli.tables import agents, budgets, put, status

    out.print(f"[bold]{escape(task['task_id'])}[/] {status(task['status'])}, session {escape(task['session_id'])}")
    out.print()
    put(agents(task))
    for line in why(task):
        out.print(line, style="yellow", markup=False)
    out.print()
    put(budgets([*task["scopes"].values()]))
    for agent_id, agent in task["agents"].items():
        if agent["reply"]:
            out.print(f"\n[bold]{escape(agent_id)}[/]")
            out.print(agent["reply"], markup=False)


def _steer(task_id: str, verb: str, data: DataOption, as_json: bool) -> None:
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        accepted = api.post(f"{path_of(task_id)}/{verb}")
    if as_json:
        print_json(accepted)
    else:
        out.print(f"{task_id}: {verb} is on its way.", markup=False)
