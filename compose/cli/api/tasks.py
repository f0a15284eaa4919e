"""`purser tasks`: list, show, pause, resume, cancel."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from purser.budget.scopes import check_id
from purser.compose.cli.output import AllOption, DataOption, JsonOption, LimitOption, out, print_answer
from purser.workflows.contract import TaskStatus

TaskId = Annotated[str, typer.Argument(metavar="TASK_ID", help="The `task_id` of the task file.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Show and control tasks.")
    group.command("list")(list_tasks)
    group.command("show")(show)
    group.command("window")(window)
    group.command("pause")(pause)
    group.command("resume")(resume)
    group.command("cancel")(cancel)
    app.add_typer(group, name="tasks")


def list_tasks(
    state: Annotated[TaskStatus | None, typer.Option(help="Only tasks in this state.")] = None,
    limit: LimitOption = 100,
    whole: AllOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tasks, newest first."""
    from purser.compose.cli.lists import print_list, status, text

    columns = {
        "task": text("task_id"),
        "status": status("status"),
        "session": text("session_id"),
        "submitted": text("submitted_at"),
    }
    print_list(data, "/v1/tasks", {"state": state, "limit": limit}, columns, whole=whole, as_json=as_json)


def show(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show one task: its agents, and the budgets that it draws on."""
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        task = api.get(path_of(task_id))
    print_answer(task, print_task, as_json=as_json)


def window(
    task_id: TaskId,
    call: Annotated[str | None, typer.Option(help="Key of the call; default: the newest that matches.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only calls of this agent.")] = None,
    turn: Annotated[int | None, typer.Option(min=1, help="Only calls of this turn.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a call of a task saw: verbatim, clipped, cleared, summarized or dropped, and why."""
    from purser.compose.cli.api.client import gateway
    from purser.compose.cli.api.windows import print_window
    from purser.compose.errors import NoSuchCall

    with gateway(data) as api:
        calls = f"{path_of(task_id)}/calls"
        if call is None:
            found = api.get(calls, agent=agent, turn=turn, limit=1)["items"]
            if not found:
                raise NoSuchCall(f"task {task_id!r} has no such call", remedy="Leave out --agent and --turn, or wait.")
            call = str(found[0]["call"])
        seen = api.get(f"{calls}/{quote(call, safe='')}/window")
    print_answer(seen, print_window, as_json=as_json)


def pause(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Pause a task before its next model call; it holds nothing while paused."""
    _control(task_id, "pause", data, as_json)


def resume(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Resume a paused task."""
    _control(task_id, "resume", data, as_json)


def cancel(task_id: TaskId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Cancel a task and release what it holds."""
    _control(task_id, "cancel", data, as_json)


def path_of(task_id: str) -> str:
    """Path of this task in the API; raises `InvalidScope` for an id that no task can have."""
    return f"/v1/tasks/{check_id(task_id, 'the task id')}"


def print_task(task: dict[str, Any]) -> None:
    """Print a task as text."""
    from rich.markup import escape

    from purser.compose.cli.api.reasons import why
    from purser.compose.cli.tables import agents, budgets, context, print_table, status

    out.print(f"[bold]{escape(task['task_id'])}[/] {status(task['status'])}, session {escape(task['session_id'])}")
    out.print()
    print_table(agents(task))
    for line in why(task):
        out.print(line, style="yellow", markup=False)
    out.print()
    print_table(budgets([*task["scopes"].values()]))
    if task["context"]:
        out.print()
        print_table(context(task["context"]))
    for agent_id, agent in task["agents"].items():
        if agent["reply"]:
            out.print(f"\n[bold]{escape(agent_id)}[/]")
            out.print(agent["reply"], markup=False)


def _control(task_id: str, verb: str, data: DataOption, as_json: bool) -> None:
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        accepted = api.post(f"{path_of(task_id)}/{verb}")
    print_answer(accepted, lambda _: out.print(f"{task_id}: {verb} requested.", markup=False), as_json=as_json)
