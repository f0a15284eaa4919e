"""`/metrics`: on a separate address, with bounded labels."""

import httpx
import pytest
from pydantic import SecretStr

from purser.compose.settings import Settings
from tests.gateway.conftest import RunningGateway
from tests.support.servers.clients import plain_client


async def scrape(gateway: RunningGateway) -> list[str]:
    async with plain_client() as client:
        answer = await client.get(gateway.metrics_url)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return answer.text.splitlines()


@pytest.mark.usefixtures("own_gateway")
async def test_verdicts_steps_and_requests_are_counted(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 100, "mode": "hard"})
    hold = (await admin.post("/v1/holds", json={"key": "k1", "path": ["session:s1"], "tokens": 10})).json()["hold_id"]
    await admin.post("/v1/holds", json={"key": "k2", "path": ["session:s1"], "tokens": 101})
    await admin.post(f"/v1/holds/{hold}/attempts", json={"attempt": 1})
    await admin.post(f"/v1/holds/{hold}/settle", json={"attempt": 1, "usage": {"total": 4}})
    lines = await scrape(gateway)
    assert 'purser_decisions_total{kind="session",mode="hard",reason="fits",verdict="allow"} 1.0' in lines
    assert 'purser_decisions_total{kind="session",mode="hard",reason="limit",verdict="refuse"} 1.0' in lines
    assert 'purser_hold_steps_total{step="attempted"} 1.0' in lines
    assert 'purser_hold_steps_total{step="settled"} 1.0' in lines
    assert 'purser_http_requests_total{method="POST",route="/v1/holds",status="200"} 2.0' in lines
    assert 'purser_http_requests_total{method="POST",route="/v1/holds/{hold_id}/settle",status="200"} 1.0' in lines


@pytest.mark.usefixtures("own_gateway")
async def test_ids_paths_and_methods_of_callers_never_become_labels(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    for number in range(20):
        await admin.post("/v1/holds", json={"key": f"k{number}", "path": [f"session:s{number}"], "tokens": 10})
        await admin.get(f"/v1/budgets/session:s{number}")
        await admin.get(f"/v1/made-up-{number}")
        await admin.request(f"VERB{number}", "/v1/holds")
    shown = await scrape(gateway)
    lines = [
        line for line in shown if line.startswith(("purser_http_requests", "purser_decisions", "purser_hold_steps"))
    ]
    assert len(lines) < 10
    assert 'purser_http_requests_total{method="GET",route="none",status="404"} 20.0' in lines
    assert not [line for line in shown if '"s1' in line or ":s1" in line or "made-up" in line or "VERB" in line]


async def test_the_api_itself_serves_no_metrics(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/metrics")
    assert answer.status_code != 200
    assert "purser_" not in answer.text


class TestWithAToken:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"metrics_token": SecretStr("scrape-me")})

    async def test_a_scraper_without_the_token_sees_nothing(self, gateway: RunningGateway) -> None:
        async with plain_client() as client:
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "scrape-me"}):
                refused = await client.get(gateway.metrics_url, headers=headers)
                assert refused.status_code == 401
                assert "purser_" not in refused.text.replace("urn:purser", "")
            shown = await client.get(gateway.metrics_url, headers={"authorization": "Bearer scrape-me"})
        assert shown.status_code == 200
