"""`/v1/budgets`: field by field."""

from typing import Any

import httpx

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway

UNUSED = {
    "scope": "session:s1",
    "mode": "soft",
    "window": "lifetime",
    "timezone": "UTC",
    "window_start": None,
    "window_end": None,
    "limit_tokens": 200_000,
    "limit_nano_usd": None,
    "tokens": {"spent": 0, "held": 0, "granted": 0, "overrun": 0, "headroom": 200_000},
    "nano_usd": {"spent": 0, "held": 0, "granted": 0, "overrun": 0, "headroom": None},
    "ratio": 0.0,
    "pressure": "low",
    "frozen": False,
}


async def test_an_unused_scope_shows_its_default_policy_and_zeros_and_is_not_stored(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    before = await gateway.rows()
    answer = await admin.get("/v1/budgets/session:s1")
    assert answer.status_code == 200
    assert _part(answer) == UNUSED
    assert set(answer.json()["sources"].values()) == {"default"}
    assert await gateway.rows() == before


async def test_a_change_is_merged_and_null_hands_a_field_back(admin: httpx.AsyncClient) -> None:
    policy = {"limit_tokens": 1_000, "mode": "hard", "window": "day", "timezone": "Europe/Berlin"}
    first = (await admin.put("/v1/budgets/session:s1", json=policy)).json()
    assert {name: first[name] for name in policy} == policy
    assert first["window_start"] < first["window_end"]
    second = (await admin.put("/v1/budgets/session:s1", json={"limit_nano_usd": 50, "mode": None})).json()
    assert (second["limit_tokens"], second["limit_nano_usd"], second["mode"]) == (1_000, 50, "soft")
    assert (second["sources"]["limit_tokens"], second["sources"]["mode"]) == ("stored", "default")
    shown = (await admin.get("/v1/budgets/session:s1")).json()
    assert (shown.pop("forecast")["basis"], second.pop("forecast")["basis"]) == ("too_short", "too_short")
    assert shown == second


async def test_every_field_of_a_policy_can_be_set(admin: httpx.AsyncClient) -> None:
    approval = {
        "roles": ["admin"],
        "not_submitter": True,
        "two_people_above_tokens": 10,
        "two_people_above_nano_usd": 1_000,
        "deadline_s": 60,
        "on_expiry": "grant",
        "remind_s": 20,
        "escalate_s": 10,
    }
    body = {"warn_at": [0.5, "0.9"], "backpressure": [[0.5, 10]], "approval": approval, "frozen": True}
    shown = (await admin.put("/v1/budgets/user:u1", json=body)).json()
    assert (shown["warn_at"], shown["backpressure"]) == ([0.5, 0.9], [[0.5, 10]])
    assert (shown["approval"], shown["frozen"]) == (approval, True)


async def test_a_change_acts_on_the_next_hold(admin: httpx.AsyncClient) -> None:
    async def verdict(key: str) -> str:
        body = {"key": key, "path": ["session:s1"], "tokens": 100}
        return str((await admin.post("/v1/holds", json=body)).json()["verdict"])

    assert await verdict("k1") == "allow"
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 150, "mode": "hard"})
    assert await verdict("k2") == "wait"
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 200})
    assert await verdict("k2") == "warn"
    await admin.put("/v1/budgets/session:s1", json={"frozen": True, "limit_tokens": 10**6})
    assert await verdict("k3") == "refuse"


async def test_held_and_spent_are_shown(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 1_000, "limit_nano_usd": 100})
    for key in ("k1", "k2"):
        body = {"key": key, "path": ["session:s1"], "tokens": 400, "nano_usd": 40}
        hold = (await admin.post("/v1/holds", json=body)).json()["hold_id"]
    report = {"attempt": 1, "usage": {"total": 450}, "nano_usd": 10}
    await admin.post(f"/v1/holds/{hold}/settle", json=report)
    shown = (await admin.get("/v1/budgets/session:s1")).json()
    assert shown["tokens"] == {"spent": 450, "held": 400, "granted": 0, "overrun": 50, "headroom": 150}
    assert shown["nano_usd"] == {"spent": 10, "held": 40, "granted": 0, "overrun": 0, "headroom": 50}
    assert (shown["ratio"], shown["pressure"]) == (0.85, "high")


async def test_an_agent_of_a_task_is_a_scope_with_a_slash(admin: httpx.AsyncClient) -> None:
    for path in ("agent:t1/a1", "agent:t1%2Fa1"):
        assert (await admin.get(f"/v1/budgets/{path}")).json()["scope"] == "agent:t1/a1"


async def test_budgets_are_listed_by_ratio_and_kind_in_pages(admin: httpx.AsyncClient) -> None:
    for number in range(5):
        await admin.put(f"/v1/budgets/session:s{number}", json={"limit_tokens": 100})
        body = {"key": f"k{number}", "path": [f"session:s{number}", f"task:t{number}"], "tokens": number * 20 + 15}
        await admin.post("/v1/holds", json=body)
    assert await _scopes(admin, over="0.95", kind="session") == [["session:s4"]]
    assert await _scopes(admin, over="0.75") == [["session:s3", "session:s4"]]
    assert await _scopes(admin, kind="task", limit=2) == [["task:t0", "task:t1"], ["task:t2", "task:t3"], ["task:t4"]]


async def test_tenants_have_budgets_of_their_own(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 5})
    stranger = await gateway.client(Role.ADMIN, tenant="other")
    assert _part(await stranger.get("/v1/budgets/session:s1")) == UNUSED
    assert (await stranger.get("/v1/budgets")).json() == {"items": [], "cursor": None}
    for request in (stranger.get("/v1/budgets/tenant:default"), stranger.put("/v1/budgets/tenant:default", json={})):
        assert (await request).status_code == 403


async def _scopes(client: httpx.AsyncClient, **query: Any) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        page = (await client.get("/v1/budgets", params=query | ({"cursor": cursor} if cursor else {}))).json()
        pages.append([item["scope"] for item in page["items"]])
        cursor = page["cursor"]
        if cursor is None:
            return pages


def _part(answer: httpx.Response) -> dict[str, Any]:
    return {name: answer.json()[name] for name in UNUSED}
