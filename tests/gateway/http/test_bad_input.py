"""Bad input: a clear 4xx that names the field, and nothing written."""

import gzip
import json
from typing import Any

import httpx

from purser.gateway.http.openapi import operations
from tests.gateway.conftest import RunningGateway

HOLD: dict[str, Any] = {"key": "k", "path": ["session:s1"], "tokens": 5}
BIG = 2**53
TOKENS = 10**9 + 1
"""One more than a call may hold."""
NANO_USD = 10**15 + 1
"""One nano-dollar more than a call may cost."""

HOLDS: list[tuple[dict[str, Any], str]] = [
    ({"tokens": -1}, "tokens"),
    ({"tokens": 0}, "tokens"),
    ({"tokens": True}, "tokens"),
    ({"tokens": 1.5}, "tokens"),
    ({"tokens": 5.0}, "tokens"),
    ({"tokens": "5"}, "tokens"),
    ({"tokens": None}, "tokens"),
    ({"tokens": BIG}, "tokens"),
    ({"tokens": TOKENS}, "tokens"),
    ({"tokens": 10**400}, "tokens"),
    ({"tokens": [5]}, "tokens"),
    ({"nano_usd": -1}, "nano_usd"),
    ({"nano_usd": "1"}, "nano_usd"),
    ({"nano_usd": NANO_USD}, "nano_usd"),
    ({"min_tokens": 0}, "min_tokens"),
    ({"min_tokens": 6}, "min_tokens"),
    ({"lease_ms": 0}, "lease_ms"),
    ({"lease_ms": 10**9}, "lease_ms"),
    ({"lease_ms": True}, "lease_ms"),
    ({"key": ""}, "key"),
    ({"key": "k" * 257}, "key"),
    ({"key": "a\nb"}, "key"),
    ({"key": "a\x00b"}, "key is not valid: text must not contain NUL"),
    ({"tags": {"team": "\x00"}}, "tags.team is not valid: text must not contain NUL"),
    ({"tags": {"\x00": "search"}}, "tags is not valid: text must not contain NUL"),
    ({"key": 5}, "key"),
    ({"model": ""}, "model"),
    ({"model": 7}, "model"),
    ({"path": []}, "path"),
    ({"path": "session:s1"}, "path"),
    ({"path": [5]}, "path"),
    ({"path": ["planet:s1"]}, "planet"),
    ({"path": ["s1"]}, "s1"),
    ({"path": ["session:"]}, "session:"),
    ({"path": ["session:" + "x" * 129]}, "session:xxx"),
    ({"path": ["session:a b"]}, "session:a b"),
    ({"path": ["session:a/b"]}, "session:a/b"),
    ({"path": ["agent:t/a/b"]}, "agent:t/a/b"),
    ({"path": ["task:t1", "session:s1"]}, "session:s1"),
    ({"path": ["session:s1", "session:s2"]}, "session:s2"),
    ({"path": ["session:s1", "session:s1"]}, "twice"),
    ({"path": [f"agent:t/{n}" for n in range(17)]}, "path"),
    ({"surprise": 1}, "surprise"),
    ({"Tokens": 5}, "Tokens"),
]

BUDGETS: list[tuple[dict[str, Any], str]] = [
    ({"limit_tokens": -1}, "limit_tokens"),
    ({"limit_tokens": True}, "limit_tokens"),
    ({"limit_tokens": "5"}, "limit_tokens"),
    ({"limit_tokens": 1.5}, "limit_tokens"),
    ({"limit_nano_usd": BIG}, "limit_nano_usd"),
    ({"mode": "harsh"}, "mode"),
    ({"mode": 1}, "mode"),
    ({"window": "fortnight"}, "window"),
    ({"timezone": "Mars/Olympus"}, "timezone"),
    ({"timezone": "../../etc/passwd"}, "timezone"),
    ({"warn_at": [0]}, "warn_at"),
    ({"warn_at": [True]}, "warn_at"),
    ({"warn_at": 0.8}, "warn_at"),
    ({"warn_at": ["NaN"]}, "warn_at"),
    ({"backpressure": [[0.5]]}, "backpressure"),
    ({"backpressure": [[0.5, -1]]}, "backpressure"),
    ({"backpressure": [[0.5, 10**8]]}, "backpressure"),
    ({"ladder": {}}, "ladder"),
    ({"ladder": [{"ratio": 0.8}]}, "ladder"),
    ({"ladder": [{"ratio": 0.8, "model": ["a\u00e9"]}]}, "model"),
    ({"approval": {"rules": []}}, "rules"),
    ({"approval": {"roles": []}}, "roles"),
    ({"approval": {"roles": ["a\x00"]}}, "approval.roles.0 is not valid: text must not contain NUL"),
    ({"approval": {"roles": ["cfo"]}}, "roles"),
    ({"approval": {"deadline_s": 0}}, "deadline_s"),
    ({"approval": {"not_submitter": "yes"}}, "not_submitter"),
    ({"approval": {"on_expiry": "shrug"}}, "on_expiry"),
    ({"frozen": "yes"}, "frozen"),
    ({"limit": 5}, "limit"),
]

