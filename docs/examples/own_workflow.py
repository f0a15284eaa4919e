"""Runs your own workflow with holds of Purser. Needs PURSER_TEMPORAL_ADDRESS and a running Purser worker."""

import asyncio
import os
import uuid
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from purser_client.contract import (
        TASK_QUEUE,
        ActivityName,
        HoldInput,
        HoldResult,
        ReleaseInput,
        ReleaseResult,
        SettleInput,
        SettleResult,
    )

TENANT = "default"
Result = TypeVar("Result")


@workflow.defn(name="Translate")
class Translate:
    """Workflow that holds before its work, settles after it, and always releases."""

    @workflow.run
    async def run(self, session_id: str) -> str:
        """Return the verdict, or the charge."""
        key = f"translate/{workflow.info().run_id}"
        try:
            ask = HoldInput(TENANT, key, (f"session:{session_id}",), tokens=2_000, model="gpt-4o-mini")
            held = await _purser(ActivityName.HOLD, ask, HoldResult)
            if not held.hold_id:
                return held.verdict
            await workflow.sleep(timedelta(milliseconds=held.delay_ms))
            # Here your own activity calls the model and returns what it used.
            report = SettleInput(TENANT, held.hold_id, attempt=1, input=1_200, output=300, nano_usd=360_000)
            charged = await _purser(ActivityName.SETTLE, report, SettleResult)
            return f"{charged.tokens} tokens"
        finally:
            # Releasing a hold that has ended has no effect.
            await _purser(ActivityName.RELEASE, ReleaseInput(TENANT, key), ReleaseResult)


async def _purser(name: ActivityName, request: object, result: type[Result]) -> Result:
    """Execute one of Purser's activities on Purser's workers."""
    done: Result = await workflow.execute_activity(
        name, request, result_type=result, task_queue=TASK_QUEUE, start_to_close_timeout=timedelta(seconds=30)
    )
    return done


async def main() -> str:
    """Run the workflow once."""
    client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"])
    async with Worker(client, task_queue="own", workflows=[Translate]):
        charged = await client.execute_workflow(
            Translate.run, "own-session", id=f"translate-{uuid.uuid4()}", task_queue="own"
        )
    # Threads of the client briefly outlive its loop: a program that exits at once may crash (sdk-python#300).
    await asyncio.sleep(1)
    return charged


if __name__ == "__main__":
    result = asyncio.run(main())
    os.write(1, f"{result}\n".encode())
