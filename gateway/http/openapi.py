"""The OpenAPI document: what FastAPI knows of the endpoints, and what they have in common."""

import asyncio
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from purser.activities.tasks.file import TaskFile
from purser.gateway.access.auth import Needs
from purser.gateway.access.browsers import COOKIE, CSRF_HEADER
from purser.gateway.access.roles import PERMISSIONS, Permission, Role
from purser.gateway.http.openapi_problems import SCHEMA, STATUSES
from purser.gateway.http.problems import MEDIA_TYPE

DESCRIPTION = """Budgets for multi-agent LLM work: hold before a call, settle after it, ask a person where one is short.

Errors are RFC 9457 problems; a verdict is always 200. Amounts are whole numbers up to 2^53 − 1, money is nano-dollars,
times are ISO 8601. Lists answer `{"items", "cursor"}`: pass `cursor` for the next page."""
TAGS = {
    "holds": "Ask before a call, settle after it.",
    "budgets": "What every scope may spend, has spent, and how long it lasts.",
    "tasks": "Submit, look at and steer multi-agent tasks.",
    "sessions": "Conversations: messages, windows, summaries, facts, memory, pins, settings, retention.",
    "approvals": "What waits for a person, and the person's decision.",
    "reports": "Usage and the entries of the ledger.",
    "events": "What happens, as it happens.",
    "webhooks": "Addresses that are told of events.",
    "keys": "Bearer keys, and links that sign in with them.",
    "changes": "Who changed what.",
    "health": "Whether the gateway lives and everything behind it answers. Without a key.",
}
VERBS = ("get", "post", "put", "patch", "delete")
UNSAFE = frozenset(VERBS) - {"get"}
CHECKED_IDS = ("session_id", "user_id")
ID_PATTERN = r"^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$"
"""What `purser.budget.scopes.check_id` takes."""
OPEN = "#/components/schemas/{model}"
SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key from `purser keys create` or POST /v1/keys."},
    "browser": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "The session of who signed in."},
    "csrf": {"type": "apiKey", "in": "header", "name": CSRF_HEADER, "description": "With `browser`, to change."},
}

Operation = dict[str, Any]


def document(app: FastAPI, routers: Sequence[APIRouter]) -> dict[str, Any]:
    """The whole document, made once.

    Args:
        app: whose endpoints.
        routers: those whose endpoints ask for a permission.
    """
    if app.openapi_schema is None:
        app.openapi_schema = _document(app, routers)
    return app.openapi_schema


def openapi_router(app: FastAPI) -> APIRouter:
    """`/openapi.json`: bytes that are made once, and an ETag for who has them."""
    router = APIRouter(include_in_schema=False)

    @cache
    def made() -> tuple[bytes, str]:
        body = json.dumps(app.openapi()).encode()
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    @router.get("/openapi.json")
    async def show(request: Request) -> Response:
        body, tag = await asyncio.to_thread(made)
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    return router