STEPS: list[tuple[str, dict[str, Any], str]] = [
    ("attempts", {"attempt": 0}, "attempt"),
    ("attempts", {"attempt": True}, "attempt"),
    ("attempts", {}, "attempt"),
    ("settle", {"attempt": 1}, "usage"),
    ("settle", {"attempt": 1, "usage": 5}, "usage"),
    ("settle", {"attempt": 1, "usage": {}}, "usage"),
    ("settle", {"attempt": 1, "usage": {"total": -1}}, "total"),
    ("settle", {"attempt": 1, "usage": {"total": True}}, "total"),
    ("settle", {"attempt": 1, "usage": {"total": 1.5}}, "total"),
    ("settle", {"attempt": 1, "usage": {"total": "5"}}, "total"),
    ("settle", {"attempt": 1, "usage": {"total": 10**30}}, "total"),
    ("settle", {"attempt": 1, "usage": {"total": TOKENS}}, "usage"),
    ("settle", {"attempt": 1, "usage": {"total": 5, "more": ["\x00"]}}, "usage.more.0 is not valid"),
    ("settle", {"attempt": 1, "usage": {"total": 5}, "nano_usd": -1}, "nano_usd"),
    ("settle", {"attempt": 1, "usage": {"total": 5}, "nano_usd": NANO_USD}, "nano_usd"),
    ("settle", {"attempt": 1, "usage": {"total": 5}, "cost": 1}, "cost"),
    ("extend", {"tokens": -1}, "tokens"),
    ("extend", {"tokens": 1.5}, "tokens"),
    ("extend", {"tokens": TOKENS}, "tokens"),
    ("extend", {"tokens": 1, "nano_usd": NANO_USD}, "nano_usd"),
    ("extend", {"lease_ms": 0}, "lease_ms"),
    ("extend", {"by": 1}, "by"),
]

BODIES: list[tuple[bytes, str, int]] = [
    (b'{"key": "k"', "application/json", 422),
    (b"", "application/json", 422),
    (b"[]", "application/json", 422),
    (b"null", "application/json", 422),
    (b'"text"', "application/json", 422),
    (b'{"key": NaN}', "application/json", 422),
    (b"\xff\xfe", "application/json", 422),
    (b"[" * 60_000, "application/json", 422),
    (b'{"tokens": ' + b"9" * 5_000 + b"}", "application/json", 422),
    (b'{"key": "\\ud800", "path": ["session:s"], "tokens": 1}', "application/json", 422),
    (b'{"key": "k", "path": ["session:s"], "tokens": 1}', "text/plain", 415),
    (b'{"key": "k", "path": ["session:s"], "tokens": 1}', "", 415),
    (b"key=k", "application/x-www-form-urlencoded", 415),
]


