"""The client's types and operations are those of the gateway's OpenAPI document."""

import ast
import importlib.util
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import purser_client.types
from docs.http_page import openapi
from purser.gateway.http.openapi import operations
from purser_client.operations import approvals, budgets, holds, reports, sessions, tasks
from purser_client.operations.operation import Offered, Operation
from purser_client.types import BudgetBody, HoldRequestBody

ROOT = Path(__file__).parents[2]
GROUPS = (holds.Holds, budgets.Budgets, tasks.Tasks, sessions.Sessions, approvals.Approvals, reports.Reports)
TAGS = {"holds", "budgets", "tasks", "sessions", "approvals", "reports"}
SAMPLES: dict[str, Any] = {
    "path": ["session:s1"],
    "holds": [HoldRequestBody(key="k1", path=["session:s1"], tokens=1)],
    "usage": {"total": 1},
    "fields": {},
    "policies": {"session:*": None},
    "messages": [{"role": "user", "content": "hello"}],
    "decision": "approve",
    "preference": "fast",
    "task": {"task_id": "t1"},
}
"""Values for parameters whose annotation does not say which value is meant."""
TYPES = Path(purser_client.types.__file__).parent
WIRE = TYPES.parent / "wire"
MADE = {"Preset"}
"""Types without a class: the names of a table, in a query."""
SAME_NAMES = {"Body", "Problem"}
"""What the client names in the same way: the base class of its task file, and an error."""
OTHER_WORDS = {"Kind"}
"""Words that name something else in another package too, such as the kinds of facts."""
TAKES_MORE = {"sessions_window"}
"""Methods that send any further parameter that they are called with."""
JSON_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
PLAIN: dict[str, Any] = {"int": 1, "float": 1.0, "bool": True}


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    return openapi()


def test_the_types_are_those_that_are_generated_now() -> None:
    found = importlib.util.spec_from_file_location("client_generate", ROOT / "client" / "generate.py")
    assert found is not None
    assert found.loader is not None
    generate = importlib.util.module_from_spec(found)
    found.loader.exec_module(generate)
    assert generate.FILE.read_text("utf-8") == generate.text(), "run `python client/generate.py`"


def test_each_type_of_the_document_is_written_in_the_shared_folder_and_nowhere_else(spec: dict[str, Any]) -> None:
    shared = {name: file for file in WIRE.glob("*.py") for name in _classes(file)}
    assert len(shared) > 100
    named = _named(spec) - {"PageOf", *_classes(TYPES / "task_file.py")}
    pages = {name for name in named if name.endswith("Page")}
    assert named - pages - MADE <= shared.keys()
    assert named - MADE <= set(purser_client.types.__all__)
    files = [file for place in (ROOT / "gateway", TYPES.parent) for file in place.rglob("*.py")]
    others = [file for file in files if WIRE not in file.parents]
    assert [(file, name) for file in others for name in _classes(file) if name in shared.keys() - SAME_NAMES] == []


def test_words_are_those_of_the_server_and_written_once() -> None:
    packages = (ROOT / package for package in ("budget", "context", "activities", "workflows", "gateway"))
    files = [file for package in packages for file in package.rglob("*.py")]
    words = set(_classes(WIRE / "enums.py"))
    enums = [(file, name) for file in files for name, bases in _classes(file).items() if "StrEnum" in bases]
    assert len(enums) > 20
    assert {name for _, name in enums if name in words} <= OTHER_WORDS


def _named(spec: Mapping[str, Any]) -> set[str]:
    """The types in bodies, answers and parameters of the endpoints that the client offers."""
    found: set[str] = set()
    left: list[Any] = [one for _, _, one in operations(spec) if one["tags"][0] in TAGS]
    while left:
        names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(left.pop()))) - found
        found |= names
        left += [spec["components"]["schemas"][name] for name in names]
    return found


def _classes(file: Path) -> dict[str, str]:
    """The classes that a file defines, each with its bases."""
    tree = ast.parse(file.read_text("utf-8"))
    return {one.name: " ".join(map(ast.unparse, one.bases)) for one in tree.body if isinstance(one, ast.ClassDef)}


