"""Heartbeats that the plugin sends do not lose what an activity has told Temporal."""

import asyncio
from dataclasses import replace
from typing import Any

from temporalio import activity
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityOutboundInterceptor

from purser_client.temporal.heartbeats import Heartbeats


class Server(ActivityOutboundInterceptor):
    """The end of the chain."""

    def __init__(self) -> None:
        self.got: list[tuple[Any, ...]] = []

    def heartbeat(self, *details: Any) -> None:
        """See base class."""
        self.got.append(details)


async def sent(*own: Any, before: tuple[Any, ...] = (), is_local: bool = False) -> list[tuple[Any, ...]]:
    """The first heartbeat of the plugin, after those of the activity."""
    server, environment = Server(), ActivityEnvironment()
    environment.info = replace(environment.info, heartbeat_details=before, is_local=is_local)

    async def run() -> None:
        heartbeats = Heartbeats(server)
        for details in own:
            heartbeats.heartbeat(*details)
        server.got.clear()
        async with heartbeats.sent(activity.info()):
            await asyncio.sleep(0)

    await environment.run(run)
    return server.got


async def test_they_repeat_the_details_of_the_last_one_of_the_activity() -> None:
    assert await sent(("page", 1), ("page", 2), before=("page", 0)) == [("page", 2)]


async def test_they_repeat_the_details_of_the_attempt_before() -> None:
    assert await sent(before=("page", 0)) == [("page", 0)]


async def test_an_activity_may_clear_its_details() -> None:
    assert await sent((), before=("page", 0)) == [()]


async def test_a_local_activity_has_none() -> None:
    assert await sent(is_local=True) == []