async def test_a_bad_ask_names_its_field_and_writes_nothing(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    for change, named in HOLDS:
        _check(await admin.post("/v1/holds", json=HOLD | change), named)
    for missing in HOLD:
        _check(await admin.post("/v1/holds", json={k: v for k, v in HOLD.items() if k != missing}), missing)
    assert await gateway.rows() == before


async def test_a_bad_policy_names_its_field_and_writes_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    before = await gateway.rows()
    for body, named in BUDGETS:
        _check(await admin.put("/v1/budgets/session:s1", json=body), named)
    for scope in ("planet:s1", "s1", "session:a%20b", "session:" + "x" * 129):
        _check(await admin.put(f"/v1/budgets/{scope}", json={"limit_tokens": 5}), "scope")
        _check(await admin.get(f"/v1/budgets/{scope}"), "scope")
    for query in ("over=x", "over=-1", "over=nan", "kind=planet", "cursor=x", "limit=0", "limit=9999"):
        _check(await admin.get(f"/v1/budgets?{query}"), query.partition("=")[0])
    assert await gateway.rows() == before


async def test_a_bad_step_of_a_hold_names_its_field_and_writes_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    hold = (await admin.post("/v1/holds", json=HOLD)).json()["hold_id"]
    before = await gateway.rows()
    for step, body, named in STEPS:
        _check(await admin.post(f"/v1/holds/{hold}/{step}", json=body), named)
    assert await gateway.rows() == before
    assert (await admin.get(f"/v1/holds/{hold}")).json()["attempts"] == 0


async def test_a_body_that_is_no_json_object_is_refused(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    for content, media_type, status in BODIES:
        headers = {"content-type": media_type} if media_type else {}
        answer = await admin.post("/v1/holds", content=content, headers=headers)
        assert answer.status_code == status, content[:40]
        assert answer.headers["content-type"] == "application/problem+json"
        assert status != 422 or answer.json()["field"] in ("body", "key", "path"), answer.json()
    assert await gateway.rows() == before


async def test_a_compressed_body_is_refused_as_such(admin: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = await admin.post("/v1/holds", content=gzip.compress(json.dumps(HOLD).encode()), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (415, "urn:purser:body-refused")
    assert "'gzip' is not accepted: send it uncompressed" in answer.json()["detail"]
    headers["content-encoding"] = "identity"
    assert (await admin.post("/v1/holds", json=HOLD, headers=headers)).status_code == 200


async def test_the_error_for_invalid_json_names_the_place(admin: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    problem = (await admin.post("/v1/holds", content=b'{"key": x}', headers=headers)).json()
    assert (problem["field"], problem["detail"]) == ("body", "body stops being JSON at character 8")


async def test_a_body_that_is_too_large_is_refused_with_or_without_a_length(admin: httpx.AsyncClient) -> None:
    async def chunks() -> Any:
        for _ in range(17):
            yield b" " * 2**20

    headers = {"content-type": "application/json"}
    for body in (b" " * (16 * 2**20 + 1), chunks()):
        answer = await admin.post("/v1/holds", content=body, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:purser:body-refused")
        assert answer.json()["remedy"]


async def test_paths_and_methods_that_do_not_exist_are_problems_too(admin: httpx.AsyncClient) -> None:
    missing = await admin.get("/v1/nothing")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:purser:not-found")
    assert missing.json()["detail"] == "GET /v1/nothing is no endpoint"
    assert (await admin.get("/v1/a%0Ab")).json()["detail"] == "GET /v1/a%0Ab is no endpoint"
    assert missing.json()["remedy"] == "/openapi.json lists the paths, and the methods of each."
    wrong = await admin.delete("/v1/holds")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "urn:purser:method-not-allowed")
    assert wrong.json()["detail"] == "DELETE /v1/holds is no endpoint"


async def test_every_list_says_in_the_same_words_that_a_cursor_was_changed(admin: httpx.AsyncClient) -> None:
    document = (await admin.get("/openapi.json")).json()
    lists = [
        path
        for _, path, operation in operations(document)
        if "{" not in path and any(one["name"] == "cursor" for one in operation.get("parameters", ()))
    ]
    assert len(lists) > 5
    for path in lists:
        answer = await admin.get(path, params={"cursor": "-é"} | ({"by": "task"} if path == "/v1/usage" else {}))
        _check(answer, "cursor is not valid: pass the cursor of the previous page unchanged")


async def test_a_problem_repeats_no_text_of_the_caller(admin: httpx.AsyncClient) -> None:
    secret = "CANARY-7f3a"
    for body in (HOLD | {"tokens": secret}, HOLD | {"min_tokens": {"deep": secret}}, {"usage": secret}):
        assert secret not in (await admin.post("/v1/holds", json=body)).text


def _check(answer: httpx.Response, named: str) -> None:
    problem = answer.json()
    assert answer.status_code == 422, (named, problem)
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in problem["detail"], problem
    assert problem["remedy"]
    assert problem["retryable"] is False
