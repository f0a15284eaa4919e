"""`purser approvals … --via temporal`: signs a decision and sends it to the workflow of a waiting task."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from purser.activities.tasks.signatures import sign
from purser.budget.errors import DecisionRefused, InvalidRequest
from purser.compose.errors import SettingsError, Unreachable
from purser.compose.settings import Settings
from purser.compose.settings.required import required
from purser.gateway.postgres.keys import digest
from purser.workflows.contract import ApprovalDecision, DecisionResult, Message, TaskRef

UPDATE_TIMEOUT_S = 30.0


def decide(
    settings: Settings, request: Mapping[str, Any], key: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Sign a decision and send it as a workflow update; returns the state of the request, as HTTP does.

    Args:
        settings: they hold the signing key and the address of Temporal.
        request: the approval request, as `GET /v1/approvals/{id}` shows it.
        key: id, tenant and name of the key.
        fields: fields of the decision, except `approval_id` and `approver`.

    Raises:
        DecisionRefused: the approval rules forbid the decision, or its signature is invalid.
        InvalidRequest: the decision is malformed, or no task that runs waits for the request.
        SettingsError: no key is configured.
        Unreachable: Temporal does not answer, or no worker runs.
    """
    from purser.compose.cli.run_async import run_to_end

    # Calls over HTTP may name a task of their own, which no workflow runs.
    tasks = dict.fromkeys(waiter["task_id"] for waiter in request["waiters"] if waiter["task_id"])
    if settings.api_key is None:
        raise SettingsError("no key to sign the decision with", remedy="Set PURSER_API_KEY, or start `purser up`.")
    decision = ApprovalDecision(approval_id=request["approval_id"], approver=key["name"], **fields)
    signed = sign(decision, key["key_id"], digest(settings.api_key.get_secret_value()))
    workflows = [TaskRef(task_id, key["tenant"]).workflow_id for task_id in tasks]
    done = run_to_end(_send(settings, workflows, signed)) if workflows else None
    if done is None:
        raise InvalidRequest(
            f"no task that waits for request {request['approval_id']!r} has a workflow: leave out --via temporal"
        )
    if done.error:
        raise DecisionRefused(done.message, reason=done.error)
    return {"state": done.state, "decisions_needed": done.decisions_needed}


async def _send(settings: Settings, workflow_ids: Iterable[str], decision: ApprovalDecision) -> DecisionResult | None:
    """Sends a decision to the first of these workflows that runs, and returns its answer; `None` if none runs."""
    from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
    from temporalio.service import RPCError

    from purser.activities.tasks.vanished import is_gone
    from purser.compose.temporal import connect

    client = await connect(settings)
    for workflow_id in workflow_ids:
        try:
            async with asyncio.timeout(UPDATE_TIMEOUT_S):
                done: DecisionResult = await client.get_workflow_handle(workflow_id).execute_update(
                    Message.DECIDE_APPROVAL, decision, result_type=DecisionResult
                )
            return done
        except WorkflowUpdateFailedError as error:
            raise InvalidRequest(str(error.cause)) from error
        except (TimeoutError, RPCError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
            if isinstance(error, RPCError) and is_gone(error):
                continue
            raise Unreachable(
                f"workflow {workflow_id!r} at {required(settings, 'temporal_address')!r} did not accept the decision: "
                f"{type(error).__name__}",
                remedy="Check that a worker runs, or leave out --via temporal.",
            ) from error
    return None
