"""The OpenAPI document: complete, consistent, and with correct examples."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # has no types

from purser.gateway.app import ROUTERS
from purser.gateway.health import health_router
from purser.gateway.http.openapi import TAGS, document, openapi_router, operations
from tests.gateway.conftest import RunningGateway


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    app = FastAPI(title="Purser", version="1")
    for router in (*ROUTERS, health_router({})):
        app.include_router(router)
    return document(app, ROUTERS)


def contents(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every JSON body and answer of every endpoint."""
    for _, _, operation in operations(made):
        name = operation["operationId"]
        places = {"body": operation.get("requestBody", {})} | {
            status: content for status, content in operation["responses"].items() if status.startswith("2")
        }
        for place, content in places.items():
            if "application/json" in content.get("content", {}):
                yield f"{name} {place}", content["content"]["application/json"]


async def test_it_needs_no_key(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    answer = await anonymous.get("/openapi.json", timeout=httpx.Timeout(30))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


async def test_it_is_made_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    app, made = FastAPI(openapi_url=None), 0

    def openapi() -> dict[str, Any]:
        nonlocal made
        made += 1
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(app, "openapi", openapi)
    app.include_router(openapi_router(app))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client:
        answers = [await client.get("/openapi.json") for _ in range(3)]
    assert ([answer.json() for answer in answers], made) == ([{"openapi": "3.1.0"}] * 3, 1)


def test_every_endpoint_is_described_under_a_tag_and_a_neat_name(made: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(made)]
    assert len(set(names)) == len(names)
    for _, path, operation in operations(made):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", operation["operationId"])
        assert 5 < len(operation["summary"]) <= 120, path
        assert operation["description"].startswith(operation["summary"].rstrip("."))
        assert len(operation["tags"]) == 1
        assert operation["tags"][0] in TAGS
    assert [tag["name"] for tag in made["tags"]] == list(TAGS)


def test_every_endpoint_lists_its_roles_and_problems(made: dict[str, Any]) -> None:
    for _, path, operation in operations(made):
        assert "default" in operation["responses"]
        if path.startswith("/v1/"):
            assert operation["x-purser-roles"], path
            assert {"bearer": []} in operation["security"]
            assert {"401", "403", "422", "429", "503"} <= set(operation["responses"]), path
            assert {"413", "415"} <= set(operation["responses"]) or "requestBody" not in operation, path
            assert "410" in operation["responses"] or "{session_id}" not in path, path
        else:
            assert operation["security"] == []
    for response in made["components"]["responses"].values():
        [content] = response["content"].items()
        assert content[0] == "application/problem+json"


def test_everything_that_changes_something_from_a_browser_takes_the_token(made: dict[str, Any]) -> None:
    for method, path, operation in operations(made):
        if path.startswith("/v1/"):
            assert ({"browser": [], "csrf": []} in operation["security"]) is (method != "get"), path


def test_every_body_and_answer_has_a_schema_and_an_example_that_fits(made: dict[str, Any]) -> None:
    for name, content in contents(made):
        assert content["schema"], name
        assert "example" in content, name
        schema = content["schema"] | {"components": made["components"]}
        faults = [fault.message for fault in Draft202012Validator(schema).iter_errors(content["example"])]
        assert not faults, f"{name}: {faults}"


def test_every_time_is_described_as_one(made: dict[str, Any]) -> None:
    times = [
        (f"{name}.{field}", json.dumps(shown))
        for name, schema in made["components"]["schemas"].items()
        for field, shown in schema.get("properties", {}).items()
        if re.search(r"(^|_)(at|until|since)$", field) and field != "warn_at"  # ratios
    ]
    assert len(times) > 40
    assert [name for name, shown in times if '"format": "date-time"' not in shown] == []


def test_examples_of_problems_fit_their_schema(made: dict[str, Any]) -> None:
    for response in made["components"]["responses"].values():
        content = response["content"]["application/problem+json"]
        Draft202012Validator(content["schema"] | {"components": made["components"]}).validate(content["example"])


def test_a_task_file_is_described_as_it_is_taken(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    assert schemas["Agent"]["required"] == ["id", "instructions"], "the model may be that of `context`"
    for name, field in (("ScopeBudget", "limit_usd"), ("Tool", "price_usd")):
        schema = Draft202012Validator(schemas[name]["properties"][field])
        assert [value for value in ("0.25", "12", None, 0.25, 5, "$5", "1e3", " 5 ") if schema.is_valid(value)] == [
            "0.25", "12", None,
        ]  # fmt: skip


def test_no_example_holds_a_secret(made: dict[str, Any]) -> None:
    assert not re.findall(r"(?:purser_|whsec_|sign-in#)(?!SHOWN_ONCE|session)[A-Za-z0-9+/_=-]{8,}", json.dumps(made))


def test_posts_that_have_no_name_of_their_own_take_an_idempotency_key(made: dict[str, Any]) -> None:
    own_name = {
        "holds_ask",
        "holds_ask_each",
        "holds_start_attempt",
        "holds_settle",
        "tasks_submit",
        "approvals_decide",
    }
    same_twice = {"holds_release", "holds_withdraw", "tasks_pause", "tasks_resume", "tasks_cancel"}
    only_looks = {"sessions_recommend", "sessions_check_tools", "policies_replay"}
    for method, _, operation in operations(made):
        if method == "post" and operation["operationId"] not in own_name | same_twice | only_looks:
            headers = [one["name"].lower() for one in operation["parameters"] if one["in"] == "header"]
            assert "idempotency-key" in headers, operation["operationId"]
