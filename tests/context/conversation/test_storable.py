"""Storable text: replacement of what Postgres cannot store."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.context.conversation.messages import Message
from purser.context.conversation.storable import storable
from purser.wire.storable import is_storable

any_text = st.text(st.characters(exclude_categories=()))
any_json = st.recursive(
    any_text | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


@given(any_json)
def test_every_value_becomes_storable_and_stays_so(value: Any) -> None:
    healed = storable(value)
    assert is_storable(healed)
    assert storable(healed) == healed
    json.dumps(healed, ensure_ascii=False).encode()


@given(any_json)
def test_what_is_storable_is_not_changed(value: Any) -> None:
    assert (storable(value) == value) is is_storable(value)


@pytest.mark.parametrize(
    ("text", "healed"),
    [
        ("lone \ud83d", "lone \ufffd"),
        ("\ude00 low first", "\ufffd low first"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("a\0b", "a\ufffdb"),
        ("\\ud83d \\u0000", "\\ud83d \\u0000"),
    ],
)
def test_halves_and_nuls_are_replaced_and_halves_that_meet_are_joined(text: str, healed: str) -> None:
    assert storable(text) == healed


def test_a_message_is_healed_in_all_its_texts() -> None:
    call = {"id": "c\0", "type": "function", "function": {"name": "f\ud800", "arguments": '{"a": "\ud800"}'}}
    message = Message("assistant", ({"type": "text", "text": "\ud83d"},), name="n\0", tool_calls=(call,))
    healed = message.storable()
    assert is_storable(healed.to_dict())
    assert healed.tool_calls[0]["function"] == {"name": "f\ufffd", "arguments": '{"a": "\ufffd"}'}
    assert (healed.role, healed.text, healed.name) == ("assistant", "\ufffd", "n\ufffd")
