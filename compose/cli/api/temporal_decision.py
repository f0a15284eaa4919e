"""`purser approvals … --via temporal`: a decision that is signed here and sent to the workflow of a task that waits."""

import asyncio
from collections.abc import Mapping
from typing import Any

from purser.activities.tasks.signatures import sign
from purser.budget.errors import DecisionRefused, InvalidRequest
from purser.compose.errors import SettingsError, Unreachable
from purser.compose.settings import Settings
from purser.compose.settings.required import required
from purser.gateway.postgres.keys import digest
from purser.workflows.contract import ApprovalDecision, DecisionResult, Message, TaskRef

WITHIN_S = 30.0


def decide(
    settings: Settings, request: Mapping[str, Any], key: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Signs a decision and sends it as an update; returns the state of the request, as HTTP does.

    Args:
        settings: with the key that signs, and where Temporal is.
        request: the approval request, as `GET /v1/approvals/{id}` shows it.
        key: id, tenant and name of the key.
        fields: of the decision, except `approval_id` and `approver`.

    Raises:
        DecisionRefused: the rules or the signature forbid it.
        InvalidRequest: it is malformed, or no task waits for the request.
        SettingsError: there is no key.
        Unreachable: Temporal does not answer, or no worker runs.
    """
    from purser.compose.cli.run_async import run_to_end

    task_id = next((waiter["task_id"] for waiter in request["waiters"] if waiter["task_id"]), None)
    if task_id is None:
        raise InvalidRequest(
            f"no task waits for request {request['approval_id']!r}, so no workflow takes it: leave out --via temporal"
        )
    if settings.api_key is None:
        raise SettingsError("no key signs the decision", remedy="Set PURSER_API_KEY, or start `purser up`.")
    decision = ApprovalDecision(approval_id=request["approval_id"], approver=key["name"], **fields)
    signed = sign(decision, key["key_id"], digest(settings.api_key.get_secret_value()))
    done = run_to_end(_send(settings, TaskRef(task_id, key["tenant"]).workflow_id, signed))
    if done.error:
        raise DecisionRefused(done.message, reason=done.error)
    return {"state": done.state, "decisions_needed": done.decisions_needed}


async def _send(settings: Settings, workflow_id: str, decision: ApprovalDecision) -> DecisionResult:
    from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
    from temporalio.service import RPCError

    from purser.compose.temporal import connect

    workflow = (await connect(settings)).get_workflow_handle(workflow_id)
    try:
        async with asyncio.timeout(WITHIN_S):
            done: DecisionResult = await workflow.execute_update(
                Message.DECIDE_APPROVAL, decision, result_type=DecisionResult
            )
        return done
    except WorkflowUpdateFailedError as error:
        raise InvalidRequest(str(error.cause)) from error
    except (TimeoutError, RPCError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
        raise Unreachable(
            f"workflow {workflow_id!r} at {required(settings, 'temporal_address')!r} did not take the decision: "
            f"{type(error).__name__}",
            remedy="Check that a worker runs and that the task has not ended, or leave out --via temporal.",
        ) from error
