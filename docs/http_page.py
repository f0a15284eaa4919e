"""Renders docs/reference/http.md from the OpenAPI document; `python docs/generate.py` writes it."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from fastapi import FastAPI

from purser.gateway.access.roles import Role
from purser.gateway.app import ROUTERS
from purser.gateway.health import health_router
from purser.gateway.http import problems
from purser.gateway.http.openapi import TAGS, document, operations

HEAD = """# HTTP

{generated}

JSON over HTTP, below `/v1`, with `Authorization: Bearer KEY` or the session of a signed-in browser. The OpenAPI
document, with examples: `/openapi.json`. Requests are strict: an unknown field or query parameter is an error, nothing
is converted. Amounts are whole numbers up to 2^53 − 1, money is nano-dollars (1 dollar = 1,000,000,000), times
are ISO 8601. A body has at most 64 KiB; one with a task, messages, policies or a call of a model 16 MiB.

Lists that take `cursor` return `{{"items": […], "cursor"}}`; pass `cursor` for the next page, `limit` (100, at most
1,000) for its size. Others are whole.

Every POST can be repeated safely. The column `again` says why: by a `key`, number or id in the body, because repeating
it has the `same` effect, because it only `looks`, or by the `header` `Idempotency-Key`. The caller chooses that key,
which is stored for 24 hours: the same request under it gets the same answer, even if two arrive at once; another one
gets 409 `key-reused`. An answer with a secret is not stored: repeating the request gets 409 `already-made`.
"""
MORE = {
    "holds": "A verdict is always 200. The verdict on a step of an open hold is `allow`, unless an addition does not "
    "fit; if that is the one of another attempt, the attempt before it is charged its estimate all the same. Settling "
    "without a started attempt starts it. "
    "[How to use them](../how-to/clients/holds-over-http.md).",
    "budgets": "`null` resets a field to its default. [How to set them](../how-to/budgets.md).",
    "tasks": "The body is a [task file](task-file.md). [How to run them](../how-to/tasks.md).",
    "sessions": "Indexes are positions in the conversation, from 0 and inclusive; `null` is a message that the window "
    "added. [How to use them](../how-to/sessions.md).",
    "approvals": "[How to answer](../how-to/approvals.md).",
    "reports": "[How to read them](../how-to/usage-and-ledger.md).",
    "keys": "An admin may do everything. [Roles](../how-to/access.md#keys).",
}
AGAIN = {
    "holds_ask": "`key`",
    "holds_ask_each": "`key`",
    "holds_start_attempt": "number",
    "holds_settle": "number",
    "tasks_submit": "`task_id`",
    "approvals_decide": "`decision_id`",
    "sessions_append": "`key` or header",
    "sessions_recommend": "looks",
    "sessions_check_tools": "looks",
}
"""Column `again` for POSTs with an id in the body; other POSTs take the header or have the same effect again."""
PROBLEMS = """## Problems

Errors are RFC 9457 problems (`application/problem+json`). `type` is stable, `detail` names the error and `remedy` says
what to do; `retryable` and `retry_after_ms` say whether and when to repeat the request. A verdict is never a problem.

