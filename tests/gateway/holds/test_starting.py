"""`POST /v1/holds` with `start`: a call in two requests."""

from typing import Any

import httpx
import pytest

from tests.gateway.conftest import RunningGateway

BODY = {"key": "k1", "path": ["session:s1"], "tokens": 1_000, "start": True}
ATTEMPTS = "select hold_id::text, attempt, state from attempts"


async def attempts(gateway: RunningGateway) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await gateway.pool.fetch(ATTEMPTS)]


async def test_a_call_takes_two_requests(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    held = (await agent.post("/v1/holds", json=BODY)).json()
    assert (held["verdict"], held["state"], held["attempt"]) == ("allow", "held", 1)
    assert await attempts(gateway) == [(held["hold_id"], 1, "started")]
    report = {"attempt": 1, "usage": {"total": 700}}
    settled = (await agent.post(f"/v1/holds/{held['hold_id']}/settle", json=report)).json()
    assert (settled["state"], settled["charged"]["tokens"], settled["late"]) == ("settled", 700, False)


async def test_the_same_request_again_starts_nothing_twice(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    first = await agent.post("/v1/holds", json=BODY)
    again = await agent.post("/v1/holds", json=BODY)
    assert again.json() == first.json()
    assert len(await attempts(gateway)) == 1
    by_hand = await agent.post(f"/v1/holds/{first.json()['hold_id']}/attempts", json={"attempt": 1})
    assert (by_hand.status_code, by_hand.json()["expires_at"]) == (200, first.json()["expires_at"])


async def test_start_can_be_added_to_a_request_that_is_sent_again(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    held = (await agent.post("/v1/holds", json=BODY | {"start": False})).json()
    assert "attempt" not in held
    assert await attempts(gateway) == []
    assert (await agent.post("/v1/holds", json=BODY)).json()["attempt"] == 1


@pytest.mark.parametrize(
    ("mode", "tokens", "verdict"), [("hard", 1_001, "refuse"), ("approval", 1_001, "ask"), ("hard", 600, "wait")]
)
async def test_what_is_not_admitted_starts_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient, mode: str, tokens: int, verdict: str
) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 1_000, "mode": mode})
    await admin.post("/v1/holds", json={"key": "open", "path": ["session:s1"], "tokens": 500})
    answer = (await admin.post("/v1/holds", json=BODY | {"tokens": tokens})).json()
    assert answer["verdict"] == verdict
    assert "attempt" not in answer
    assert await attempts(gateway) == []


async def test_an_approved_ask_starts_when_it_is_sent_again(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 500, "mode": "approval"})
    asked = (await admin.post("/v1/holds", json=BODY)).json()
    decision = {"decision_id": "d1", "decision": "approve", "grant_tokens": 500}
    await admin.post(f"/v1/approvals/{asked['approval_id']}/decision", json=decision)
    held = (await admin.post("/v1/holds", json=BODY)).json()
    assert (held["hold_id"] is not None, held["attempt"]) == (True, 1)
    assert await attempts(gateway) == [(held["hold_id"], 1, "started")]


async def test_a_hold_that_has_ended_is_a_conflict(agent: httpx.AsyncClient) -> None:
    held = (await agent.post("/v1/holds", json=BODY)).json()
    await agent.post(f"/v1/holds/{held['hold_id']}/settle", json={"attempt": 1, "usage": {"total": 1}})
    again = await agent.post("/v1/holds", json=BODY)
    assert (again.status_code, again.json()["type"], again.json()["state"]) == (
        409,
        "urn:purser:hold-closed",
        "settled",
    )
    assert (await agent.post("/v1/holds", json=BODY | {"start": False})).json()["state"] == "settled"


async def test_an_attempt_that_is_over_is_a_conflict(agent: httpx.AsyncClient) -> None:
    held = (await agent.post("/v1/holds", json=BODY)).json()
    await agent.post(f"/v1/holds/{held['hold_id']}/attempts", json={"attempt": 2})
    again = await agent.post("/v1/holds", json=BODY)
    assert (again.status_code, again.json()["type"]) == (409, "urn:purser:conflict")


async def test_a_started_call_that_never_reports_is_charged_its_estimate(agent: httpx.AsyncClient) -> None:
    held = (await agent.post("/v1/holds", json=BODY)).json()
    released = (await agent.post(f"/v1/holds/{held['hold_id']}/release")).json()
    assert released["charged"]["tokens"] == 1_000