def test_each_type_has_the_fields_and_types_of_the_document(spec: dict[str, Any]) -> None:
    schemas = spec["components"]["schemas"]
    compared = 0
    for name in purser_client.types.__all__:
        one = getattr(purser_client.types, name)
        if issubclass(one, StrEnum):
            assert [str(member) for member in one] == schemas[name]["enum"], name
            continue
        assert issubclass(one, BaseModel)
        made = one.model_json_schema(ref_template="#/components/schemas/{model}", mode="validation")
        assert set(made.get("required", ())) == set(schemas[name].get("required", ())), name
        fields = schemas[name].get("properties", {})
        assert list(made.get("properties", {})) == list(fields), name
        for field, schema in fields.items():
            assert _shape(made["properties"][field]) == _shape(schema), f"{name}.{field}"
            compared += 1
    assert compared > 500


def _shape(schema: Mapping[str, Any]) -> Any:
    """What a schema says of types, without limits and texts."""
    if "anyOf" in schema or "oneOf" in schema:
        kinds = [_shape(each) for each in schema.get("anyOf") or schema["oneOf"]]
        # An optional field has null as its default, whether the document lists it or not.
        kinds = [kind for kind in kinds if kind != ("null",)]
        return kinds[0] if len(kinds) == 1 else sorted(map(repr, kinds))
    if "$ref" in schema:
        return schema["$ref"]
    match schema.get("type"):
        case "array":
            inner = schema.get("prefixItems") or [schema.get("items", {})]
            return ("array", [_shape(each) for each in inner])
        case "object":
            values = schema.get("additionalProperties", True)
            return ("object", _shape(values) if isinstance(values, dict) else "any")
        case kind:
            return (kind, schema["format"]) if schema.get("format") == "date-time" else (kind,)


def _offered() -> Iterator[tuple[str, Operation[Any]]]:
    """One operation of each method of the client."""
    for group in GROUPS:
        for name, method in inspect.getmembers(group, lambda one: isinstance(one, Offered)):
            yield f"{group.__name__}.{name}", method(**_arguments(method))


def _arguments(method: Any) -> dict[str, Any]:
    """A value for every parameter of a method."""
    chosen = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        chosen[name] = _sample(name, str(parameter.annotation))
    return chosen


def _sample(name: str, annotation: str) -> Any:
    if "BudgetBody" in annotation:
        return BudgetBody(limit_tokens=1)
    if name in SAMPLES:
        return SAMPLES[name]
    if "Mapping" in annotation:
        return {}
    if "datetime" in annotation:
        return datetime(2026, 11, 20, tzinfo=UTC)
    return next((value for kind, value in PLAIN.items() if re.search(rf"\b{kind}\b", annotation)), "x1")


def test_each_method_sends_what_the_document_describes(spec: dict[str, Any]) -> None:
    described = {
        one["operationId"]: (method, path, one) for method, path, one in operations(spec) if one["tags"][0] in TAGS
    }
    sent = dict(_offered())
    for name, operation in sent.items():
        method, path, one = described[operation.name]
        assert operation.method == method.upper(), name
        assert re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^?]+", re.escape(path)), operation.path), name
        known = {each["name"].lower() for each in one.get("parameters", ()) if each["in"] in ("query", "header")}
        assert {each.lower() for each in (*operation.query, *operation.headers)} <= known, name
        assert ("requestBody" in one) == (operation.content() is not None), name
        _check_query(name, operation.query, one)
        answer = next(each for status, each in one["responses"].items() if status.startswith("2"))
        reference = answer["content"]["application/json"]["schema"]["$ref"]
        assert getattr(purser_client.types, reference.rpartition("/")[2]) is operation.answer, name
    assert {operation.name for operation in sent.values()} == set(described)


def _check_query(name: str, sent: Mapping[str, Any], described: Mapping[str, Any]) -> None:
    """A method sends every parameter of the query, and numbers and booleans as such."""
    schemas = {each["name"]: each["schema"] for each in described.get("parameters", ()) if each["in"] == "query"}
    if described["operationId"] not in TAKES_MORE:
        assert schemas.keys() - sent.keys() <= {"format"}, name
    for parameter, value in sent.items():
        shape = _shape(schemas[parameter])
        if shape in (("boolean",), ("integer",), ("number",)):
            assert shape == (JSON_TYPES.get(type(value)),), f"{name}: {parameter}"
