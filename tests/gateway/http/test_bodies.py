"""JSON bodies: limits on size, depth and numbers, and checks before any of the body is read."""

import asyncio
import json
from collections.abc import Callable
from threading import current_thread
from typing import Any, TypeVar

import httpx
import pytest
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from purser.activities.tasks.file import TaskFile
from purser.budget.errors import InvalidRequest
from purser.gateway.access.roles import Role
from purser.gateway.app import ROUTERS
from purser.gateway.http import bodies, routing
from purser.gateway.http.bodies import (
    MAX_BODY,
    MAX_DEPTH,
    MAX_LARGE_BODY,
    MAX_VALUES,
    check_size,
    max_body,
    read_json,
    run_off_loop,
)
from purser.gateway.http.problems import from_validation
from purser.gateway.http.routing import Route
from purser.gateway.proxy.protocols import bodies as proxy_bodies
from purser.gateway.sessions import routes as session_routes
from purser.gateway.sessions.schemas import read_append
from tests.gateway.conftest import RunningGateway

T = TypeVar("T")


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def problem(body: bytes) -> tuple[str | None, str]:
    with pytest.raises(RequestValidationError) as caught:
        read_json(body)
    problem = from_validation(caught.value)
    return problem.field, problem.detail


def test_what_is_nested_too_deeply_is_refused_with_its_place() -> None:
    assert read_json(json.dumps(nested(MAX_DEPTH)).encode()) == nested(MAX_DEPTH)
    field, detail = problem(json.dumps({"a": {"b": nested(MAX_DEPTH)}}).encode())
    assert field == "a.b.0.0.0.0.0.0.…"
    assert f"{MAX_DEPTH} deep" in detail
    assert f"{MAX_DEPTH} deep" in problem(json.dumps(nested(MAX_DEPTH + 1)).encode())[1]
    assert "nest less" in problem(b"[" * 100_000)[1]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
def test_numbers_that_json_does_not_know_are_refused_with_their_place(number: str) -> None:
    field, detail = problem(f'{{"settings": {{"ok": 1e300, "list": ["x", {number}]}}}}'.encode())
    assert field == "settings.list.1"
    assert "finite" in detail


def test_what_is_no_json_is_refused_at_the_character_where_it_stops() -> None:
    assert problem(b'{"a": }') == ("body", "body stops being JSON at character 6")
    assert problem(b"1" * 5_000)[0] == "body"
    assert problem(b'"\xff"') == ("body", "body is not valid: not text in utf-8 at byte 1: send UTF-8")


def test_a_name_that_occurs_twice_in_an_object_is_refused_and_named() -> None:
    assert read_json(b'{"a": {"limit": 1}, "b": [{"limit": 1}, {"limit": 2}]}')["b"] == [{"limit": 1}, {"limit": 2}]
    for twice in (b'{"limit": 1, "a": 1, "limit": 2}', b'[{"a": {"limit": 1, "limit": 1}}]'):
        with pytest.raises(InvalidRequest, match="'limit' occurs twice in one object: state it once"):
            read_json(twice)


def test_values_are_counted_before_any_is_made_and_texts_count_as_one() -> None:
    check_size(b"[" + b"1," * (MAX_VALUES - 1) + b"1]")
    check_size(json.dumps(['"[{,\\' * MAX_VALUES]).encode())
    check_size(json.dumps(["," * 70_000, "\\" * 70_000] * 5).encode())
    check_size(b'["a,b",' + b"1," * (MAX_VALUES - 2) + b"1]")
    for too_many in (b"[" + b"1," * MAX_VALUES + b"1]", b"[" * MAX_VALUES + b"[", b"{" * (MAX_VALUES + 1)):
        with pytest.raises(InvalidRequest, match=f"more than {MAX_VALUES} values"):
            check_size(too_many)
        with pytest.raises(InvalidRequest, match="in parts"):
            read_json(too_many)


def test_json_lines_are_held_to_the_same() -> None:
    with pytest.raises(RequestValidationError, match="finite"):
        read_append(b'{"role": "user", "content": "a", "x": NaN}')
    with pytest.raises(InvalidRequest, match=f"more than {MAX_VALUES} values"):
        read_append(b'{"role": "user", "content": "a", "x": [' + b"1," * MAX_VALUES + b"1]}")
    for line in (b"{}", b"1"):
        with pytest.raises(InvalidRequest, match="in parts"):
            read_append((line + b"\n") * (MAX_VALUES + 1))


def test_only_tasks_messages_policies_and_calls_of_models_may_be_large() -> None:
    large = ("/v1/tasks", "/v1/sessions/s1/messages", "/v1/policies", "/v1/policies/replay", "/openai/v1/responses")
    assert {max_body(path) for path in large} == {MAX_LARGE_BODY}
    paths = ("/v1/holds", "/v1/sessions/s1/settings", "/v1/sessions/a/b/messages", "/sign-out", "/v1/tasks/t/pause")
    assert {max_body(path) for path in paths} == {MAX_BODY}


async def test_what_takes_long_is_done_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def loops() -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    assert await run_off_loop(MAX_BODY, loops)
    assert not await run_off_loop(MAX_BODY + 1, loops)


def test_every_endpoint_of_the_api_checks_the_role_first() -> None:
    routes: list[Any] = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    api = [route for route in routes if route.path.startswith("/v1")]
    assert len(api) > 40
    assert {type(route) for route in api} == {Route}


