"""Retries of holds and reports after the price of their model has changed."""

from pathlib import Path as File
from typing import Any

import pytest

from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path
from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.budgets.holding import PATH

ASK: dict[str, Any] = {"key": "k", "path": PATH, "tokens": 1_000, "model": "priced-model"}
REPORT: dict[str, Any] = {"attempt": 1, "usage": {"input": 100, "output": 10}}


@pytest.fixture
def dearer(settings: Settings, tmp_path: File) -> Settings:
    """The same deployment, started again with a price file in which the model costs ten times as much."""
    prices = tmp_path / "prices.json"
    prices.write_text('{"priced-model": {"input_cost_per_token": 1e-05, "output_cost_per_token": 4e-05}}')
    return settings.model_copy(update={"price_file": prices})


async def sent(gateway: RunningGateway, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    """Status and body of an answer."""
    answer = await (await gateway.client(Role.ADMIN)).post(path, json=body)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("mode", ["hard", "approval"])
async def test_a_retry_of_a_hold_gets_its_answer(settings: Settings, dearer: Settings, mode: str) -> None:
    async with running_gateway(settings) as gateway:
        admin = await gateway.client(Role.ADMIN)
        await admin.put("/v1/budgets/session:s1", json={"limit_nano_usd": 5_000_000, "mode": mode})
        status, first = await sent(gateway, "/v1/holds", ASK)
        assert (status, first["nano_usd"]) == (200, 4_000_000)
    async with running_gateway(dearer) as gateway:
        status, again = await sent(gateway, "/v1/holds", ASK)
        assert (status, again["hold_id"], again["nano_usd"]) == (200, first["hold_id"], 4_000_000)
        assert again["verdict"] == first["verdict"]
        batch = (await sent(gateway, "/v1/holds/batch", {"holds": [ASK]}))[1]["holds"]
        assert [one["hold"]["hold_id"] for one in batch] == [first["hold_id"]]
        assert (await sent(gateway, "/v1/holds", ASK | {"nano_usd": 1}))[0] == 409
        assert (await sent(gateway, "/v1/holds", ASK | {"tokens": 999}))[0] == 409


async def test_a_retry_of_a_report_is_the_same_report(settings: Settings, dearer: Settings) -> None:
    async with running_gateway(settings) as gateway:
        settle = f"/v1/holds/{(await sent(gateway, '/v1/holds', ASK))[1]['hold_id']}/settle"
        status, first = await sent(gateway, settle, REPORT)
        assert (status, first["charged"]) == (200, {"tokens": 110, "nano_usd": 140_000})
    async with running_gateway(dearer) as gateway:
        assert await sent(gateway, settle, REPORT) == (200, first)
        assert await sent(gateway, settle, REPORT | {"nano_usd": 140_000}) == (200, first)
        assert (await sent(gateway, settle, REPORT | {"nano_usd": 1}))[0] == 409
        other = REPORT | {"usage": {"input": 99, "output": 11}}
        assert (await sent(gateway, settle, other))[0] == 409


async def test_a_hold_of_release_0_1_0_whose_key_is_bound_to_its_price_is_joined(gateway: RunningGateway) -> None:
    ledger = Ledger(gateway.pool, LedgerSettings())
    amount = Amount(1_000, 4_000_000)
    former = await ledger.hold("default", HoldRequest("k", Path.parse(PATH), amount, model="priced-model"))
    status, again = await sent(gateway, "/v1/holds", ASK)
    assert (status, again["hold_id"]) == (200, former.hold_id)
