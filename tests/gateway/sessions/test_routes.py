"""`/v1/sessions`: messages are appended, listed, pinned and deleted, and personal settings are stored."""

import asyncio
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from purser.context.postgres.sessions import payers
from purser.context.tokens import count_message
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway
from tests.support.context.conversations import calling, result
from tests.support.context.session_requests import S1, TALK, append, problem

# --- append and read -------------------------------------------------------------------------------------------------


async def test_what_is_appended_comes_back_with_numbers_and_counts(agent: httpx.AsyncClient) -> None:
    made = await append(agent, *TALK)
    tokens = [count_message(message, "gpt-4o").tokens for message in TALK]
    assert made == {"session_id": "s1", "seqs": [1, 2, 3, 4, 5, 6], "tokens": sum(tokens), "warnings": []}
    page = (await agent.get(f"{S1}/messages")).json()
    assert [one["message"] for one in page["messages"]] == TALK
    assert [one["tokens"] for one in page["messages"]] == tokens
    assert [(one["seq"], one["thread"], one["pinned"]) for one in page["messages"]][:2] == [
        (1, "", False),
        (2, "", False),
    ]
    assert page["next"] is None


async def test_a_list_goes_on_where_the_last_page_ended(agent: httpx.AsyncClient) -> None:
    await append(agent, *TALK)
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        page = (await agent.get(f"{S1}/messages", params={"after": after, "limit": 2})).json()
        seen += [one["seq"] for one in page["messages"]]
        after = page["next"]
    assert seen == [1, 2, 3, 4, 5, 6]


