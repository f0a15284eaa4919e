"""The moment at which a request leaves: its attempt starts when there is nothing left to do but to send it."""

import asyncio

from temporalio import activity

from purser.activities.calls.settlements import Attempt
from purser.activities.calls.uncancelled import finished
from purser.activities.models.egress import Ticket
from purser.activities.postgres.calls import Call
from purser.budget.holds import AttemptAnswer
from purser.budget.postgres.ledger.ledger import Ledger
from purser.workflows.contract import CallInput


class NotStarted(Exception):
    """The budget has no room for another attempt."""

    def __init__(self, answer: AttemptAnswer) -> None:
        super().__init__("no room for another attempt")
        self.answer = answer


class Exhausted(Exception):
    """There have been as many attempts as a call may have."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(f"attempt {attempt.number} is one too many")
        self.attempt = attempt


class Departing:
    """Starts the attempt of one request."""

    def __init__(self, ledger: Ledger, request: CallInput, call: Call, most: int) -> None:
        """Args:
        ledger: starts it.
        request: names the hold.
        call: what the hold is for.
        most: attempts that the call may have.
        """
        self.hold_id = request.hold_id
        self.attempt: Attempt | None = None
        """`None`: not started, so that nothing can have been charged."""
        self._ledger = ledger
        self._call = call
        self._most = most

    @property
    def started(self) -> Attempt:
        """The attempt of a request that has left."""
        assert self.attempt is not None
        return self.attempt

    async def leave(self) -> Ticket:
        """Leave for the request.

        Raises:
            HoldClosed, LedgerUnavailable
            NotStarted: the budget has no room for it.
            Exhausted: it would be one attempt too many.
        """
        if self.attempt is None:
            await finished(self._start())
            if activity.is_cancelled():
                raise asyncio.CancelledError
        return Ticket(self.started.request_id, self.started.cap)

    async def _start(self) -> None:
        call = self._call
        answer = await self._ledger.start_attempt(call.agent.tenant, self.hold_id)
        if not answer.started:
            raise NotStarted(answer)
        cap = min(call.output_cap, answer.amount.tokens - call.prompt_tokens)
        attempt = Attempt(self.hold_id, answer.attempt, cap)
        if attempt.number > self._most:
            raise Exhausted(attempt)
        self.attempt = attempt
