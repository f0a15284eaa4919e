"""Checks how a workflow was started: a start that is not as it must be fails the workflow before anything is written.

The SDK decodes an input before any code of the workflow runs. One that it cannot read it would try again forever.
"""

from collections.abc import Callable, Sequence
from functools import WRAPPER_ASSIGNMENTS
from typing import Any, TypeVar, cast, get_type_hints

from temporalio import workflow
from temporalio.converter import value_to_type
from temporalio.exceptions import ApplicationError

from purser.budget.errors import InvalidRequest
from purser.workflows.contract import AgentRef, TaskRef

M = TypeVar("M", bound=Callable[..., Any])
_FIXED_ID = "fixed-id"


def decoding(run: M) -> M:
    """Returns a `run` that decodes its one argument, as the SDK does; callers see the types that it declares."""
    declared = _declared(run)

    async def decoded(self: object, *arguments: Any) -> Any:
        return await run(self, _read(declared, arguments))

    return _in_place_of(run, decoded)


def initializing(unreadable: object) -> Callable[[M], M]:
    """Decorates an `__init__` beside such a `run`.

    Args:
        unreadable: what it gets in place of an input that cannot be read. If it failed, instead of `run` after it,
            the SDK would leave tasks behind that never ran.
    """

    def decorated(init: M) -> M:
        declared = _declared(init)

        def decoded(self: object, *arguments: Any) -> None:
            try:
                given = _read(declared, arguments)
            except ApplicationError:
                given = unreadable
            init(self, given)

        return _in_place_of(init, decoded)

    return decorated


def check_task(task: TaskRef) -> None:
    """Fails a workflow of a task that does not have the task's id: another one may run the same task."""
    if workflow.info().workflow_id != task.workflow_id:
        _refuse_id(f"task {task.task_id!r} of tenant {task.tenant!r} runs as workflow {task.workflow_id!r} only")


def check_agent(agent: AgentRef) -> None:
    """Fails a workflow of an agent that was not started by the agent's task."""
    parent, task = workflow.info().parent, TaskRef(agent.task_id, agent.tenant)
    if parent is None or parent.workflow_id != task.workflow_id:
        _refuse_id(f"agent {agent.agent_id!r} is started by workflow {task.workflow_id!r} only")


def _refuse_id(problem: str) -> None:
    # A workflow that an earlier release began under another id goes on; what it starts from now on does not.
    if workflow.patched(_FIXED_ID):
        raise _refused(problem)


def _declared(method: Callable[..., Any]) -> type:
    [declared] = [hint for name, hint in get_type_hints(method).items() if name != "return"]
    return cast(type, declared)


def _in_place_of(method: M, decoded: Callable[..., Any]) -> M:
    # Its `*arguments` have no type, so that the SDK passes on the JSON values.
    for name in WRAPPER_ASSIGNMENTS:
        if name != "__annotations__":
            setattr(decoded, name, getattr(method, name))
    decoded.__annotations__["return"] = get_type_hints(method)["return"]
    return cast(M, decoded)


def _read(declared: type, arguments: Sequence[Any]) -> Any:
    kind = workflow.info().workflow_type
    if len(arguments) != 1:
        raise _refused(f"workflow {kind} got {len(arguments)} arguments: give it one {declared.__name__}")
    try:
        return value_to_type(declared, arguments[0])
    except TypeError as error:
        what = f"{error}: {error.__cause__}" if error.__cause__ else str(error)
        raise _refused(f"the input of workflow {kind} is not valid: {what}") from None


def _refused(problem: str) -> ApplicationError:
    return ApplicationError(problem, type=InvalidRequest.__name__, non_retryable=True)