async def unread(gateway: RunningGateway, client: httpx.AsyncClient, path: str) -> tuple[int, dict[str, Any]]:
    """The answer to a body of which nothing was sent."""
    host = httpx.URL(gateway.url)
    reader, writer = await asyncio.open_connection(host.host, host.port)
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: {client.headers['authorization']}\r\n"
    writer.write(f"{head}content-type: application/json\r\ncontent-length: {15 * 2**20}\r\n\r\n".encode())
    got = await reader.readuntil(b"}")
    writer.close()
    return int(got.split()[1]), json.loads(got.partition(b"\r\n\r\n")[2])


async def test_role_and_size_are_checked_before_anything_of_a_body_is_read(gateway: RunningGateway) -> None:
    viewer, agent = await gateway.client(Role.VIEWER), await gateway.client(Role.AGENT)
    for path in ("/v1/holds", "/v1/tasks", "/v1/sessions/s1/messages"):
        status, problem = await unread(gateway, viewer, path)
        assert (status, problem["type"]) == (403, "urn:purser:forbidden")
    status, problem = await unread(gateway, agent, "/v1/holds")
    assert (status, problem["detail"]) == (413, f"the body is larger than {MAX_BODY} bytes: send less")


async def test_a_body_without_a_length_is_cut_off_at_the_limit(agent: httpx.AsyncClient) -> None:
    async def chunks() -> Any:
        yield b'{"key": "'
        for _ in range(20):
            yield b"k" * 8_192

    answer = await agent.post("/v1/holds", content=chunks(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


async def test_large_tasks_and_messages_are_taken_and_parsed_off_the_event_loop(
    agent: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[tuple[str, str]] = []

    def noted(function: Callable[..., T]) -> Callable[..., T]:
        def noting(*args: Any) -> T:
            parsed.append((function.__name__, current_thread().name.partition("_")[0]))
            return function(*args)

        return noting

    for place in (routing, proxy_bodies):
        monkeypatch.setattr(place, "read_json", noted(read_json))
    monkeypatch.setattr(session_routes, "read_append", noted(read_append))
    monkeypatch.setattr(TaskFile, "parse", noted(TaskFile.parse))
    text = "All the words of a long document. " * 10_000
    appended = await agent.post("/v1/sessions/large/messages", json=[{"role": "user", "content": text}])
    assert appended.status_code == 200
    lines = json.dumps({"role": "user", "content": text}) + "\n"
    as_lines = {"content-type": "application/jsonl"}
    assert (await agent.post("/v1/sessions/large/messages", content=lines, headers=as_lines)).status_code == 200
    one = {"id": "a", "model": "openai/gpt-4o", "instructions": "Read."}
    task = {"session_id": "large2", "task_id": "large2", "input": text, "agents": [one]}
    submitted = await agent.post("/v1/tasks", json=task)
    assert submitted.status_code == 202, submitted.text
    chat = {"model": "gpt-4o", "messages": text}
    assert (await agent.post("/openai/v1/chat/completions", json=chat)).status_code == 422
    names = ["read_json", "read_append", "read_append", "read_json", "parse", "read_json"]
    assert parsed == [(name, "large-bodies") for name in names]


async def test_settings_and_messages_that_could_not_be_shown_are_refused_and_nothing_is_stored(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    await admin.post("/v1/sessions/s1/messages", json=[{"role": "user", "content": "Hello."}])
    before = await gateway.rows()
    deep, as_json = json.dumps(nested(300)), {"content-type": "application/json"}
    for value in (deep, "NaN", "1e400"):
        part = f'[{{"role": "user", "content": [{{"type": "text", "text": "a", "more": {value}}}]}}]'
        tool = f'{{"type": "function", "function": {{"name": "f", "parameters": {value}}}}}'
        task = f'{{"session_id": "s1", "input": "a", "agents": [{{"id": "a", "model": "m", "tools": [{tool}]}}]}}'
        sent = {
            "/v1/sessions/s1/messages": ("POST", part, "0.content.0.more"),
            "/v1/sessions/s1/settings": ("PUT", f'{{"a": {value}}}', "a"),
            "/v1/tasks": ("POST", task, "agents.0.tools.0.function.parameters"),
        }
        for path, (method, body, place) in sent.items():
            answer = await admin.request(method, path, content=body, headers=as_json)
            assert answer.status_code == 422, (path, value[:5])
            assert answer.json()["field"].startswith(place)
    assert await gateway.rows() == before


async def test_unknown_parameters_are_a_422_that_names_the_known_ones(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/v1/tasks", params={"status": "completed"})
    assert answer.status_code == 422
    assert answer.json()["field"] == "status"
    assert answer.json()["detail"] == "status is no parameter of this endpoint, which takes cursor, limit, state"
    none = await admin.get("/v1/holds/h1", params={"wait": "1"})
    assert none.json()["detail"] == "wait is no parameter of this endpoint, which takes none"
    assert (await admin.get("/v1/tasks", params={"state": "completed", "limit": 1})).status_code == 200


async def test_a_parameter_that_is_no_list_comes_once(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/v1/changes?from=2026-11-20T18:00:00Z&from=2026-11-21T18:00:00Z")
    assert (answer.status_code, answer.json()["field"]) == (422, "from")
    assert "send it once" in answer.json()["detail"]
    assert (await admin.get("/v1/usage?by=session&by=task")).status_code == 422


@pytest.mark.parametrize("number", ["1763668800", "-1.5", "6.989e-211", "1e9", "inf"])
async def test_a_time_in_a_query_is_no_number(admin: httpx.AsyncClient, number: str) -> None:
    answer = await admin.get("/v1/changes", params={"from": number})
    assert answer.status_code == 422
    assert "write a time as text" in answer.json()["detail"]


def test_the_thread_for_large_bodies_is_the_only_one() -> None:
    assert bodies._executor._max_workers == 1
