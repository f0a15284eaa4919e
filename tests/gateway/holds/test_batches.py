"""`POST /v1/holds/batch`: each ask is answered as `POST /v1/holds` answers it."""

from typing import Any

import httpx
import pytest

from purser.gateway.access.roles import Role
from purser.wire.limits import MAX_BATCH
from tests.gateway.conftest import RunningGateway

Json = dict[str, Any]


def one(key: str, *path: str, tokens: int = 100, **more: Any) -> Json:
    """An ask."""
    return {"key": key, "path": list(path or ("session:s1",)), "tokens": tokens} | more


async def send(client: httpx.AsyncClient, *asks: Json) -> list[Json]:
    answer = await client.post("/v1/holds/batch", json={"holds": list(asks)})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["holds"])


async def held(client: httpx.AsyncClient, scope: str) -> int:
    return int((await client.get(f"/v1/budgets/{scope}")).json()["tokens"]["held"])


async def test_all_are_held_and_answered_in_the_order_of_the_request(admin: httpx.AsyncClient) -> None:
    asks = [one(f"k{number}", f"session:s{number % 3}", tokens=number + 1) for number in range(20)]
    answers = await send(admin, *asks)
    assert {answer["status"] for answer in answers} == {200}
    assert [answer["hold"]["tokens"] for answer in answers] == [ask["tokens"] for ask in asks]
    shown = [(await admin.get(f"/v1/holds/{answer['hold']['hold_id']}")).json()["key"] for answer in answers]
    assert shown == [ask["key"] for ask in asks]
    assert await held(admin, "session:s0") == sum(number + 1 for number in range(20) if number % 3 == 0)


async def test_the_first_of_several_asks_with_one_key_binds_it(admin: httpx.AsyncClient) -> None:
    for number in range(5):
        key = f"k{number}"
        answers = await send(admin, one(key), one(key, tokens=7), one(key))
        assert [answer["status"] for answer in answers] == [200, 409, 200]
        assert answers[0]["hold"]["hold_id"] == answers[2]["hold"]["hold_id"]


async def test_each_is_answered_as_alone(admin: httpx.AsyncClient) -> None:
    """Verdicts and problems of every kind, in their places, beside those that are held."""
    for session in ("batch", "alone"):
        for scope, policy in (
            ("full", {"limit_tokens": 50, "mode": "hard"}),
            ("asks", {"limit_tokens": 50, "mode": "approval"}),
            ("money", {"limit_nano_usd": 1_000_000, "mode": "hard"}),
        ):
            assert (await admin.put(f"/v1/budgets/session:{session}-{scope}", json=policy)).status_code == 200
        await admin.post("/v1/holds", json=one(f"{session}-used", f"session:{session}"))

    def asks(session: str) -> list[Json]:
        return [
            one(f"{session}-1", f"session:{session}"),
            one(f"{session}-2", f"session:{session}-full"),
            one(f"{session}-3", f"session:{session}-asks"),
            one(f"{session}-used", f"session:{session}", tokens=1),
            one(f"{session}-4", f"session:{session}-money"),
            one(f"{session}-5", "tenant:other", f"session:{session}"),
            one(f"{session}-6", f"sessions:{session}"),
            one(f"{session}-7", f"session:{session}", start=True),
        ]

    together = await send(admin, *asks("batch"))
    for answer, ask in zip(together, asks("alone"), strict=True):
        alone = await admin.post("/v1/holds", json=ask)
        assert answer["status"] == alone.status_code
        found = answer.get("hold") or answer["problem"]
        assert comparable(found, "batch") == comparable(alone.json(), "alone")
    assert [answer["status"] for answer in together] == [200, 200, 200, 409, 422, 403, 422, 200]
    verdicts = [answer["hold"]["verdict"] for answer in together if answer["status"] == 200]
    assert verdicts == ["allow", "refuse", "ask", "allow"]
    assert together[-1]["hold"]["attempt"] == 1