async def test_sessions_are_listed_newest_first_also_those_of_one_user(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    for session_id, user_id in (("s1", "ana"), ("s2", "ben"), ("s3", "ana"), ("s4", None)):
        body = {"messages": TALK[:2], "user_id": user_id}
        (await agent.post(f"/v1/sessions/{session_id}/messages", json=body)).raise_for_status()
    admin = await gateway.client(Role.ADMIN)
    (await admin.delete("/v1/sessions/s4")).raise_for_status()

    async def pages(**query: str) -> list[list[str]]:
        """Ids of sessions, page by page."""
        page = (await agent.get("/v1/sessions", params={"limit": "1", **query})).json()
        ids = [one["session_id"] for one in page["items"]]
        return [ids, *(await pages(**query | {"cursor": page["cursor"]}) if page["cursor"] else [])]

    assert await pages() == [["s3"], ["s2"], ["s1"], []]
    assert await pages(user_id="ana") == [["s3"], ["s1"], []]
    assert await pages(user_id="an") == [[]]
    [one] = (await agent.get("/v1/sessions?user_id=ben")).json()["items"]
    figures = {"session_id": "s2", "user_id": "ben", "messages": 2, "summaries": 0, "saved_tokens": 0, "pins": 0}
    assert one == figures | {name: one[name] for name in ("created_at", "active_on")}
    assert (await agent.get("/v1/sessions?cursor=dDE")).status_code == 422


async def test_a_bare_array_is_taken_too(agent: httpx.AsyncClient) -> None:
    answer = await agent.post(f"{S1}/messages", json=TALK[:2])
    assert answer.json()["seqs"] == [1, 2]


@pytest.mark.parametrize("where", ["body", "header"])
async def test_the_same_key_adds_once_and_is_bound_to_its_messages(agent: httpx.AsyncClient, where: str) -> None:
    def body(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if where == "header":
            return {"json": messages, "headers": {"Idempotency-Key": "k1"}}
        return {"json": {"messages": messages, "key": "k1"}}

    answers = await asyncio.gather(*(agent.post(f"{S1}/messages", **body(TALK[:2])) for _ in range(5)))
    assert {answer.text for answer in answers} == {answers[0].text}
    problem(await agent.post(f"{S1}/messages", **body(TALK[1:3])), 409, "key-reused", "k1")
    assert len((await agent.get(f"{S1}/messages")).json()["messages"]) == 2


async def test_two_keys_for_one_append_must_agree(agent: httpx.AsyncClient) -> None:
    body = {"messages": TALK[:1], "key": "k1"}
    for key, status in (("k1", 200), ("k2", 422)):
        answer = await agent.post(f"{S1}/messages", json=body, headers={"Idempotency-Key": key})
        assert answer.status_code == status


async def test_of_two_imports_at_once_under_one_key_the_accepted_one_is_stored_and_can_be_repeated(
    agent: httpx.AsyncClient,
) -> None:
    lines = [{"role": "user", "content": f"Message {number}."} for number in range(302)]
    bodies = [{"key": "import-s1", "messages": lines[:count]} for count in (300, 302)]
    answers = await asyncio.gather(*(agent.post(f"{S1}/messages", json=body) for body in bodies))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    for body, answer in zip(bodies, answers, strict=True):
        again = await agent.post(f"{S1}/messages", json=body)
        assert again.status_code == answer.status_code
        if answer.status_code == 200:
            assert again.json()["seqs"] == list(range(1, len(body["messages"]) + 1))
    [accepted] = [len(answer.json()["seqs"]) for answer in answers if answer.status_code == 200]
    stored = (await agent.get(f"{S1}/messages", params={"limit": 500})).json()["messages"]
    assert len(stored) == accepted


async def test_appends_at_once_keep_their_order_and_lose_nothing(agent: httpx.AsyncClient) -> None:
    made = await asyncio.gather(*(append(agent, *TALK[:3]) for _ in range(20)))
    assert sorted(seq for one in made for seq in one["seqs"]) == list(range(1, 61))
    assert all(one["seqs"] == list(range(one["seqs"][0], one["seqs"][0] + 3)) for one in made)


async def test_a_conversation_is_exported_as_lines_and_imported_again(agent: httpx.AsyncClient) -> None:
    messages = [*TALK, calling("c1").to_dict(), result("c1").to_dict(), {"role": "user", "content": "你好\u2028！"}]
    await append(agent, *messages)
    await agent.put(f"{S1}/pins/3")
    exported = await agent.get(f"{S1}/messages", headers={"Accept": "application/jsonl"})
    assert exported.headers["content-type"].startswith("application/jsonl")
    lines = [json.loads(line) for line in exported.text.splitlines()]
    times = [line.pop("created_at") for line in lines]
    assert lines == [*messages[:2], messages[2] | {"pinned": True}, *messages[3:]]
    headers = {"Content-Type": "application/jsonl", "Idempotency-Key": "import"}
    for _ in range(2):
        imported = await agent.post("/v1/sessions/s2/messages", content=exported.content, headers=headers)
        assert imported.json()["seqs"] == list(range(1, 10))
    again = await agent.get("/v1/sessions/s2/messages", headers={"Accept": "application/jsonl"})
    assert again.text == exported.text
    listed = (await agent.get("/v1/sessions/s2/messages")).json()["messages"]
    assert [one["created_at"] for one in listed] == times


async def test_a_message_keeps_the_time_that_it_was_written(agent: httpx.AsyncClient) -> None:
    asked = {"role": "user", "content": "My budget is $500.", "created_at": "2023-05-08T23:30:00.25-08:00"}
    answered = {"role": "assistant", "content": "Noted.", "created_at": "2023-05-09T07:31:00Z"}
    await append(agent, asked, answered, {"role": "user", "content": "Thanks, budget noted."})
    listed = (await agent.get(f"{S1}/messages")).json()["messages"]
    assert [one["created_at"] for one in listed[:2]] == ["2023-05-09T07:30:00.250000Z", "2023-05-09T07:31:00Z"]
    assert datetime.now(UTC) - datetime.fromisoformat(listed[2]["created_at"]) < timedelta(hours=1)
    exported = await agent.get(f"{S1}/messages", headers={"Accept": "application/jsonl"})
    lines = [json.loads(line)["created_at"] for line in exported.text.splitlines()]
    assert lines[:2] == ["2023-05-08T23:30:00.250000-08:00", answered["created_at"]]
    found = (await agent.get(f"{S1}/memory", params={"q": "budget"})).json()["found"]
    assert (found[0]["seq"], found[0]["created_at"][:10]) == (1, "2023-05-09")
    other = [{**asked, "created_at": "2023-05-09T00:00:00Z"}]
    for messages, status in (([asked], 200), ([asked], 200), (other, 409)):
        answer = await agent.post("/v1/sessions/s2/messages", json={"messages": messages, "key": "one"})
        assert answer.status_code == status


async def test_a_result_that_answers_no_call_is_stored_with_a_warning(agent: httpx.AsyncClient) -> None:
    first = await append(agent, TALK[0], calling("c1").to_dict(), result("c2").to_dict())
    assert first["seqs"] == [1, 2, 3]
    assert first["warnings"] == ["message 2, field 'tool_call_id': answers no call of this conversation"]
    assert (await append(agent, result("c1").to_dict()))["warnings"] == []


BAD: list[tuple[Any, str]] = [
    ([], "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({}, "messages"),
    ("hi", "body"),
    (None, "body"),
    (["hi"], "message 0"),
    ([TALK[0], {"role": "king", "content": "x"}], "message 1, field 'role'"),
    ([{"role": "user"}], "message 0, field 'content'"),
    ([{"role": "user", "content": "a\0b"}], "message 0, field 'content'"),
    ([{"role": "user", "content": [{"type": "text", "text": "a\0b"}]}], "message 0, field 'content'"),
    ([{"role": "user", "content": "x", "surprise": 1}], "message 0, field 'surprise'"),
    ([{"role": "user", "content": "x", "pinned": "yes"}], "message 0, field 'pinned'"),
    ([{"role": "user", "content": "x", "created_at": "2020-01-01T00:00:00"}], "message 0, field 'created_at'"),
    (
        [TALK[0], {"role": "user", "content": "x", "created_at": "2999-01-01T00:00:00Z"}],
        "message 1, field 'created_at'",
    ),
    ([{"role": "tool", "content": "x"}], "message 0, field 'tool_call_id'"),
    ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "message 0, field 'tool_calls[0]'"),
    ({"messages": TALK, "key": ""}, "key"),
    ({"messages": TALK, "key": "a\nb"}, "key"),
    ({"messages": TALK, "key": "k" * 257}, "key"),
    ({"messages": TALK, "user_id": "a b"}, "user_id"),
    ({"messages": TALK, "surprise": 1}, "surprise"),
]


async def test_a_bad_append_names_its_field_and_writes_nothing(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    before = await gateway.rows()
    for body, named in BAD:
        answer = await agent.post(f"{S1}/messages", json=body)
        assert answer.status_code == 422, (body, answer.text)
        assert named in answer.json()["detail"], (body, answer.json())
    for content, named in (
        (b'{"role"', "line 1"),
        (b'{"role": "user", "content": "x"}\n\n[', "line 3"),
        (b"\xff", "UTF-8"),
    ):
        answer = await agent.post(f"{S1}/messages", content=content, headers={"Content-Type": "application/jsonl"})
        problem(answer, 422, "invalid-message", named)
    half = b'[{"role": "user", "content": "\\ud800"}]'
    answer = await agent.post(f"{S1}/messages", content=half, headers={"Content-Type": "application/json"})
    problem(answer, 422, "invalid-message", "message 0, field 'content'")
    assert (await agent.post("/v1/sessions/a%20b/messages", json=TALK)).status_code == 422
    assert await gateway.rows() == before


async def test_lines_are_taken_where_conversations_are_imported_only(agent: httpx.AsyncClient) -> None:
    for path in ("/v1/holds", "/v1/tasks", f"{S1}/compress"):
        answer = await agent.post(path, content=b"{}", headers={"Content-Type": "application/jsonl"})
        assert answer.status_code == 415, path


async def test_a_bad_query_names_its_field(agent: httpx.AsyncClient) -> None:
    await append(agent, *TALK)
    for query in ("after=-1", "after=x", "limit=0", "limit=1001", "model="):
        answer = await agent.get(f"{S1}/messages?{query}")
        problem(answer, 422, "invalid-request", query.partition("=")[0])
    problem(await agent.get(f"{S1}/messages?thread=%00"), 422, "invalid-request", "NUL")


# --- whose it is -----------------------------------------------------------------------------------------------------


async def test_another_users_append_is_refused(agent: httpx.AsyncClient) -> None:
    await append(agent, TALK[0], user_id="ana")
    await append(agent, TALK[1])
    answer = await agent.post(f"{S1}/messages", json={"messages": TALK[2:3], "user_id": "ben"})
    problem(answer, 409, "other-user", "'s1' belongs to another user than 'ben'")
    assert len((await agent.get(f"{S1}/messages")).json()["messages"]) == 2


async def test_the_user_that_a_session_gets_pays_for_the_hold_right_after(
    agent: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payers, "_UNOWNED_S", 3_600.0)
    own = f"s-{uuid.uuid4()}"

    async def paying(key: str) -> list[str]:
        hold = await agent.post("/v1/holds", json={"key": key, "path": [f"session:{own}"], "tokens": 10})
        return [scope["scope"] for scope in hold.json()["scopes"]]

    assert await paying("before") == ["tenant:default", f"session:{own}"]
    await append(agent, TALK[0], path=f"/v1/sessions/{own}", user_id="ana")
    assert await paying("after") == ["tenant:default", "user:ana", f"session:{own}"]


# --- deletion --------------------------------------------------------------------------------------------------------


async def test_a_deleted_session_is_gone_for_good(admin: httpx.AsyncClient) -> None:
    await append(admin, *TALK, user_id="ana")
    left = (await admin.delete(S1)).json()
    assert (left["session_id"], left["user_id"], left["messages"], left["deleted_by"]) == ("s1", "ana", 6, "ada")
    assert (await admin.delete(S1)).json() == left
    for answer in (
        await admin.get(f"{S1}/messages"),
        await admin.post(f"{S1}/messages", json=TALK),
        await admin.put(f"{S1}/pins/1"),
        await admin.put(f"{S1}/settings", json={}),
        await admin.get(f"{S1}/window?budget=100"),
    ):
        problem(answer, 410, "session-deleted", "'s1' was deleted")


@pytest.mark.usefixtures("temporal_client")
async def test_what_reads_a_session_while_it_is_deleted_gets_all_of_it_or_learns_that_it_is_gone(
    agent: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    said = [
        {"role": "user", "content": f"Apple {number} costs ${number}; write to a@example.com."} for number in range(30)
    ]
    for number in range(3):
        path = f"/v1/sessions/d{number}"
        await append(agent, *said, path=path)
        reads = [agent.get(f"{path}/{read}") for read in ("facts", "window?budget=500", "memory?q=apple")]
        *answers, deleted = await asyncio.gather(*reads, admin.delete(path))
        assert deleted.status_code == 200
        assert {answer.status_code for answer in answers} <= {200, 410}, [answer.text for answer in answers]


async def test_while_a_task_runs_its_session_stays_and_afterwards_its_texts_go(
    gateway: RunningGateway, admin: httpx.AsyncClient, task_queue: str
) -> None:
    secret, task_id = "CANARY-91c2", f"t-{task_queue[5:]}"
    agents = [{"id": "a", "model": "priced-model", "instructions": secret}]
    task = {"session_id": "s1", "task_id": task_id, "input": secret, "agents": agents}
    assert (await admin.post("/v1/tasks", json=task)).status_code == 202
    found = problem(await admin.delete(S1), 409, "session-busy", task_id)
    assert found["retryable"]
    await gateway.pool.execute("update tasks set status = 'completed', ended_at = now()")
    await gateway.pool.execute("update agents set status = 'completed', ended_at = now(), reply_seq = 1")
    assert (await admin.delete(S1)).status_code == 200
    for table in ("tasks", "agents", "messages", "outbox", "deleted_sessions", "events"):
        rows = await gateway.pool.fetchval(f"select coalesce(json_agg(t)::text, '') from {table} t")
        assert secret not in rows, table
    shown = (await admin.get(f"/v1/tasks/{task_id}")).json()
    assert (shown["status"], shown["agents"]["a"]["reply"]) == ("completed", None)
    assert (await admin.post("/v1/tasks", json=task)).status_code == 202, "the same file is still no new task"
    other = await admin.post("/v1/tasks", json=task | {"task_id": f"{task_id}-2"})
    problem(other, 410, "session-deleted")


async def test_old_sessions_are_swept_by_the_gateway(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    for session in ("old", "young"):
        await append(admin, *TALK, path=f"/v1/sessions/{session}")
    await gateway.pool.execute("update sessions set active_on = active_on - 31 where session_id = 'old'")
    policy = (await admin.put("/v1/retention", json={"days": 30})).json()
    assert (policy["days"], policy["version"], policy["changed_by"]) == (30, 1, "ada")
    assert (await admin.get("/v1/retention")).json() == policy
    async with asyncio.timeout(20):
        while (await admin.get("/v1/sessions/old/messages")).status_code != 410:
            await asyncio.sleep(0.1)
    assert (await admin.get("/v1/sessions/young/messages")).status_code == 200
    for body in ({"days": 0}, {"days": "x"}, {}, {"days": 1.5}):
        problem(await admin.put("/v1/retention", json=body), 422, "invalid-request", "days")


# --- tenants ---------------------------------------------------------------------------------------------------------


async def test_an_unknown_session_is_not_found(agent: httpx.AsyncClient) -> None:
    for path in ("messages", "pins", "settings", "window?budget=100", "summaries", "facts", "memory?q=x"):
        problem(await agent.get(f"{S1}/{path}"), 404, "not-found", "'s1' does not exist")


async def test_no_endpoint_of_a_session_shows_or_changes_anything_of_another_tenant(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    secret = "CANARY-40bd"
    await append(admin, {"role": "user", "content": f"I am {secret}"}, *TALK, user_id="ana")
    await admin.put("/v1/users/ana/settings", json={"name": secret})
    await admin.put(f"{S1}/settings", json={"name": secret})
    await admin.put(f"{S1}/pins/1", json={"reason": secret})
    await admin.put("/v1/retention", json={"days": 30})
    stranger = await gateway.client(Role.ADMIN, tenant="other")
    before = await gateway.rows()
    reads = ("messages", "pins", "settings", "window?budget=500", "summaries", "facts", f"memory?q={secret}")
    calls: list[tuple[str, str, Any]] = [
        *(("GET", f"{S1}/{path}", None) for path in reads),
        ("GET", f"{S1}/messages/1/explain", None),
        ("PUT", f"{S1}/pins/1", {}),
        ("DELETE", f"{S1}/pins/1", None),
        ("POST", f"{S1}/compress", {}),
        ("POST", f"{S1}/recommend", {"max_tokens": 100}),
        ("POST", f"{S1}/tool-safety", {"limit": 100, "tools": 1}),
        ("DELETE", S1, None),
    ]
    for method, path, body in calls:
        answer = await stranger.request(method, path, json=body)
        problem(answer, 404, "not-found", "does not exist for this tenant")
        assert secret not in answer.text
    for path in ("/v1/users/ana/settings", "/v1/retention"):
        answer = await stranger.get(path)
        assert (answer.status_code, answer.json()["version"]) == (200, 0)
    assert await gateway.rows() == before
    # The same names are the stranger's own.
    await append(stranger, TALK[0], user_id="ben")
    found = (await stranger.get(f"{S1}/memory", params={"q": secret})).json()
    assert found == {"found": [], "pending": 0}
    assert len((await stranger.get(f"{S1}/messages")).json()["messages"]) == 1
    assert len((await admin.get(f"{S1}/messages")).json()["messages"]) == 7
