"""Middleware: internal errors reveal nothing, and no secret or body reaches a log."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from purser.gateway.http import middleware
from tests.gateway.conftest import RunningGateway
from tests.support.world import eventually

CANARY = "CANARY-51c9"


@pytest.fixture(autouse=True)
def every_line_is_logged() -> Iterator[None]:
    logger = logging.getLogger(middleware.__name__)
    logger.setLevel(logging.DEBUG)
    yield
    logger.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("own_gateway")
async def test_a_fault_of_ours_is_a_500_problem_and_the_log_has_its_place_but_not_its_words(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    body = f"begin raise '{CANARY}'; end"
    await gateway.pool.execute(f"create function fail() returns trigger language plpgsql as $${body}$$")
    await gateway.pool.execute("create trigger fails before insert on holds for each row execute function fail()")
    with capture_logs() as logs:
        answer = await admin.post("/v1/holds", json={"key": "k", "path": ["session:s1"], "tokens": 1})
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert (answer.json()["type"], answer.json()["retryable"]) == ("urn:purser:internal", True)
    (failed,) = [entry for entry in logs if entry["event"] == "request failed"]
    assert failed["error"] == "RaiseError"
    assert failed["at"]
    assert CANARY not in answer.text + str(logs)


@pytest.mark.parametrize("path", ["/v1/holds", "/v1/tasks"])
async def test_a_client_that_leaves_before_its_body_is_whole_is_no_fault_of_ours(
    gateway: RunningGateway, admin: httpx.AsyncClient, path: str
) -> None:
    with capture_logs() as logs:

        async def ended() -> EventDict | None:
            return next((entry for entry in logs if entry["event"] == "request"), None)

        host = httpx.URL(gateway.url)
        _, writer = await asyncio.open_connection(host.host, host.port)
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: {admin.headers['authorization']}\r\n"
        writer.write(f'{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"key"'.encode())
        await writer.drain()
        writer.close()
        request = await eventually(ended)
    assert (request["log_level"], request["status"]) == ("debug", 0)
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == []


async def test_no_body_query_or_key_reaches_the_log(admin: httpx.AsyncClient) -> None:
    with capture_logs() as logs:

        async def requests() -> list[EventDict] | None:
            found = [entry for entry in logs if entry["event"] == "request"]
            return found if len(found) == 3 else None  # an entry is written after its answer

        body: dict[str, Any] = {"key": "k", "path": ["session:s1"], "tokens": 1, "surprise": CANARY}
        await admin.post("/v1/holds", json=body)
        await admin.get("/v1/budgets", params={"over": CANARY})
        await admin.get("/v1/budgets", headers={"authorization": f"Bearer {CANARY}"})
        written = await eventually(requests)
    assert [(entry["method"], entry["route"], entry["status"]) for entry in written] == [
        ("POST", "/v1/holds", 422),
        ("GET", "/v1/budgets", 422),
        ("GET", "none", 401),
    ]
    secret = admin.headers["authorization"].removeprefix("Bearer ")
    assert CANARY not in str(logs)
    assert secret not in str(logs)


async def test_the_openapi_document_names_every_endpoint_and_the_key_it_needs(admin: httpx.AsyncClient) -> None:
    document = (await admin.get("/openapi.json")).json()
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    operations = [
        operation
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if path.startswith("/v1/")
    ]
    assert len(operations) > 15
    assert all(operation["security"][0] == {"bearer": []} for operation in operations)
    assert all(operation["description"] for operation in operations)


def resolved(document: Any, part: Any) -> Any:
    """The target of a reference."""
    for name in part.get("$ref", "#").split("/")[1:]:
        part, document = document[name], document[name]
    return part


async def test_the_openapi_document_promises_problems_where_a_request_fails(admin: httpx.AsyncClient) -> None:
    document = (await admin.get("/openapi.json")).json()
    for method, path in (("get", "/v1/budgets"), ("post", "/v1/holds"), ("delete", "/v1/keys/{key_id}")):
        answers = document["paths"][path][method]["responses"]
        problem = resolved(
            document, resolved(document, answers["default"])["content"]["application/problem+json"]["schema"]
        )
        assert set(problem["required"]) == {"type", "title", "status", "detail"}
        assert "scope" in problem["properties"]
