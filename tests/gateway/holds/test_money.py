"""Money of holds over HTTP."""

import httpx

from tests.gateway.conftest import RunningGateway
from tests.support.budgets.holding import PATH, ask, limit


class TestMoney:
    async def test_tokens_are_priced_by_the_model_at_the_dearest(self, admin: httpx.AsyncClient) -> None:
        await limit(admin, "session:s1", limit_nano_usd=10_000_000)
        answer = await ask(admin, model="priced-model")
        assert answer["nano_usd"] == 1_000 * 4_000
        report = {"attempt": 1, "usage": {"input": 100, "output": 10}}
        settled = await admin.post(f"/v1/holds/{answer['hold_id']}/settle", json=report)
        assert settled.json()["charged"] == {"tokens": 110, "nano_usd": 100 * 1_000 + 10 * 4_000}

    async def test_a_path_with_a_money_limit_needs_money_or_a_model(
        self, gateway: RunningGateway, admin: httpx.AsyncClient
    ) -> None:
        await limit(admin, "session:s1", limit_nano_usd=10_000_000)
        before = await gateway.rows()
        answer = await admin.post("/v1/holds", json={"key": "k", "path": PATH, "tokens": 5})
        assert answer.status_code == 422
        problem = answer.json()
        assert (problem["type"], problem["scope"], problem["limit"]) == (
            "urn:purser:money-needed",
            "session:s1",
            10_000_000,
        )
        assert (problem["spent"], problem["held"]) == (0, 0)
        assert "nano_usd" in problem["detail"]
        assert await gateway.rows() == before

    async def test_a_model_without_a_price_is_an_error_only_where_money_is_limited(
        self, admin: httpx.AsyncClient
    ) -> None:
        assert (await ask(admin, "free", model="nobody-knows-me"))["verdict"] == "allow"
        await limit(admin, "session:s1", limit_nano_usd=10_000_000)
        body = {"key": "k", "path": PATH, "tokens": 5, "model": "nobody-knows-me"}
        answer = await admin.post("/v1/holds", json=body)
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:purser:unknown-price")
        assert (await admin.post("/v1/holds", json=body | {"nano_usd": 1})).status_code == 200

    async def test_an_addition_needs_money_or_a_model_where_money_is_limited(
        self, gateway: RunningGateway, admin: httpx.AsyncClient
    ) -> None:
        ids = {key: (await ask(admin, key, model=model))["hold_id"] for key, model in (("k1", None), ("k2", "unheard"))}
        await limit(admin, "session:s1", limit_nano_usd=10_000_000)
        before = await gateway.rows()
        for hold_id, kind in ((ids["k1"], "money-needed"), (ids["k2"], "unknown-price")):
            answer = await admin.post(f"/v1/holds/{hold_id}/extend", json={"tokens": 5})
            problem = answer.json()
            assert (answer.status_code, problem["type"], problem["scope"], problem["limit"]) == (
                422,
                f"urn:purser:{kind}",
                "session:s1",
                10_000_000,
            )
        assert await gateway.rows() == before
        stated = await admin.post(f"/v1/holds/{ids['k1']}/extend", json={"tokens": 5, "nano_usd": 0})
        assert (stated.json()["verdict"], stated.json()["tokens"]) == ("allow", 1_005)

    async def test_zero_is_a_statement_and_needs_no_price(self, admin: httpx.AsyncClient) -> None:
        await limit(admin, "session:s1", limit_nano_usd=10_000_000)
        answer = await ask(admin, nano_usd=0)
        assert (answer["verdict"], answer["nano_usd"]) == ("allow", 0)
        report = {"attempt": 1, "usage": {"total": 5}}
        refused = await admin.post(f"/v1/holds/{answer['hold_id']}/settle", json=report)
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:purser:money-needed")
        settled = await admin.post(f"/v1/holds/{answer['hold_id']}/settle", json=report | {"nano_usd": 0})
        assert settled.json()["charged"] == {"tokens": 5, "nano_usd": 0}

    async def test_a_limit_on_money_alone_refuses(self, admin: httpx.AsyncClient) -> None:
        await limit(admin, "session:s1", limit_nano_usd=100, mode="hard")
        assert (await ask(admin, "equal", nano_usd=100))["verdict"] == "warn"
        assert (await ask(admin, "over", nano_usd=1))["verdict"] == "wait"
