"""Bodies are decoded by the rules of their model: never one that the model refuses, and never to other values."""

import json
import re
from typing import Annotated, Any

import pytest
from fastapi.exceptions import RequestValidationError
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, Field, ValidationError, field_validator

from purser.budget.errors import InvalidRequest
from purser.gateway.http.bodies import MAX_BODY, MAX_DEPTH, read_json
from purser.gateway.http.plain_bodies import PlainBodies
from purser.wire.holds import AttemptBody, HoldBatchBody, HoldRequestBody, SettleBody

HOLD = {
    "key": "k1",
    "path": ["session:s1", "task:t1"],
    "tokens": 5,
    "nano_usd": 7,
    "model": "gpt",
    "min_tokens": 2,
    "lease_ms": 1_000,
    "tags": {"team": "search"},
    "start": True,
}
VALID: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (HoldRequestBody, HOLD),
    (HoldBatchBody, {"holds": [HOLD, {"key": "k2", "path": ["session:s1"], "tokens": 1}]}),
    (AttemptBody, {"attempt": 1}),
    (SettleBody, {"attempt": 1, "usage": {"total": 5}, "nano_usd": 7}),
    (SettleBody, {"attempt": 1, "usage": {"input_tokens": 5, "details": {"cached": [1, 2.5, None]}}}),
]
BOUNDS = st.sampled_from([0, 1, -1, 10**6, 10**6 + 1, 10**9, 10**9 + 1, 10**15, 10**15 + 1, 86_400_000, 10**30])
LENGTHS = st.sampled_from([0, 1, 10, 11, 18, 19, 100, 101, 256, 257])
TEXTS = st.one_of(
    st.text(max_size=5), LENGTHS.map("中".__mul__), st.sampled_from(["\0", "\u2028", "\ud800", "😀", "a\x7f", "\x01"])
)
SCALARS = st.one_of(st.none(), st.booleans(), st.floats(), BOUNDS, TEXTS)
VALUES = st.one_of(
    SCALARS,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)),
    LENGTHS.map(lambda length: ["session:s"] * length),
    LENGTHS.map(lambda length: {str(number): "x" for number in range(length)}),
    st.sampled_from([MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1]).map(
        lambda depth: json.loads("[" * depth + "]" * depth)
    ),
)


@st.composite
def changed(draw: st.DrawFn) -> tuple[type[BaseModel], bytes]:
    """A valid body, with another value for a field, a field more, less or repeated, or another byte."""
    model, valid = draw(st.sampled_from(VALID))
    body = json.loads(json.dumps(valid))
    at = draw(st.sampled_from([body, *(one for value in body.values() if isinstance(value, list) for one in value)]))
    if isinstance(at, dict):
        name = draw(st.one_of(st.sampled_from(sorted(at)), TEXTS))
        if draw(st.booleans()):
            at[name] = draw(VALUES)
        else:
            at.pop(name, None)
    text = json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        text = re.sub(rb'("\w+": [^{}\[\],]+,)', rb"\1 \1", text, count=draw(st.integers(1, 3)))
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.binary(max_size=2)) + text[place + draw(st.integers(0, 2)) :]
    return model, text


def read(model: type[BaseModel], body: bytes) -> dict[str, Any] | None:
    """The fields of a body as its model reads them; `None` if it refuses it."""
    try:
        return model.model_validate(read_json(body)).model_dump()
    except (ValidationError, RequestValidationError, InvalidRequest):
        return None


def shown(value: Any) -> Any:
    """The fields of what has been decoded."""
    if hasattr(value, "__struct_fields__"):
        return {name: shown(getattr(value, name)) for name in value.__struct_fields__}
    return [shown(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("model", "body"), VALID)
def test_a_plain_body_is_decoded_to_the_values_of_its_model(model: type[BaseModel], body: dict[str, Any]) -> None:
    text = json.dumps(body).encode()
    decoded = shown(PlainBodies(model).decode(text))
    assert decoded == read(model, text)
    assert decoded is not None


BODIES = {model: PlainBodies(model) for model, _ in VALID}


@settings(max_examples=150, deadline=None)
@given(changed())
def test_what_is_decoded_is_what_its_model_reads(one: tuple[type[BaseModel], bytes]) -> None:
    model, body = one
    decoded = BODIES[model].decode(body)
    if decoded is not None:
        assert repr(shown(decoded)) == repr(read(model, body))


@pytest.mark.parametrize("field", ["key", "model"])
def test_a_check_of_the_model_is_applied(field: str) -> None:
    unprintable = HOLD | {field: "a\x7fb"}
    assert PlainBodies(HoldRequestBody).decode(json.dumps(unprintable).encode()) is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"attempt": 1, "usage": {"total": 5, "note": "\\u0000"}}',
        b'{"attempt": 1, "usage": {"total": 5, "x": ' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}}",
        b'{"attempt": 1, "usage": {"total": 5, "x": 1e999}}',
        b'{"attempt": 1, "usage": {"total": 5, "x": "' + b"y" * MAX_BODY + b'"}}',
        b'{"attempt": 1, "attempts": 1, "usage": {"total": 5}}',
        b'{"attempt": 1, "attempt": 1, "usage": {"total": 5}}',
        b'{"attempt": 1, "usage": {"total": 5, "total": 6}}',
        b'{"attempt": 1, "usage": {"total": 5, "x": [{"y": "1", "z": "2", "y": "3"}]}}',
        b'{"attempt": 1, "usage": {"total": 5, "tot\\u0061l": 6}}',
        b'{"attempt": 1, "usage": {"total": 5, "total": 6, "x": "\\u0022\\u0022"}}',
    ],
)
def test_a_body_that_is_not_plain_is_left_to_its_model(body: bytes) -> None:
    assert PlainBodies(SettleBody).decode(body) is None


def test_rules_that_cannot_be_applied_are_noticed_at_once() -> None:
    class Checked(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def _known(cls, value: str) -> str:
            return value

    class Before(BaseModel):
        name: Annotated[str, BeforeValidator(str)]

    class Patterned(BaseModel):
        name: str = Field(pattern="a+")

    class Items(BaseModel):
        names: list[Annotated[float, Field(ge=0)]]

    for model in (Checked, Before, Patterned, Items):
        with pytest.raises(TypeError):
            PlainBodies(model)
