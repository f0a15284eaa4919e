"""The course of a call, independent of who sends its requests: plain or awaitable."""

import logging
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from purser_client.calls.costs import costs_nothing, usage_in
from purser_client.calls.terms import Terms
from purser_client.counting import Count, input_tokens
from purser_client.errors import (
    CallEnded,
    Conflict,
    InvalidRequest,
    KeyReused,
    NotFound,
    NotStarted,
    Problem,
    PurserError,
    not_admitted,
)
from purser_client.operations import holds
from purser_client.operations.arguments import new_key
from purser_client.operations.operation import Operation
from purser_client.types import HoldState, HoldView, SettlementView, StepView, StoredHoldView
from purser_client.usage import Streamed, usage_of

T = TypeVar("T")
Course: TypeAlias = Generator["Operation[Any] | Pause", Any, T]
"""Yields what is to be sent or waited for, and gets the answer."""

NOTHING = {"total": 0}
_LONGEST_POLL_S = 2.0
"""Shorter than the time after which the gateway forgets who waits."""

log = logging.getLogger("purser_client")


@dataclass(frozen=True, slots=True)
class Pause:
    """A time to wait."""

    seconds: float


@dataclass(slots=True)
class CallCourse:
    """A call, from its ask to its charge."""

    terms: Terms
    count: Count
    key: str = ""
    prompt: int = 0
    """Input tokens that the hold covers."""
    held: HoldView | None = None
    """The hold, once the gate has admitted the call."""
    charged: SettlementView | None = None
    """What the call has cost, once it is settled."""
    started: bool = False
    streamed: Streamed = field(init=False)
    """What has arrived in the started attempt."""
    attempt: int = field(init=False)
    """Number of the last attempt that has started."""
    _report: Mapping[str, Any] | None = None
    _cost: int | None = None
    _unsent: int | None = None
    """Number of an attempt that may have started: no answer says so, and its request never leaves."""
    _ended: bool = False

    def __post_init__(self) -> None:
        self.key = new_key() if self.terms.key is None else self.terms.key
        self.streamed = Streamed(self.count)
        self.attempt = (self.terms.attempt or 1) - 1
        given, terms = self.terms.input_tokens, self.terms
        self.prompt = input_tokens(terms.messages, terms.tools, self.count, terms.model) if given is None else given

    @property
    def hold(self) -> HoldView:
        """The hold of an admitted call."""
        if self.held is None:
            raise NotStarted("the call is not admitted yet: use it in a `with` block")
        return self.held

    @property
    def hold_id(self) -> str:
        """Id of the hold of an admitted call."""
        return str(self.hold.hold_id)

    @property
    def max_tokens(self) -> int:
        """Output tokens that the hold covers."""
        return min(self.terms.max_output_tokens, max(1, self.hold.tokens - self.prompt))

    def admit(self) -> Course[None]:
        """Asks until the gate admits or refuses the call, or its patience ends; then outlasts the delay.

        Raises:
            NotAdmitted: the budget does not admit the call, or not soon enough.
            CallEnded: the call of this key has ended before.
        """
        first, number = self.key, 1
        while True:
            self.key = first if number == 1 else f"{first}/{number}"
            try:
                answer = yield from self._ask()
            except KeyReused:
                if number >= self.terms.tries:
                    raise
                number += 1
                continue
            if answer.hold_id is None:
                raise not_admitted(answer)
            if answer.state == HoldState.HELD:
                break
            number += max(1, answer.ended_tries)
            if number > self.terms.tries:
                raise CallEnded(f"the call of key {self.key!r} is {answer.state.value} already: use another key")
        self.held = answer
        if self.terms.attempt is None and self.terms.key is not None:
            stored: StoredHoldView = yield holds.show(self.hold_id)
            self.attempt = stored.attempts
        yield from self._outlast(answer.delay_ms / 1_000)

    def _outlast(self, delay_s: float) -> Course[None]:
        """Waits, and renews the lease meanwhile, which may be shorter than the delay."""
        while delay_s > 0:
            pause = min(delay_s, self.terms.lease_s / 3)
            yield Pause(pause)
            delay_s -= pause
            if delay_s <= 0:
                return
            try:
                yield holds.extend(self.hold_id, lease_ms=self.terms.lease_ms)
            except Conflict:
                raise
            except PurserError as error:
                failed(error)

    def start(self) -> Course[int]:
        """Starts the next attempt, and returns the output tokens that the request may ask for.

        Raises:
            NotAdmitted: a further attempt does not fit.
            Conflict: the hold has ended, for example because its lease has.
        """
        number = self._unsent = self.attempt + 1
        try:
            step: StepView = yield holds.start_attempt(self.hold_id, number)
        except Problem as error:
            if not error.problem.retryable:  # the answer is that it has not started
                self._unsent = None
            raise
        self._unsent = None
        if step.verdict not in ("allow", "warn"):
            raise not_admitted(step)
        self._begin(number)
        return self.max_tokens

    def settle(self, reply: object, nano_usd: int | None) -> Course[SettlementView]:
        """Charges what the provider reports, and ends the hold."""
        if not self.started:
            raise NotStarted("nothing was sent under this hold: call start() before the request to the provider")
        self._report, self._cost = usage_of(reply), nano_usd
        return (yield from self._send_report())

    def charge(self, reply: object) -> Course[None]:
        """Ends the hold of a started attempt by the usage of its reply, if there is one, or else by what has arrived.

        What fails here is only noted, and the lease ends the hold.
        """
        if reply is not None:
            self._report = usage_of(reply)
        yield from self.end(None, raises=False)
        self._ended = True

    def send_nothing(self) -> None:
        """Notes that the request of the started attempt never leaves."""
        self._report = NOTHING

    def leave(self) -> None:
        """Notes that somebody else ends the hold."""
        self._ended = True

    def end(self, error: BaseException | None, *, raises: bool = True) -> Course[None]:
        """Ends the hold, however the block has ended.

        What fails here is raised only if the block has not failed: else the lease ends the hold.
        """
        if self._ended or self.held is None:
            return
        raises = raises and error is None
        try:
            yield from self._end(error, raises)
        except PurserError as failure:
            if raises:
                raise
            log.warning("hold %s is left to its lease: %s", self.hold_id, failure)

    def _begin(self, number: int) -> None:
        """Forgets what is known of the attempt before."""
        self.attempt, self.started = number, True
        self.streamed, self._report, self._cost = Streamed(self.count), None, None

    def _end(self, error: BaseException | None, raises: bool) -> Course[None]:
        if self._unsent is not None:
            self._begin(self._unsent)
            self.send_nothing()
        if not self.started:
            yield from self._release()
            return
        if self._report is None:
            self._report = self._unreported(error)
        if self._report is None:
            log.warning("hold %s ends without a report: its estimate is charged", self.hold_id)
            yield from self._release()
            return
        try:
            yield from self._send_report()
        except InvalidRequest as refused:
            yield from self._release()
            if raises:
                raise
            log.warning("hold %s is charged its estimate: %s", self.hold_id, refused)

    def _unreported(self, error: BaseException | None) -> Mapping[str, Any] | None:
        """What is known of the usage of a call that nobody has settled; `None`: nothing, or it cannot be read."""
        try:
            return self._known(error)
        except Exception as failure:  # of the caller's own count, or of an object of a provider's library
            log.warning("the usage of hold %s cannot be read: %s", self.hold_id, type(failure).__name__)
            return None

    def _known(self, error: BaseException | None) -> Mapping[str, Any] | None:
        if self.streamed.usage is not None:
            return self.streamed.usage
        if error is not None and (usage := usage_in(error)) is not None:
            return usage
        if self.streamed.parts:
            return self.streamed.estimate(self.prompt, self.max_tokens)
        return NOTHING if error is not None and costs_nothing(error) else None

    def _send_report(self) -> Course[SettlementView]:
        assert self._report is not None
        self.charged = yield holds.settle(self.hold_id, self._report, attempt=self.attempt, nano_usd=self._cost)
        self._ended = True
        assert self.charged is not None
        return self.charged

    def _release(self) -> Course[None]:
        try:
            yield holds.release(self.hold_id)
        except (Conflict, NotFound) as error:
            log.info("hold %s has ended before: %s", self.hold_id, error)
        self._ended = True

    def _ask(self) -> Course[HoldView]:
        terms, began, polls = self.terms, time.monotonic(), 0
        least = terms.min_output_tokens
        if least is not None:  # of an adapter, whose requests may have smaller limits of their own
            least = self.prompt + min(least, terms.max_output_tokens)
        operation = holds.ask(
            terms.path,
            self.prompt + terms.max_output_tokens,
            key=self.key,
            model=terms.model,
            nano_usd=terms.nano_usd,
            min_tokens=least,
            lease_ms=terms.lease_ms,
            tags=terms.tags,
        )
        while True:
            answer: HoldView = yield operation
            patience = {"wait": terms.wait_s, "ask": terms.approval_s}.get(answer.verdict, 0.0)
            left = patience - (time.monotonic() - began)
            if answer.hold_id is not None or left <= 0:
                return answer
            polls += 1
            pause = answer.retry_after_ms / 1_000 or min(_LONGEST_POLL_S, 0.25 * 2**polls)
            yield Pause(min(pause, _LONGEST_POLL_S, left))


def failed(error: PurserError) -> None:
    """Notes that a lease could not be renewed; the next renewal, or the settlement, tries again."""
    log.info("a lease was not renewed: %s", error)


class OpenCall:
    """What a call shows, with `with` and with `async with`."""

    _course: CallCourse

    @property
    def key(self) -> str:
        """Identifies the call; the same key joins an open hold."""
        return self._course.key

    @property
    def hold(self) -> HoldView:
        """The hold, with the verdicts of all scopes."""
        return self._course.hold

    @property
    def max_tokens(self) -> int:
        """Output tokens that the hold covers: fewer than asked for if only a part fits."""
        return self._course.max_tokens

    @property
    def charged(self) -> SettlementView | None:
        """What the call has cost, once it is settled."""
        return self._course.charged

    def arrived(self, part: object) -> None:
        """Notes a chunk, or a text, of a streamed reply that does not pass `stream`."""
        self._course.streamed.add(part)
