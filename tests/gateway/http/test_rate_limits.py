"""Rate limits of keys and of unauthenticated addresses."""

import asyncio

import httpx
import pytest

from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"rate_limit_per_s": 3, "sign_in_failures_per_min": 4, "open_requests_per_s": 15})


async def codes(client: httpx.AsyncClient, count: int, path: str = "/v1/keys") -> list[int]:
    answers = await asyncio.gather(*(client.get(path) for _ in range(count)))
    return sorted(answer.status_code for answer in answers)


async def test_a_key_that_calls_too_often_gets_the_time_to_wait(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    answers = await asyncio.gather(*(admin.get("/v1/keys") for _ in range(30)))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) >= 10
    problem = refused[0].json()
    assert (problem["type"], problem["retryable"]) == ("urn:purser:too-many-requests", True)
    assert problem["remedy"]
    assert int(refused[0].headers["retry-after"]) == -(-problem["retry_after_ms"] // 1_000) >= 1
    async with asyncio.timeout(30):
        while (answer := await admin.get("/v1/keys")).status_code == 429:
            await asyncio.sleep(answer.json()["retry_after_ms"] / 1_000)
    assert answer.status_code == 200


async def test_each_key_has_its_own_count_and_may_have_its_own_limit(gateway: RunningGateway) -> None:
    admin, other = await gateway.client(Role.ADMIN, name="ada"), await gateway.client(Role.ADMIN, name="ben")
    made = (await admin.post("/v1/keys", json={"name": "bulk", "role": "admin", "rate_limit_per_s": 1_000})).json()
    assert made["rate_limit_per_s"] == 1_000
    bulk = await gateway.with_secret(made["key"])
    assert 429 in await codes(admin, 30)
    assert await codes(bulk, 30) == [200] * 30
    assert await codes(other, 1) == [200]


async def test_requests_without_a_key_are_limited_and_health_is_not(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    anonymous = await gateway.with_secret(None)
    async with asyncio.timeout(60):
        while 429 not in await codes(anonymous, 30):  # unless they took longer than a second
            pass
    for client in (anonymous, admin):
        assert await codes(client, 30, "/healthz") == [200] * 30


async def test_guesses_are_limited_by_address_and_good_keys_still_open(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    stranger = await gateway.with_secret("purser_guess")
    assert await codes(stranger, 7) == [401] * 4 + [429] * 3
    browser = await gateway.with_secret(None)
    for body in ({"key": "purser_guess"}, {"token": "guess"}):
        async with asyncio.timeout(60):
            while (answer := await browser.post("/sign-in", json=body)).status_code == 401:
                pass  # one guess is free again after fifteen seconds
        assert (answer.status_code, answer.json()["type"]) == (429, "urn:purser:too-many-requests")
        assert answer.headers["retry-after"]
    key = admin.headers["authorization"].removeprefix("Bearer ")
    assert (await browser.post("/sign-in", json={"key": key})).status_code == 200
    assert await codes(admin, 1) == [200]
    assert await codes(await gateway.with_secret(None), 6) == [401] * 6, "no key is no guess"
