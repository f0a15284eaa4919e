"""What the plugin makes of an activity that is tried again, and of the errors of adapters inside of it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from temporalio import activity
from temporalio.activity import ActivityCancellationDetails
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ActivityOutboundInterceptor, ExecuteActivityInput

from purser_client import AsyncPurser, CannotHold, UnknownPrice
from purser_client.errors import invalid
from purser_client.temporal.estimates import Estimate
from purser_client.temporal.holding import Holding, PluginOptions
from purser_client.temporal.paths import HEADER
from tests.client.conftest import World

USED = {"total": 9}
LATER = timedelta(seconds=5)
Does = Callable[[], Awaitable[Any]]


class Activity(ActivityInboundInterceptor):
    """The end of the chain."""

    def __init__(self, does: Does) -> None:
        self._does = does

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        """See base class."""

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """See base class."""
        return await self._does()


class Server(ActivityOutboundInterceptor):
    """The other end of the chain."""

    def __init__(self) -> None:
        pass

    def heartbeat(self, *details: Any) -> None:
        """See base class."""


async def execute(
    purser: AsyncPurser,
    does: Does,
    *,
    holds: bool = True,
    headers: dict[str, Payload] | None = None,
    later: timedelta = timedelta(),
    approval_s: float = 0,
    environment: ActivityEnvironment | None = None,
    **of_info: Any,
) -> None:
    """Executes one attempt of an activity, `later` than it was scheduled first."""
    options = PluginOptions(
        purser=purser,
        matches=lambda activity_type: holds,
        estimate=lambda input: Estimate(input_tokens=20, max_output_tokens=30),
        usage=lambda input, result: result,
        lease_s=60,
        wait_s=0,
        approval_s=approval_s,
        ask_again_s=1,
    )
    environment, holding = environment or ActivityEnvironment(), Holding(Activity(does), options)
    info = replace(environment.info, **of_info)
    environment.info = replace(info, current_attempt_scheduled_time=info.scheduled_time + later)
    holding.init(Server())
    await environment.run(holding.execute_activity, ExecuteActivityInput(activity.info, [], None, headers or {}))


async def answers() -> Any:
    """Answers as a provider does."""
    return USED


async def is_refused() -> Any:
    """Is refused by the provider, at no cost."""
    request = httpx.Request("POST", "http://provider")
    raise httpx.HTTPStatusError("slow down", request=request, response=httpx.Response(429, request=request))


async def attempts(world: World) -> list[tuple[str, int, str]]:
    """Key, number and state of every attempt."""
    read = "select key, attempt, a.state from attempts a join holds using (hold_id) order by created_at, attempt"
    return [(row["key"], row["attempt"], row["state"]) for row in await world.gateway.pool.fetch(read)]


@pytest.mark.parametrize(
    "again",
    [{"later": LATER}, {"is_local": True}],
    ids=["the first attempt after a reset", "a local activity"],
)
async def test_a_dead_worker_leaves_its_hold_to_the_next_attempt_which_is_charged_as_well(
    world: World, again: dict[str, Any]
) -> None:
    lost = await world.client()

    async def dies() -> Any:
        await lost.close()
        return USED

    kind = {"is_local": again.get("is_local", False)}
    await execute(lost, dies, **kind)
    await execute(await world.client(), answers, **again)
    [(key, *first), (same, *second)] = await attempts(world)
    assert (key, first, second) == (same, [1, "presumed"], [2, "reported"])


async def test_after_a_reset_the_keys_of_all_attempts_before_it_are_passed_over(world: World) -> None:
    purser = await world.client()
    for number in (1, 2):
        with pytest.raises(httpx.HTTPStatusError):
            await execute(purser, is_refused, attempt=number, later=LATER * (number - 1))
    await execute(purser, answers, attempt=1, later=LATER)
    *_, (key, _, state) = await attempts(world)
    assert (key.rpartition("/")[2], state) == ("3", "reported")


async def test_an_attempt_does_not_ask_for_each_hold_of_those_before_it(world: World) -> None:
    purser, sent = await world.client(), Counter[str]()

    async def note(request: httpx.Request) -> None:
        sent[request.url.path] += 1

    purser._http.event_hooks["request"].append(note)
    for number in range(1, 7):
        with pytest.raises(httpx.HTTPStatusError):
            await execute(purser, is_refused, attempt=number, later=LATER * (number - 1))
    # From the second one on, the first key says how many have ended.
    assert sent["/v1/holds"] == 1 + 2 * 5
    assert [key.rpartition("/")[2] for key, *_ in await attempts(world)][1:] == ["2", "3", "4", "5", "6"]


async def test_only_an_activity_that_is_cancelled_for_good_withdraws_its_request_for_approval(world: World) -> None:
    await world.limit(10, mode="approval")
    purser, asked = await world.client(), asyncio.Event()

    async def note(response: httpx.Response) -> None:
        if response.request.url.path == "/v1/holds":
            asked.set()

    purser._http.event_hooks["response"].append(note)

    async def requests_after(details: ActivityCancellationDetails) -> list[tuple[str, str]]:
        """Id and state of all requests for approval, after an attempt that stops waiting."""
        environment = ActivityEnvironment()
        attempt = execute(purser, answers, approval_s=240, environment=environment, workflow_id="s1", later=LATER)
        waiting = asyncio.create_task(attempt)
        asked.clear()
        await asked.wait()
        environment.cancel(details)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return [(one.approval_id, one.state) for one in (await purser.approvals.list()).items]

    for details in (
        ActivityCancellationDetails(worker_shutdown=True),
        ActivityCancellationDetails(not_found=True),  # as in an attempt that is over, while another one goes on
        ActivityCancellationDetails(timed_out=True),
    ):
        [(request, state)] = await requests_after(details)
        assert state == "pending"
    assert await requests_after(ActivityCancellationDetails(cancel_requested=True)) == [(request, "withdrawn")]


@pytest.mark.parametrize(
    "error", [UnknownPrice(invalid("no price", "Add one.").problem), CannotHold("a batch")], ids=lambda one: str(one)
)
async def test_a_call_that_an_adapter_cannot_hold_is_not_tried_again(error: Exception) -> None:
    async def adapter() -> Any:
        raise error

    with pytest.raises(ApplicationError, match=str(error)) as failed:
        await execute(AsyncPurser("http://127.0.0.1:9", "none"), adapter, holds=False)
    assert (failed.value.type, failed.value.non_retryable) == (type(error).__name__, True)


@pytest.mark.parametrize("holds", [False, True])
async def test_a_header_that_this_worker_does_not_decode_names_the_setting(holds: bool) -> None:
    encoded = Payload(metadata={"encoding": b"binary/encrypted"}, data=b"?")
    with pytest.raises(ApplicationError, match="header_codec_behavior") as failed:
        await execute(AsyncPurser("http://127.0.0.1:9", "none"), answers, holds=holds, headers={HEADER: encoded})
    assert failed.value.non_retryable


async def test_an_error_of_reading_a_result_is_noted_without_its_text(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Reply:
        def model_dump(self) -> Any:
            raise ValueError("what the model said")

    async def reply() -> Reply:
        return Reply()

    await execute(await world.client(), reply)
    assert "is charged: ValueError" in caplog.text
    assert "what the model said" not in caplog.text
