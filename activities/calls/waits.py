"""Waits of an ask: for open holds of others, by retries of its activity; for its delay, under a longer lease."""

from contextlib import suppress
from datetime import timedelta

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from purser.budget.errors import HoldClosed
from purser.budget.gate import Verdict
from purser.budget.holds import HoldAnswer
from purser.budget.postgres.ledger.ledger import Ledger
from purser.workflows.contract import MAX_JITTER, AdmitResult, ToolHold


def raise_to_wait(answer: AdmitResult | ToolHold) -> None:
    """Raises the error with which Temporal asks again later, if open holds of others are in the way."""
    if answer.verdict == Verdict.WAIT and answer.short is not None:
        raise ApplicationError(
            "open holds of others are in the way",
            type="BudgetWait",
            next_retry_delay=timedelta(milliseconds=answer.short.retry_after_ms),
            category=ApplicationErrorCategory.BENIGN,
        )


async def outlast_delay(ledger: Ledger, tenant: str, answer: HoldAnswer, lease_ms: int) -> None:
    """Extends the lease so that it covers the sleep before the call.

    Args:
        ledger: extends it.
        tenant: of the hold.
        answer: of the gate.
        lease_ms: the lease of the hold.
    """
    delay_ms = round(answer.gate.delay_ms * (1 + MAX_JITTER))
    if answer.hold_id is not None and delay_ms > lease_ms // 4:
        # A repeated ask may find that its hold has ended: its attempt finds that too, and the call is asked for anew.
        with suppress(HoldClosed):
            await ledger.extend(tenant, answer.hold_id, lease_ms=delay_ms + lease_ms)
