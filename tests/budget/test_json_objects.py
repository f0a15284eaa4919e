"""Objects of JSON whose names must not repeat."""

import json

import pytest

from purser.budget.errors import InvalidRequest
from purser.budget.json_objects import read_object


def test_an_object_reads_as_usual() -> None:
    text = '{"a": {"limit": 1}, "b": [{"limit": 1}, {}]}'
    assert json.loads(text, object_pairs_hook=read_object) == json.loads(text)


@pytest.mark.parametrize("text", ['{"a": 1, "limit": 2, "limit": 2}', '[{"a": {"limit": 1, "b": 0, "limit": 3}}]'])
def test_a_name_that_occurs_twice_is_named(text: str) -> None:
    with pytest.raises(InvalidRequest, match="'limit' occurs twice in one object: state it once"):
        json.loads(text, object_pairs_hook=read_object)
