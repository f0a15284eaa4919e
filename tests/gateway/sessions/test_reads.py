"""The limit on requests at a time that read conversations."""

import asyncio
from contextlib import suppress
from typing import Any

import httpx
import pytest

from purser.compose.settings import Settings
from purser.context.postgres.sessions.sessions import Session, Sessions
from purser.gateway.access.roles import Principal, Role
from purser.gateway.errors import TooManyRequests
from purser.gateway.http import limits as limits_module
from purser.gateway.http.limits import Limits
from tests.gateway.conftest import RunningGateway
from tests.support.context.session_requests import S1


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"session_reads_per_key": 1, "session_reads_per_tenant": 2})


def caller(key_id: str, tenant: str = "ta") -> Principal:
    return Principal(key_id, key_id, tenant, Role.VIEWER)


async def test_keys_and_tenants_have_so_many_at_a_time_and_others_wait_for_them() -> None:
    limits = Limits(0, 0, session_reads_per_key=2, session_reads_per_tenant=3)
    reading: list[str] = []
    end = asyncio.Event()

    async def read(key_id: str, tenant: str) -> None:
        async with limits.session_read(caller(key_id, tenant)):
            reading.append(key_id)
            await end.wait()

    wanted = [("a", "ta")] * 4 + [("b", "ta")] * 2 + [("c", "tb")]
    requests = [asyncio.create_task(read(*one)) for one in wanted]
    for _ in range(20):
        await asyncio.sleep(0)
    assert sorted(reading) == ["a", "a", "b", "c"]
    end.set()
    await asyncio.gather(*requests)
    assert len(reading) == len(wanted)
    del requests
    assert not limits._readers, "nothing remains of requests that have ended"


async def test_a_request_that_would_wait_long_is_refused_and_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "SESSION_READ_WAIT_S", 0)
    limits = Limits(0, 0, session_reads_per_key=1, session_reads_per_tenant=2)
    async with limits.session_read(caller("a")):
        with pytest.raises(TooManyRequests, match="this key has 1 requests in progress that read sessions"):
            async with limits.session_read(caller("a")):
                pass
        async with limits.session_read(caller("b")):
            with pytest.raises(TooManyRequests, match="this tenant has 2"):
                async with limits.session_read(caller("c")):
                    pass
    for _ in range(3):
        with suppress(KeyError):
            async with limits.session_read(caller("a")):
                raise KeyError


async def test_endpoints_that_read_conversations_are_limited_and_others_are_not(
    gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, most = 0, 0
    get = Sessions.get

    async def counted(self: Sessions, *args: Any) -> Session:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        try:
            await asyncio.sleep(0.02)
            return await get(self, *args)
        finally:
            reading -= 1

    monkeypatch.setattr(Sessions, "get", counted)
    client = await gateway.client()

    async def at_a_time(method: str, path: str, body: object = None) -> int:
        """How many of eight requests are read for at the same time."""
        nonlocal most
        most = 0
        answers = await asyncio.gather(*(client.request(method, f"{S1}/{path}", json=body) for _ in range(8)))
        assert {answer.status_code for answer in answers} == {httpx.codes.NOT_FOUND}, answers[0].text
        return most

    reads = ("window", "window/compare?budget=20000", "facts", "messages", "messages/1/explain", "memory?q=who")
    assert {path: await at_a_time("GET", path) for path in reads} == dict.fromkeys(reads, 1)
    assert await at_a_time("POST", "recommend", {"max_tokens": 2_000}) == 1
    assert await at_a_time("POST", "tool-safety", {"max_tokens": 2_000, "tools": 1}) == 1
    assert await at_a_time("GET", "settings") > 1