| type | status | meaning | remedy |
| --- | --- | --- | --- |"""
WIDTH = 120
OTHERS = {
    "body-refused": ("413, 415", "The body is refused", "Send less, or JSON that is not compressed."),
    "decision-refused": (
        "403, 409",
        "The decision is refused",
        "`reason` names the rule that forbids it; 409: the request is closed.",
    ),
    "method-not-allowed": ("405", "Method Not Allowed", "/openapi.json lists the paths, and the methods of each."),
    "too-many-requests": ("429", "Too many requests", "Repeat the request after `retry_after_ms`."),
    "not-ready": ("503", "Not ready", "From `/readyz`: `purser doctor` says what to do."),
    "internal": ("500", "The gateway failed", "A bug of Purser; the log has its type and code location."),
}


def http(generated: str) -> str:
    """Render the page.

    Args:
        generated: the note that the page is generated.
    """
    spec = openapi()
    parts = [HEAD.format(generated=generated)]
    for tag, text in TAGS.items():
        intro = f"{text} {MORE.get(tag, '')}".strip()
        parts.append(f"## {tag.capitalize()}\n\n{fill(intro, WIDTH, break_long_words=False, break_on_hyphens=False)}\n")
        parts.append("| | roles | again | takes | answers | |\n| --- | --- | --- | --- | --- | --- |")
        parts += [_row(method, path, one) for method, path, one in operations(spec) if one["tags"] == [tag]]
        parts.append("")
    parts += [PROBLEMS, *_problems(), "", "## Schemas\n"]
    parts += [line for name, schema in spec["components"]["schemas"].items() for line in _schema(name, schema)]
    return "\n".join(parts).rstrip() + "\n"


def openapi() -> dict[str, Any]:
    """The OpenAPI document of all endpoints."""
    app = FastAPI(title="Purser", version="1")
    for router in (*ROUTERS, health_router({})):
        app.include_router(router)
    return document(app, ROUTERS)


def _row(method: str, path: str, one: Mapping[str, Any]) -> str:
    query = [each["name"] for each in one.get("parameters", ()) if each["in"] == "query"]
    asked = f" <br>`?{'=&'.join(query)}=`" if query else ""
    success = next(response for status, response in one["responses"].items() if status.startswith("2"))
    body = _content(one.get("requestBody", {}))
    return (
        f"| `{method.upper()} {path}`{asked} | {_roles(one)} | {_again(method, one)} | {body} | {_content(success)} |"
        f" {one['summary'].rstrip('.')} |"
    )


def _roles(one: Mapping[str, Any]) -> str:
    roles = one.get("x-purser-roles", [])
    return "no key" if not roles else "any" if len(roles) == len(Role) else ", ".join(roles)


def _again(method: str, one: Mapping[str, Any]) -> str:
    if method != "post":
        return ""
    headers = [each["name"].lower() for each in one.get("parameters", ()) if each["in"] == "header"]
    return AGAIN.get(one["operationId"]) or ("header" if "idempotency-key" in headers else "same")


def _content(message: Mapping[str, Any]) -> str:
    kinds = message.get("content", {})
    shown = [_type(kinds["application/json"]["schema"])] if "application/json" in kinds else []
    return ", ".join([*shown, *(f"`{kind}`" for kind in kinds if kind != "application/json")])


def _problems() -> Iterator[str]:
    """A row of each kind; a slug that several have gets several, except for the objects that a 404 does not find."""
    kinds: dict[tuple[str, str], tuple[str, str, str]] = {}
    for kind in problems._KINDS.values():
        one = "" if kind.slug == "not-found" else kind.title
        kinds.setdefault((kind.slug, one), (str(kind.status), kind.title, kind.remedy))
    rows = [(slug, row) for (slug, _), row in kinds.items()] + list(OTHERS.items())
    for slug, (status, title, remedy) in rows:
        yield f"| `urn:purser:{slug}` | {status} | {title} | {remedy} |"


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n\n{_line(schema.get('description', ''))}".rstrip() + "\n"
    if "enum" in schema:
        yield "One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".\n"
    if "properties" in schema:
        yield "| field | type | |\n| --- | --- | --- |"
        needed = schema.get("required", ())
        for field, definition in schema["properties"].items():
            mark = "" if field in needed or name.endswith(("View", "Page", "Answer", "Problem")) else "?"
            yield f"| `{field}`{mark} | {_type(definition)} | {_line(definition.get('description', ''))} |"
        yield ""


def _type(schema: Mapping[str, Any]) -> str:
    """A short description of a schema, with links to schemas that have a section."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(choice) for choice in choices)
    if schema.get("type") == "array":
        inner = schema.get("items") or {}
        return f"list of {_type(inner)}" if inner else "list"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return {"date-time": "time", "date": "date"}.get(schema.get("format", "")) or str(schema.get("type", "anything"))


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
