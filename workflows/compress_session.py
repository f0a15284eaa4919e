"""The workflow `CompressSession`: compresses one conversation of a session while others go on using it.

The workflow id names the conversation, so that only one runs at a time. It outlives the turn that started it.
"""

import uuid

from temporalio import workflow

from purser.workflows import options
from purser.workflows.contract import ActivityName, CompressInput, CompressResult, CompressSessionInput, WorkflowName
from purser.workflows.inputs import decoding
from purser.workflows.steps import cancellable, step

_KEYS = uuid.UUID("b1f8f0a4-6a0f-5a4e-9c39-7d2f3a1f6c55")
_TRIES = 5
"""Attempts before the workflow gives up because another compression of the conversation is running."""


@workflow.defn(name=WorkflowName.COMPRESS_SESSION)
class CompressSession:
    """Stores one version of a summary, if there are messages to cover."""

    @workflow.run
    @decoding
    async def run(self, start: CompressSessionInput) -> CompressResult:
        """Returns the new version, or the reason why there is none."""
        for number in range(1, _TRIES + 1):
            result = await step(
                ActivityName.COMPRESS_CONTEXT, _request(start, number), CompressResult, options.COMPRESS
            )
            if result.reason != "busy":
                break
            await cancellable(workflow.sleep(options.BUSY_PAUSE, summary="another compression runs"))
        return result


def _request(start: CompressSessionInput, number: int) -> CompressInput:
    return CompressInput(
        tenant=start.tenant,
        session_id=start.session_id,
        key=str(uuid.uuid5(_KEYS, f"{workflow.info().run_id}/{number}")),
        thread=start.thread,
        task_id=start.task_id,
        agent_id=start.agent_id,
        budget_tokens=start.budget_tokens,
        model=start.model,
        summarizer=start.summarizer,
        trigger=start.trigger,
        tags=start.tags,
    )
