"""A call whose requests are awaited: `async with purser.call(...) as call`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from purser_client.calls.course import CallCourse, Course, OpenCall, Pause, failed
from purser_client.calls.terms import Terms
from purser_client.counting import Count
from purser_client.errors import Conflict, PurserError
from purser_client.operations import holds
from purser_client.operations.operation import Operation, SendsAsync
from purser_client.types import SettlementView

T = TypeVar("T")
C = TypeVar("C")

_LAST_ANSWER_S = 5.0
"""Time for the answer to a request whose caller is cancelled; without one, the lease ends a hold."""


class AsyncCall(OpenCall):
    """A model call under a hold. In its `async with` block the hold is open and its lease is kept alive."""

    def __init__(self, client: SendsAsync, terms: Terms, count: Count) -> None:
        self._client = client
        self._course = CallCourse(terms, count)
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Starts an attempt, right before the request to the provider; returns the `max_tokens` of the request.

        From then on the provider may charge: if the process dies, the lease ends and the estimate is charged.
        """
        before = self._course.attempt
        try:
            return await uncancelled(self._run(self._course.start()))
        except asyncio.CancelledError:
            if self._course.attempt > before:
                self._course.send_nothing()
            raise

    async def settle(self, reply: object, *, nano_usd: int | None = None) -> SettlementView:
        """Charges the usage of a reply, or a usage block, and ends the hold. Repeating it has no effect.

        Args:
            reply: What the provider reports.
            nano_usd: Its cost, if the price of the model does not say it.
        """
        return await uncancelled(self._run(self._course.settle(reply, nano_usd)))

    async def charge(self, reply: object = None) -> None:
        """Settles as an adapter does, which hands on the reply in any case: without it, a retry would pay for another.

        What fails is only logged, and the lease ends the hold.

        Args:
            reply: What the provider reports; by default, what has arrived is charged, or else the estimate.
        """
        await uncancelled(self._run(self._course.charge(reply)))

    async def stream(self, chunks: AsyncIterable[C]) -> AsyncGenerator[C, None]:
        """Hands on the chunks of a streamed reply; at the end of the block what has arrived is charged."""
        async for chunk in chunks:
            self._course.streamed.add(chunk)
            yield chunk

    async def admit(self) -> None:
        """Asks the gate as the block does, for who has none and will `end` the call. The lease is not renewed."""
        try:
            await self._run(self._course.admit())
        except BaseException as error:
            await self.end(error)
            raise

    async def end(self, error: BaseException | None = None) -> None:
        """Ends the hold as the end of the block does: by what is known of the usage if nothing was settled."""
        await uncancelled(self._run(self._course.end(error)))

    def leave(self) -> None:
        """Leaves the hold open at the end of the block, for who will settle it; else its lease charges the estimate."""
        self._course.leave()

    async def __aenter__(self) -> Self:
        await self.admit()
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        await self.end(error)

    async def _keep(self) -> None:
        """Renews the lease, three times in its length."""
        lease_ms = self._course.terms.lease_ms
        while True:
            await asyncio.sleep(lease_ms / 3_000)
            try:
                await self._client.send(holds.extend(self._course.hold_id, lease_ms=lease_ms))
            except Conflict:
                return
            except PurserError as error:
                failed(error)

    async def _run(self, course: Course[T]) -> T:
        try:
            step = next(course)
            while True:
                answer: Any = None
                try:
                    if isinstance(step, Pause):
                        await asyncio.sleep(step.seconds)
                    else:
                        answer = await self._answered(course, step)
                except PurserError as error:
                    step = course.throw(error)
                else:
                    step = course.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _answered(self, course: Course[T], step: Operation[Any]) -> Any:
        """Sends a request of a course, which learns of the answer even if the caller is cancelled meanwhile.

        The answer may be a hold, which the end of the call then releases.
        """
        sending = asyncio.ensure_future(self._client.send(step))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            with suppress(asyncio.CancelledError):  # anyio cancels again and again
                await uncancelled(asyncio.wait((sending,), timeout=_LAST_ANSWER_S))
            if sending.cancel():
                raise
            with suppress(StopIteration, PurserError):
                course.send(sending.result())
            raise


async def uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Finishes the work even if the caller is cancelled meanwhile, and raises the cancellation afterwards."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # read, so that the loop does not report it
        raise cancelled
    return task.result()
