"""`Idempotency-Key`: a repeated POST gets the same answer and has no effect, even after a crash."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from purser.budget.errors import KeyReused, LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.gateway.access.roles import Principal, Role
from purser.gateway.postgres import idempotency
from purser.gateway.postgres.idempotency import IdempotentAnswers, KeyedRequest
from tests.gateway.conftest import RunningGateway
from tests.support.ledger import somebody_waits
from tests.support.servers.webhooks import Receiver
from tests.support.world import eventually

ASKED = {"key": "k1", "path": ["session:s1"], "tokens": 100, "nano_usd": 0}
CALLER = Principal("key-1", "acme", "ada", Role.ADMIN)


def under(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


async def held(client: httpx.AsyncClient) -> str:
    hold_id: str = (await client.post("/v1/holds", json=ASKED)).json()["hold_id"]
    return hold_id


async def tokens_of(client: httpx.AsyncClient, hold_id: str) -> int:
    tokens: int = (await client.get(f"/v1/holds/{hold_id}")).json()["tokens"]
    return tokens


async def test_an_extension_again_under_its_key_adds_once_and_answers_the_same(agent: httpx.AsyncClient) -> None:
    hold_id = await held(agent)
    answers = [
        await agent.post(f"/v1/holds/{hold_id}/extend", json={"tokens": 50, "nano_usd": 0}, headers=under("e1"))
        for _ in range(3)
    ]
    assert len({answer.content for answer in answers}) == 1
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert await tokens_of(agent, hold_id) == 150
    await agent.post(f"/v1/holds/{hold_id}/extend", json={"tokens": 50, "nano_usd": 0}, headers=under("e2"))
    assert await tokens_of(agent, hold_id) == 200


async def test_twenty_at_once_act_once(agent: httpx.AsyncClient) -> None:
    hold_id = await held(agent)
    body = {"tokens": 50, "nano_usd": 0}
    answers = await asyncio.gather(
        *(agent.post(f"/v1/holds/{hold_id}/extend", json=body, headers=under("e1")) for _ in range(20))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert await tokens_of(agent, hold_id) == 150


async def test_the_key_with_another_body_or_at_another_place_is_409(agent: httpx.AsyncClient) -> None:
    hold_id = await held(agent)
    await agent.post(f"/v1/holds/{hold_id}/extend", json={"tokens": 50, "nano_usd": 0}, headers=under("e1"))
    other = await agent.post("/v1/holds", json=ASKED | {"key": "k2"})
    for path, tokens in ((hold_id, 51), (other.json()["hold_id"], 50)):
        answer = await agent.post(
            f"/v1/holds/{path}/extend", json={"tokens": tokens, "nano_usd": 0}, headers=under("e1")
        )
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:purser:key-reused")
    assert await tokens_of(agent, hold_id) == 150


async def test_fields_in_another_order_are_the_same_request(agent: httpx.AsyncClient) -> None:
    hold_id = await held(agent)
    for body in ('{"tokens": 50, "nano_usd": 0}', '{"nano_usd":0,"tokens":50}'):
        headers = under("e1") | {"Content-Type": "application/json"}
        assert (await agent.post(f"/v1/holds/{hold_id}/extend", content=body, headers=headers)).status_code == 200
    assert await tokens_of(agent, hold_id) == 150


async def test_an_error_is_not_stored(agent: httpx.AsyncClient) -> None:
    hold_id = await held(agent)
    body = {"tokens": 50, "nano_usd": 0}
    assert (await agent.post("/v1/holds/99999/extend", json=body, headers=under("e1"))).status_code == 404
    assert (await agent.post(f"/v1/holds/{hold_id}/extend", json=body, headers=under("e1"))).status_code == 200


async def test_an_addition_that_does_not_fit_is_decided_anew_under_its_key_and_added_once(
    admin: httpx.AsyncClient,
) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 150, "mode": "hard"})
    hold_id = await held(admin)
    other = (await admin.post("/v1/holds", json=ASKED | {"key": "k2", "tokens": 50})).json()["hold_id"]
    path, body = f"/v1/holds/{hold_id}/extend", {"tokens": 50, "nano_usd": 0}
    for _ in range(2):
        short = (await admin.post(path, json=body, headers=under("e1"))).json()
        assert (short["verdict"], short["retry_after_ms"]) == ("wait", 1_000)
    changed = await admin.post(path, json=body | {"tokens": 10}, headers=under("e1"))
    assert (changed.status_code, changed.json()["type"]) == (409, "urn:purser:key-reused")
    await admin.post(f"/v1/holds/{other}/release")
    answers = await asyncio.gather(*(admin.post(path, json=body, headers=under("e1")) for _ in range(20)))
    assert {(answer.status_code, answer.json()["verdict"]) for answer in answers} == {(200, "allow")}
    assert len({answer.content for answer in answers}) == 1
    assert await tokens_of(admin, hold_id) == 150


@pytest.mark.parametrize(
    ("body", "headers", "retryable", "remedy"),
    [
        ({"tokens": 50, "nano_usd": 0}, {}, False, "at GET /v1/holds/{hold_id}, before you send it again"),
        ({"tokens": 50, "nano_usd": 0}, under("e1"), True, "it counts once"),
        ({"lease_ms": 5_000}, {}, True, "it counts once"),
    ],
    ids=["an addition without a key", "with a key", "a lease, which is renewed the same way again"],
)
async def test_where_an_answer_is_lost_only_what_counts_once_is_to_be_sent_again(
    agent: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    body: dict[str, int],
    headers: dict[str, str],
    retryable: bool,
    remedy: str,
) -> None:
    async def unanswered(*_: object, **__: object) -> None:
        raise LedgerUnavailable("the ledger did not answer: what may have arrived counts once")

    hold_id = await held(agent)
    monkeypatch.setattr(Ledger, "extend", unanswered)
    away = await agent.post(f"/v1/holds/{hold_id}/extend", json=body, headers=headers)
    problem = away.json()
    assert (away.status_code, problem["type"], problem["retryable"]) == (
        503,
        "urn:purser:ledger-unavailable",
        retryable,
    )
    assert remedy in problem["remedy"]
    assert ("counts once" in problem["detail"], "retry-after" in away.headers) == (retryable, retryable)


async def test_a_key_of_another_caller_is_another_key(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    hold_id = await held(agent)
    other = await gateway.client(Role.AGENT, name="other")
    for client in (agent, other):
        body = {"tokens": 50, "nano_usd": 0}
        assert (await client.post(f"/v1/holds/{hold_id}/extend", json=body, headers=under("e1"))).status_code == 200
    assert await tokens_of(agent, hold_id) == 200


@pytest.mark.parametrize("key", ["", "x" * 257, "schlüssel"])
async def test_a_key_that_is_none_is_422(agent: httpx.AsyncClient, key: str) -> None:
    hold_id = await held(agent)
    headers = httpx.Headers({"Idempotency-Key": key}, encoding="utf-8")
    answer = await agent.post(f"/v1/holds/{hold_id}/extend", json={"tokens": 5, "nano_usd": 0}, headers=headers)
    assert answer.status_code == 422
    assert "Idempotency-Key" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b"not json", b"9" * 5_000, b"\xff"])
async def test_an_unreadable_body_of_an_endpoint_that_takes_none_is_422(admin: httpx.AsyncClient, body: bytes) -> None:
    headers = {"Idempotency-Key": "k1", "Content-Type": "application/json"}
    answer = await admin.post("/v1/sign-in-links", content=body, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:purser:invalid-request")


async def test_a_made_key_is_made_once_and_its_secret_is_nowhere(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    made, *again = await asyncio.gather(
        *(admin.post("/v1/keys", json={"name": "n", "role": "viewer"}, headers=under("n1")) for _ in range(4))
    )
    first = next(answer for answer in (made, *again) if answer.status_code == 201)
    rest = [answer for answer in (made, *again) if answer is not first]
    assert {(answer.status_code, answer.json()["type"]) for answer in rest} == {(409, "urn:purser:already-made")}
    assert all(first.json()["key_id"] in answer.json()["detail"] for answer in rest)
    names = [key["name"] for key in (await admin.get("/v1/keys")).json()["items"]]
    assert names.count("n") == 1
    stored = await gateway.pool.fetchval("select answer from answers")
    assert stored["key_id"] == first.json()["key_id"]
    assert first.json()["key"] not in str(await gateway.pool.fetch("select * from answers"))


async def test_a_sign_in_link_is_made_once_and_its_token_is_nowhere(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    first, again = [await admin.post("/v1/sign-in-links", headers=under("l1")) for _ in range(2)]
    assert (first.status_code, again.status_code, again.json()["type"]) == (201, 409, "urn:purser:already-made")
    assert first.json()["token"] not in str(await gateway.pool.fetch("select * from answers"))


async def test_the_secrets_of_a_webhook_are_shown_once_and_are_nowhere(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    wanted = {"url": receiver.url, "kinds": ["task"]}
    made, again = [await admin.post("/v1/webhooks", json=wanted, headers=under("w1")) for _ in range(2)]
    assert (made.status_code, again.status_code, again.json()["type"]) == (201, 409, "urn:purser:already-made")
    path = f"/v1/webhooks/{made.json()['webhook_id']}/secret"
    turned, again = [await admin.post(path, headers=under("w2")) for _ in range(2)]
    assert (turned.is_success, again.status_code, again.json()["type"]) == (True, 409, "urn:purser:already-made")
    stored = str(await gateway.pool.fetch("select * from answers"))
    assert made.json()["webhook_id"] in stored
    assert [answer.json()["secret"] in stored for answer in (made, turned)] == [False, False]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/holds", ASKED),
        ("/v1/holds/{hold_id}/attempts", {"attempt": 1}),
        ("/v1/holds/{hold_id}/settle", {"attempt": 1, "usage": {"total": 5}, "nano_usd": 0}),
        ("/v1/holds/{hold_id}/release", None),
        ("/v1/sessions/s1/messages", {"messages": [{"role": "user", "content": "hi"}], "key": "m1"}),
    ],
)
async def test_posts_with_a_name_of_their_own_change_nothing_when_they_come_again(
    gateway: RunningGateway, agent: httpx.AsyncClient, path: str, body: Any
) -> None:
    hold_id = await held(agent)

    async def post() -> httpx.Response:
        return await agent.post(path.format(hold_id=hold_id), json=body, timeout=60)  # the first counting loads much

    first = await asyncio.gather(*(post() for _ in range(5)))
    rows = await gateway.rows()
    again = await post()
    assert {answer.status_code for answer in (*first, again)} == {200}
    assert len({answer.content for answer in (*first, again)}) == 1
    assert await gateway.rows() == rows


async def test_a_crash_before_the_end_leaves_neither_the_change_nor_its_answer(pool: Pool) -> None:
    answers = IdempotentAnswers(pool)
    ask = KeyedRequest(CALLER, "k", b"payload")
    await pool.execute("create table made (n integer)")

    async def act() -> None:
        async with answers.claim(ask) as claim:
            await claim.connection.execute("insert into made values (1)")
            await claim.store({"n": 1})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await act()
    assert await pool.fetchval("select count(*) from made") == 0
    assert await answers.find(ask) is None
    async with answers.claim(ask) as claim:
        assert claim.answer is None


async def test_a_second_waits_for_the_first_and_gets_its_answer(pool: Pool) -> None:
    answers = IdempotentAnswers(pool)
    ask = KeyedRequest(CALLER, "k", b"payload")
    order: list[str] = []

    async def second() -> None:
        async with answers.claim(ask) as claim:
            order.append(f"second saw {claim.answer}")

    async with answers.claim(ask) as claim:
        waiting = asyncio.create_task(second())
        await eventually(lambda: somebody_waits(pool))
        order.append("first")
        await claim.store({"n": 1})
    await waiting
    assert order == ["first", "second saw {'n': 1}"]


async def test_a_day_later_a_key_is_free_again(pool: Pool) -> None:
    answers = IdempotentAnswers(pool)
    ask, other = KeyedRequest(CALLER, "k", b"payload"), KeyedRequest(CALLER, "k", b"other")
    async with answers.claim(ask) as claim:
        await claim.store({"n": 1})
    with pytest.raises(KeyReused):
        await answers.find(other)
    assert await answers.sweep() == 0
    await pool.execute("update answers set created_at = created_at - $1::interval", timedelta(hours=24, seconds=1))
    async with answers.claim(other) as claim:
        assert claim.answer is None
        await claim.store({"n": 2})
    assert await answers.find(other) == {"n": 2}
    await pool.execute("update answers set created_at = created_at - $1::interval", timedelta(hours=24, seconds=1))
    assert await answers.find(other) is None
    assert await answers.sweep() == 1


async def test_sweeps_in_parts_delete_every_old_answer(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "BATCH", 2)
    answers = IdempotentAnswers(pool)
    for name in ("a", "b", "c"):
        await answers.store(KeyedRequest(CALLER, name, b"payload"), {"n": 1})
    await pool.execute("update answers set created_at = created_at - $1::interval", timedelta(hours=24, seconds=1))
    assert [await answers.sweep() for _ in range(3)] == [2, 1, 0]


async def test_an_answer_that_is_remembered_afterwards_stays_the_first_one(pool: Pool) -> None:
    answers, ask = IdempotentAnswers(pool), KeyedRequest(CALLER, "k", b"payload")
    await asyncio.gather(*(answers.store(ask, {"n": number}) for number in range(5)))
    first = await answers.find(ask)
    await answers.store(ask, {"n": 9})
    assert await answers.find(ask) == first