def comparable(body: Json, session: str) -> Json:
    """An answer without what differs between two calls: names, ids, times, figures of holds before it."""
    text = {name: value for name, value in body.items() if name in ("verdict", "state", "tokens", "attempt", "type")}
    more = {name: str(body[name]).replace(session, "") for name in ("detail", "remedy", "title") if name in body}
    if "approval_id" in body:
        more.pop("remedy")
    return text | more | {"fields": sorted(body)}


async def test_the_same_batch_again_holds_nothing_twice(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    asks = [one("a"), one("b", start=True), one("c", "session:s2")]
    first = await send(admin, *asks)
    assert await send(admin, *asks) == first
    assert (await held(admin, "session:s1"), await held(admin, "session:s2")) == (200, 100)
    assert await gateway.pool.fetchval("select count(*) from attempts") == 1


async def test_one_key_twice_in_a_batch_is_one_hold(admin: httpx.AsyncClient) -> None:
    first, again = await send(admin, one("a"), one("a"))
    assert first["hold"]["hold_id"] == again["hold"]["hold_id"]
    assert await held(admin, "session:s1") == 100


async def test_no_more_is_held_than_fits(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 250, "mode": "hard"})
    answers = await send(admin, *(one(f"k{number}") for number in range(5)))
    assert sum(answer["hold"]["hold_id"] is not None for answer in answers) == 2
    assert await held(admin, "session:s1") == 200


@pytest.mark.parametrize(
    ("holds", "place"),
    [
        ([], "holds"),
        ([one(f"k{number}") for number in range(MAX_BATCH + 1)], "holds"),
        ([one("a"), one("b", tokens=0)], "holds.1.tokens"),
        ([one("a"), {"key": "b", "tokens": 1}], "holds.1.path"),
        ([one("a", more=1)], "holds.0.more"),
    ],
)
async def test_a_body_that_is_not_valid_is_refused_as_a_whole(
    gateway: RunningGateway, admin: httpx.AsyncClient, holds: list[Json], place: str
) -> None:
    before = await gateway.rows()
    answer = await admin.post("/v1/holds/batch", json={"holds": holds})
    assert (answer.status_code, answer.json()["field"]) == (422, place)
    assert await gateway.rows() == before


async def test_it_takes_a_role_that_may_spend(gateway: RunningGateway) -> None:
    viewer = await gateway.client(Role.VIEWER)
    assert (await viewer.post("/v1/holds/batch", json={"holds": [one("a")]})).status_code == 403


async def test_a_tenant_holds_on_its_own_scopes(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    other = await gateway.client(Role.AGENT, tenant="other")
    [answer] = await send(other, one("a"))
    assert answer["hold"]["scopes"][0]["scope"] == "tenant:other"
    assert await held(admin, "session:s1") == 0


async def test_the_largest_batch_is_served(admin: httpx.AsyncClient) -> None:
    answers = await send(admin, *(one(f"k{number}", tokens=1) for number in range(MAX_BATCH)))
    assert {answer["hold"]["verdict"] for answer in answers} == {"allow"}
    assert await held(admin, "session:s1") == MAX_BATCH


class TestRate:
    """Each ask counts as one request of its key."""

    async def client(self, gateway: RunningGateway, admin: httpx.AsyncClient, per_s: int) -> httpx.AsyncClient:
        body = {"name": "slow", "role": "agent", "rate_limit_per_s": per_s}
        made = (await admin.post("/v1/keys", json=body)).json()
        return await gateway.with_secret(made["key"])

    async def test_a_batch_that_the_key_may_never_send_is_refused(
        self, gateway: RunningGateway, admin: httpx.AsyncClient
    ) -> None:
        client = await self.client(gateway, admin, 4)
        before = await gateway.rows()
        answer = await client.post("/v1/holds/batch", json={"holds": [one(f"k{number}") for number in range(5)]})
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:purser:invalid-request")
        assert "send at most 4 at once" in answer.json()["detail"]
        assert await gateway.rows() == before
