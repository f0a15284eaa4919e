"""The OpenAPI document: FastAPI's description of the endpoints, plus security, problems and examples."""

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

DESCRIPTION = """Budgets for multi-agent LLM work: hold before a call, settle after it, ask a person for more.

Errors are RFC 9457 problems; a verdict is always 200. Amounts are integers up to 2^53 − 1, money is in nano-dollars,
times are ISO 8601. Lists return `{"items", "cursor"}`: pass `cursor` for the next page."""
TAGS = {
    "holds": "Hold before a call, settle after it.",
    "budgets": "Limits, spending and forecasts of scopes.",
    "tasks": "Submit, inspect and control multi-agent tasks.",
    "sessions": "Conversations: messages, windows, summaries, facts, memory, pins, settings, retention.",
    "approvals": "Approval requests and decisions.",
    "reports": "Usage and the entries of the ledger.",
    "events": "A live stream of events.",
    "webhooks": "Addresses that are notified of events.",
    "keys": "Bearer keys, and links that sign in with them.",
    "changes": "Who changed what.",
    "health": "Liveness and readiness of the gateway. No key is needed.",
}
VERBS = ("get", "post", "put", "patch", "delete")
UNSAFE = frozenset(VERBS) - {"get"}
CHECKED_IDS = ("session_id", "user_id")
ID_PATTERN = r"^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$"
"""Pattern of the ids that `purser.budget.scopes.check_id` accepts."""
SCHEMA_REF = "#/components/schemas/{model}"
SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key from `purser keys create` or POST /v1/keys."},
    "browser": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "A browser session."},
    "csrf": {"type": "apiKey", "in": "header", "name": CSRF_HEADER, "description": "With `browser`, for changes."},
}

Operation = dict[str, Any]


def document(app: FastAPI, routers: Sequence[APIRouter]) -> dict[str, Any]:
    """Returns the whole document, which is created once.

    Args:
        app: the application with the endpoints.
        routers: routers whose endpoints require permissions.
    """
    if app.openapi_schema is None:
        app.openapi_schema = _document(app, routers)
    return app.openapi_schema


def openapi_router(app: FastAPI) -> APIRouter:
    """Creates the route `/openapi.json`, which serves cached bytes with an ETag."""
    router = APIRouter(include_in_schema=False)

    @cache
    def made() -> tuple[bytes, str]:
        body = json.dumps(app.openapi()).encode()
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    @router.head("/openapi.json")
    @router.get("/openapi.json")
    async def show(request: Request) -> Response:
        body, tag = await asyncio.to_thread(made)
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    return router


def operations(made: Mapping[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Yields method, path and operation object of every endpoint in a document."""
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
        _add_problems(method, path, operation)
        _add_examples(operation)
    return _with_neat_names(made)


def _with_neat_names(made: dict[str, Any]) -> dict[str, Any]:
    """Renames `PageOf[EntryView]` to `EntryPage`."""
    text = re.sub(r'PageOf[_[](\w+?)(?:View|Answer)?[_\]](?=")', r"\1Page", json.dumps(made))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _permissions(router: APIRouter) -> Iterator[tuple[tuple[str, str], Permission]]:
    for route in router.routes:
        for dependency in route.dependant.dependencies:  # type: ignore[attr-defined] # all are instances of APIRoute
            if isinstance(dependency.call, Needs):
                path = re.sub(r":\w+}", "}", route.path)  # type: ignore[attr-defined]
                for method in route.methods:  # type: ignore[attr-defined]
                    yield (method.lower(), path), dependency.call.permission


def _operation_id(path: str, operation: Operation) -> str:
    """The operation id, such as `holds_ask`: resource and function."""
    resource = path.removeprefix("/v1/").strip("/").split("/")[0].replace("-", "_")
    function = re.sub(rf"_v1_{resource}.*$|_{resource}_get$", "", operation["operationId"])
    function = re.sub(rf"_({resource}|{resource.rstrip('s').rpartition('_')[2]})$", "", function)
    return resource if function == resource else f"{resource}_{function}"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;])\s|\n\n", text, maxsplit=1)[0].rstrip(".;")


def _add_components(made: dict[str, Any]) -> None:
    components = made.setdefault("components", {})
    _, tasks = models_json_schema([(TaskFile, "validation")], ref_template=SCHEMA_REF)
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "Problem", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(tasks["$defs"] | {"Problem": SCHEMA})
    # The gateway fills it in: see `with_models`.
    schemas["Agent"]["required"].remove("model")
    components["securitySchemes"] = SECURITY
    components["responses"] = {
        str(status): {
            "description": shown.description,
            "content": {MEDIA_TYPE: {"schema": {"$ref": SCHEMA_REF.format(model="Problem")}, "example": shown.example}},
        }
        for status, shown in STATUSES.items()
    }
    body = made["paths"]["/v1/tasks"]["post"]["requestBody"]
    body["content"]["application/json"]["schema"] = {"$ref": SCHEMA_REF.format(model="TaskFile")}


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


def _add_problems(method: str, path: str, operation: Operation) -> None:
    """Adds the possible problems: of any request, of one that names an object, and of one that changes something."""
    takes_body = "requestBody" in operation
    responses = operation["responses"]
    responses.pop("422", None)
    if not path.startswith("/v1/"):
        possible = [503] if path == "/readyz" else []
    else:
        possible = [401, 403, 422, 429, 503]
        possible += [404] if "{" in path else []
        possible += [409] if method != "get" and (takes_body or "{" in path) else []
        possible += [410] if "{session_id}" in path or (path == "/v1/tasks" and takes_body) else []
        possible += [413, 415] if takes_body else []
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
    """Example body and response by operation id."""
    text = resources.files("purser.gateway.http").joinpath("openapi_examples.json").read_text("utf-8")
    read: dict[str, dict[str, Any]] = json.loads(text)
    return read