def operations(made: Mapping[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Method, path and description of every endpoint of a document."""
    for path, methods in made["paths"].items():
        for method in VERBS:
            if method in methods:
                yield method, path, methods[method]


def _document(app: FastAPI, routers: Sequence[APIRouter]) -> dict[str, Any]:
    tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    made = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=DESCRIPTION, routes=app.routes, tags=tags
    )
    _add_components(made)
    permissions = {key: permission for router in routers for key, permission in _permissions(router)}
    for method, path, operation in operations(made):
        operation["operationId"] = _operation_id(path, operation)
        operation["summary"] = _first_sentence(operation["description"])
        permission = permissions.get((method, path))
        if permission is not None:
            operation["x-purser-roles"] = [str(role) for role in Role if permission in PERMISSIONS[role]]
        _add_patterns(operation)
        _add_security(method, path, operation)
        _add_problems(path, operation)
        _add_examples(operation)
    return _with_neat_names(made)


def _with_neat_names(made: dict[str, Any]) -> dict[str, Any]:
    """`EntryPage` for a page of `EntryView`."""
    text = re.sub(r'PageOf[_[](\w+?)(?:View|Answer)?[_\]](?=")', r"\1Page", json.dumps(made))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _permissions(router: APIRouter) -> Iterator[tuple[tuple[str, str], Permission]]:
    for route in router.routes:
        for dependency in route.dependant.dependencies:  # type: ignore[attr-defined] # all are of APIRoute
            if isinstance(dependency.call, Needs):
                path = re.sub(r":\w+}", "}", route.path)  # type: ignore[attr-defined]
                for method in route.methods:  # type: ignore[attr-defined]
                    yield (method.lower(), path), dependency.call.permission


def _operation_id(path: str, operation: Operation) -> str:
    """`holds_ask`: the resource and what is done to it."""
    resource = path.removeprefix("/v1/").strip("/").split("/")[0].replace("-", "_")
    function = re.sub(rf"_v1_{resource}.*$|_{resource}_get$", "", operation["operationId"])
    function = re.sub(rf"_({resource}|{resource.rstrip('s').rpartition('_')[2]})$", "", function)
    return resource if function == resource else f"{resource}_{function}"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;])\s|\n\n", text, maxsplit=1)[0].rstrip(".;")


def _add_components(made: dict[str, Any]) -> None:
    components = made.setdefault("components", {})
    _, tasks = models_json_schema([(TaskFile, "validation")], ref_template=OPEN)
    components.setdefault("schemas", {}).update(tasks["$defs"] | {"Problem": SCHEMA})
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["securitySchemes"] = SECURITY
    components["responses"] = {
        str(status): {
            "description": told.description,
            "content": {MEDIA_TYPE: {"schema": {"$ref": OPEN.format(model="Problem")}, "example": told.example}},
        }
        for status, told in STATUSES.items()
    }
    body = made["paths"]["/v1/tasks"]["post"]["requestBody"]
    body["content"]["application/json"]["schema"] = {"$ref": OPEN.format(model="TaskFile")}


def _add_security(method: str, path: str, operation: Operation) -> None:
    if not path.startswith("/v1/"):
        operation["security"] = []
        return
    browser: dict[str, list[str]] = {"browser": [], "csrf": []} if method in UNSAFE else {"browser": []}
    operation["security"] = [{"bearer": []}, browser]


def _add_patterns(operation: Operation) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and parameter["name"] in CHECKED_IDS:
            parameter["schema"]["pattern"] = ID_PATTERN


def _add_problems(path: str, operation: Operation) -> None:
    """What can go wrong: with any request, with one that names something, with one that changes something."""
    responses = operation["responses"]
    responses.pop("422", None)
    if not path.startswith("/v1/"):
        possible = [503] if path == "/readyz" else []
    else:
        possible = [401, 403, 429, 503]
        possible += [404] if "{" in path else []
        possible += [409] if "requestBody" in operation or "{" in path else []
        possible += [422] if operation.get("parameters") or "requestBody" in operation else []
    for status in sorted(possible):
        responses[str(status)] = {"$ref": f"#/components/responses/{status}"}
    responses["default"] = {"$ref": "#/components/responses/default"}


def _add_examples(operation: Operation) -> None:
    examples = _examples().get(operation["operationId"], {})
    if "body" in examples:
        operation["requestBody"]["content"]["application/json"]["example"] = examples["body"]
    if "answer" in examples:
        good = next(status for status in operation["responses"] if status.startswith("2"))
        operation["responses"][good]["content"]["application/json"]["example"] = examples["answer"]


@cache
def _examples() -> dict[str, dict[str, Any]]:
    """Body and answer by the id of the operation."""
    text = resources.files("purser.gateway.http").joinpath("openapi_examples.json").read_text("utf-8")
    read: dict[str, dict[str, Any]] = json.loads(text)
    return read
