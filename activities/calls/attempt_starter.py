"""Starts the attempt of a request at the moment when the request is ready to be sent."""

import asyncio
from collections.abc import Awaitable, Callable

from temporalio import activity

from purser.activities.calls.attempts import Attempt, Attempts
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.models.egress.transport import SendPermit
from purser.activities.postgres.calls.calls import Call
from purser.budget.gate import Amount
from purser.workflows.contract import CallInput

CanUse = Callable[[int], Amount | None]
"""The most that a request of an output cap can use; `None`: what is held."""


class AttemptsExhausted(Exception):
    """The call has used up its attempts."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(f"attempt {attempt.number} is one too many")
        self.attempt = attempt


class AttemptStarter:
    """Starts the attempt of one request."""

    def __init__(
        self,
        attempts: Attempts,
        request: CallInput,
        call: Call,
        most: int,
        can_use: CanUse,
        pace: Callable[[], Awaitable[None]],
    ) -> None:
        """Args:
        attempts: starts the attempt.
        request: names the hold.
        call: the call for which the hold was admitted.
        most: most attempts of the call.
        can_use: returns the most that a request of an output cap can use.
        pace: returns if the provider's pace allows the request now, otherwise raises `Paced`.
        """
        self.hold_id = request.hold_id
        self.attempt: Attempt | None = None
        """`None`: not started, so the provider cannot have charged anything."""
        self._attempts = attempts
        self._call = call
        self._most = most
        self._can_use = can_use
        self._pace = pace

    @property
    def started(self) -> Attempt:
        """The attempt of a request that was sent."""
        assert self.attempt is not None
        return self.attempt

    async def start(self) -> SendPermit:
        """Starts the attempt and returns the permit to send its request.

        Raises:
            HoldClosed, LedgerUnavailable
            Paced: the provider's pace allows the request only later.
            NotStarted: the budget has no room for another attempt.
            AttemptsExhausted: it would be one attempt too many.
        """
        if self.attempt is None:
            # In a task of its own, which nothing cancels: a worker that shuts down leaves the hold to the next one.
            await uncancelled(self._start())
            if activity.is_cancelled():
                raise asyncio.CancelledError
        return self.started.permit

    async def _start(self) -> None:
        call = self._call
        await self._pace()
        cap = call.output_cap if call.request_cap is None else call.request_cap
        attempt = await self._attempts.start(
            call.agent.tenant, call.model, self.hold_id, call.ask, cap, most=self._can_use(cap)
        )
        if attempt.number > self._most:
            raise AttemptsExhausted(attempt)
        self.attempt = attempt
