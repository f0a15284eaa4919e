"""A hold around an activity: every attempt of a model call is held before and settled after it."""

import asyncio
import hashlib
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.worker import ActivityInboundInterceptor, ActivityOutboundInterceptor, ExecuteActivityInput

from purser_client.calls.async_call import AsyncCall, uncancelled
from purser_client.calls.options import is_under_hold, trying, under_hold
from purser_client.client import AsyncPurser
from purser_client.errors import ApprovalNeeded, BudgetBusy, CannotHold, InvalidRequest, NotAdmitted, PurserError
from purser_client.paths import budget_path
from purser_client.temporal.estimates import Estimate
from purser_client.temporal.heartbeats import Heartbeats
from purser_client.temporal.paths import HEADER, path_of
from purser_client.usage import plain

_SHORTEST_DELAY_MS = 100
_WITHDRAWAL_S = 5.0
_LONGEST_KEY = 240
"""The gateway takes 256 characters, and further holds of an activity add a number."""

log = logging.getLogger("purser_client")


class Matches(Protocol):
    """Whether an activity calls a model."""

    def __call__(self, activity_type: str, /) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """How the plugin holds."""

    purser: AsyncPurser
    matches: Matches
    estimate: Callable[[ExecuteActivityInput], Estimate]
    usage: Callable[[ExecuteActivityInput, Any], object]
    lease_s: float
    wait_s: float
    approval_s: float
    ask_again_s: float


class Holding(ActivityInboundInterceptor):
    """Holds before a model activity, and settles after it."""

    def __init__(self, next: ActivityInboundInterceptor, options: PluginOptions) -> None:
        super().__init__(next)
        self._options = options

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        self._heartbeats = Heartbeats(outbound)
        super().init(self._heartbeats)

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        if is_under_hold():  # of the same plugin, where both the client and the worker have it
            return await super().execute_activity(input)
        if not self._options.matches(info.activity_type):
            return await self._pass_on(info, input)
        async with self._heartbeats.sent(info):
            with self._failures():
                call = await self._started(info, input)
            try:
                with under_hold():
                    result = await super().execute_activity(input)
            except BaseException as error:
                await call.__aexit__(type(error), error, None)
                raise
            await self._charge(call, input, result)
        return result

    async def _pass_on(self, info: activity.Info, input: ExecuteActivityInput) -> Any:
        """Runs an activity whose calls, if it has any, are held by an adapter inside of it."""
        named = info.in_workflow or HEADER in input.headers  # otherwise the adapter has a path of its own
        path = budget_path(*_path(info, input)) if named else nullcontext()
        with self._failures(), path, trying(_key(info), _tries(info)):
            return await super().execute_activity(input)

    async def _started(self, info: activity.Info, input: ExecuteActivityInput) -> AsyncCall:
        """A call whose attempt has started."""
        call = self._call(info, input)
        try:
            await call.__aenter__()
        except BaseException:
            if _is_cancelled():
                await self._withdraw(call.key)
            raise
        try:
            await call.start()
        except BaseException as error:
            await call.__aexit__(type(error), error, None)
            raise
        return call

    def _call(self, info: activity.Info, input: ExecuteActivityInput) -> AsyncCall:
        """The call of this activity.

        An attempt whose worker has died leaves its hold open, and the next one joins it; the same goes for one that
        waits for a person. So every attempt goes on where those before it have ended.
        """
        options, estimate, tries = self._options, self._options.estimate(input), _tries(info)
        return options.purser.call(
            _path(info, input),
            model=estimate.model,
            messages=[plain(one) for one in input.args] if estimate.messages is None else estimate.messages,
            tools=estimate.tools,
            max_output_tokens=estimate.max_output_tokens,
            input_tokens=estimate.input_tokens,
            nano_usd=estimate.nano_usd,
            key=_key(info),
            attempt=1 if tries == 1 else None,
            tries=tries,
            lease_s=options.lease_s,
            wait_s=options.wait_s,
            approval_s=options.approval_s,
        )

    async def _withdraw(self, key: str) -> None:
        """Ends the wait for a person: nobody makes the call any more."""
        try:
            await uncancelled(asyncio.wait_for(self._options.purser.holds.withdraw(key), _WITHDRAWAL_S))
        except (PurserError, TimeoutError) as error:
            log.warning("a request for approval of call %s may stay open: %r", key, error)

    async def _charge(self, call: AsyncCall, input: ExecuteActivityInput, result: Any) -> None:
        """Settles by the usage of the result.

        What fails here does not fail the activity, because a further attempt would pay the model again: the estimate
        is charged.
        """
        try:
            try:
                await call.settle(self._options.usage(input, result))
            finally:
                await call.__aexit__(None, None, None)
        except Exception as error:  # the user's own function among it, whose error may repeat the reply
            reason = error if isinstance(error, PurserError) else type(error).__name__
            log.warning("the estimate of call %s is charged: %s", call.key, reason)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raises what the block raises of the client as Temporal is to treat it: to be tried again when, or never."""
        # Without the cause: its stack would be most of the failure, and Temporal cuts what it shows of a retry.
        try:
            yield
        except NotAdmitted as error:
            raise self._failure(error) from None
        except (InvalidRequest, CannotHold) as error:
            raise ApplicationError(str(error), type=type(error).__name__, non_retryable=True) from None

    def _failure(self, error: NotAdmitted) -> ApplicationError:
        details = error.answer.model_dump(mode="json")
        kind = type(error).__name__
        match error:
            case BudgetBusy():
                delay = timedelta(milliseconds=max(_SHORTEST_DELAY_MS, error.retry_after_ms))
            case ApprovalNeeded():
                delay = timedelta(seconds=self._options.ask_again_s)
            case _:
                return ApplicationError(str(error), details, type=kind, non_retryable=True)
        category = ApplicationErrorCategory.BENIGN
        return ApplicationError(str(error), details, type=kind, next_retry_delay=delay, category=category)


def _path(info: activity.Info, input: ExecuteActivityInput) -> list[str]:
    return path_of(input.headers, info.workflow_id or info.activity_id)


def _is_cancelled() -> bool:
    """Whether no further attempt follows, as one does after the stop of a worker, a time-out or a reset."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def _tries(info: activity.Info) -> int:
    """How often the activity was tried at most, this time included; 1: this is surely the first time."""
    # The attempt is 1 again after `temporal activity reset`, and in a local activity whose worker has died.
    first = info.attempt == 1 and not info.is_local and info.current_attempt_scheduled_time == info.scheduled_time
    return 1 if first else sys.maxsize


def _key(info: activity.Info) -> str:
    """The same in every attempt; another one where a workflow uses the id of an activity again."""
    if info.in_workflow:
        scheduled = "" if info.is_local else f"/{round(info.scheduled_time.timestamp() * 1_000)}"
        key = f"{info.workflow_id}/{info.workflow_run_id}/{info.activity_id}{scheduled}"
    else:
        key = f"{info.activity_id}/{info.activity_run_id}"
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()
