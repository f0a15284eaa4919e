"""A call whose requests are sent at once: `with purser.call(...) as call`."""

import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from purser_client.calls.course import CallCourse, Course, OpenCall, Pause, failed
from purser_client.calls.terms import Terms
from purser_client.counting import Count
from purser_client.errors import Conflict, PurserError
from purser_client.operations import holds
from purser_client.operations.operation import Operation, Sends
from purser_client.types import SettlementView

T = TypeVar("T")
C = TypeVar("C")


class Call(OpenCall):
    """A model call under a hold. In its `with` block the hold is open and its lease is kept alive."""

    def __init__(self, client: Sends, terms: Terms, count: Count) -> None:
        self._client = client
        self._course = CallCourse(terms, count)
        self._over = threading.Event()
        self._keeper: threading.Thread | None = None

    def start(self) -> int:
        """Starts an attempt, right before the request to the provider; returns the `max_tokens` of the request.

        From then on the provider may charge: if the process dies, the lease ends and the estimate is charged.
        """
        return self._run(self._course.start())

    def settle(self, reply: object, *, nano_usd: int | None = None) -> SettlementView:
        """Charges the usage of a reply, or a usage block, and ends the hold. Repeating it has no effect.

        Args:
            reply: What the provider reports.
            nano_usd: Its cost, if the price of the model does not say it.
        """
        return self._run(self._course.settle(reply, nano_usd))

    def charge(self, reply: object = None) -> None:
        """Settles as an adapter does. See `AsyncCall.charge`."""
        self._run(self._course.charge(reply))

    def stream(self, chunks: Iterable[C]) -> Iterator[C]:
        """Hands on the chunks of a streamed reply; at the end of the block what has arrived is charged."""
        for chunk in chunks:
            self._course.streamed.add(chunk)
            yield chunk

    def __enter__(self) -> Self:
        try:
            self._run(self._course.admit())
            keeper = threading.Thread(target=self._keep, name="purser-lease", daemon=True)
            keeper.start()  # which fails where there are too many threads, and while the interpreter shuts down
        except BaseException as error:
            self._run(self._course.end(error))
            raise
        self._keeper = keeper
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        try:
            self._run(self._course.end(error))
        finally:
            if self._keeper is not None:
                self._keeper.join()

    def _keep(self) -> None:
        """Renews the lease, three times in its length."""
        lease_ms = self._course.terms.lease_ms
        while not self._over.wait(lease_ms / 3_000):
            try:
                self._client.send(holds.extend(self._course.hold_id, lease_ms=lease_ms))
            except Conflict:
                return
            except PurserError as error:
                failed(error)

    def _perform(self, step: Operation[Any] | Pause) -> Any:
        if not isinstance(step, Pause):
            return self._client.send(step)
        time.sleep(step.seconds)
        return None

    def _run(self, course: Course[T]) -> T:
        try:
            step = next(course)
            while True:
                try:
                    answer = self._perform(step)
                except PurserError as error:
                    step = course.throw(error)
                else:
                    step = course.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
