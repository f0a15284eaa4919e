"""`/v1/sessions`: pins, and the settings of users and sessions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from purser.context.tokens import count_message
from tests.gateway.conftest import RunningGateway
from tests.support.context.session_requests import S1, TALK, append, problem

# --- pins ------------------------------------------------------------------------------------------------------------


async def test_a_message_is_pinned_by_the_name_of_the_key_until_a_time(agent: httpx.AsyncClient) -> None:
    await append(agent, *TALK)
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = (await agent.put(f"{S1}/pins/3", json={"reason": "the address", "until": until})).json()
    assert (made["seq"], made["author"], made["reason"]) == (3, "backend", "the address")
    assert datetime.fromisoformat(made["until"]) == datetime.fromisoformat(until)
    assert (await agent.get(f"{S1}/messages")).json()["messages"][2]["pinned"]
    pins = (await agent.get(f"{S1}/pins")).json()
    assert (pins["pins"], pins["budget"]) == ([made], 8_000)
    assert pins["tokens"] == count_message(TALK[2], "gpt-4o").tokens
    for _ in range(2):
        assert (await agent.delete(f"{S1}/pins/3")).json() == {"seq": 3, "pinned": False}
    assert (await agent.get(f"{S1}/pins")).json()["pins"] == []


async def test_a_pin_that_cannot_be_is_refused_by_name(agent: httpx.AsyncClient) -> None:
    await append(agent, *TALK)
    problem(await agent.put(f"{S1}/pins/7"), 404, "not-found", "message 7")
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    for body, named in (
        ({"until": past}, "until"),
        ({"until": "soon"}, "until"),
        ({"until": "9999-12-31T23:59:59.999999Z"}, "until"),
        ({"reason": 5}, "reason"),
        ({"x": 1}, "x"),
    ):
        problem(await agent.put(f"{S1}/pins/3", json=body), 422, "invalid-request", named)
    for seq in ("0", "-1", "x", str(2**53)):
        problem(await agent.put(f"{S1}/pins/{seq}"), 422, "invalid-request", "seq")


async def test_too_many_pins_are_a_conflict_with_figures(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    long = {"role": "user", "content": "word " * 5_000}
    await append(agent, long, long)
    assert (await agent.put(f"{S1}/pins/1")).status_code == 200
    found = problem(await agent.put(f"{S1}/pins/2"), 409, "pins-too-large", "8000")
    assert (found["limit"], found["requested"]) == (8_000, 2 * count_message(long, "gpt-4o").tokens)
    before = await gateway.rows()
    answer = await agent.post(f"{S1}/messages", json=[long | {"pinned": True}])
    problem(answer, 409, "pins-too-large")
    assert await gateway.rows() == before


# --- personal settings -----------------------------------------------------------------------------------------------


async def test_settings_of_user_and_session_are_stored_in_versions(
    agent: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    await append(agent, TALK[0], user_id="ana")
    first = (await agent.put("/v1/users/ana/settings", json={"language": "German", "tone": "brief"})).json()
    assert (first["fields"], first["version"], first["changed_by"]) == (
        {"language": "German", "tone": "brief"},
        1,
        "backend",
    )
    assert (await agent.get("/v1/users/ana/settings")).json() == first
    own = (await agent.put(f"{S1}/settings", json={"tone": "kind"})).json()
    assert (await agent.get(f"{S1}/settings")).json() == own
    shown = (await agent.get(f"{S1}/window", params={"budget": 500})).json()
    assert shown["messages"][0]["role"] == "user"
    assert shown["messages"][0]["content"].splitlines()[1:] == ["- language: German", "- tone: kind"]
    assert (shown["seqs"], shown["indexes"]) == ([None, 1], [None, 0])
    deleted = (await admin.delete("/v1/users/ana/settings")).json()
    assert (deleted["fields"], deleted["version"], deleted["changed_by"]) == ({}, 2, "ada")
    shown = (await agent.get(f"{S1}/window", params={"budget": 500})).json()
    assert shown["messages"][0]["content"].splitlines()[1:] == ["- tone: kind"]


async def test_bad_settings_name_their_field(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    bad: list[tuple[Any, str]] = [
        ([], "body"),
        ({"a\nb": "x"}, "a\\nb"),
        ({"tone": "x" * 9_000}, "8000"),
        ({"tone": "a\0"}, "tone is not valid: text must not contain NUL"),
    ]
    for path in ("/v1/users/ana/settings", f"{S1}/settings"):
        for body, named in bad:
            problem(await agent.put(path, json=body), 422, "invalid-request", named)
    problem(await agent.put("/v1/users/a%20b/settings", json={}), 422, "invalid-request", "user_id")
    assert await gateway.rows() == before
