"""Estimators of other systems: their rules and reference figures."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from purser.context.errors import InvalidSettings
from purser.context.tokens.legacy import ESTIMATORS, legacy_estimate


@pytest.mark.parametrize(
    ("name", "texts", "tokens"),
    [
        ("shannon", ["a" * 40, "b" * 3], int((15 + 5) * 1.1)),
        ("shannon_code", ["a" * 30], int(15 * 1.1)),
        ("education", ["a" * 10, "a", ""], (4 + 4) + (1 + 4) + (0 + 4)),
        ("optimizer", ["a" * 10, "a" * 15], 10),
        ("bytes", ["hello", "é"], (2 + 4) + (1 + 4) + 3),
        ("letta", ["a" * 40], 13),
        ("shannon_table", ["你好吗abcd"], 2 + 1 + 4 + 3),
        ("cjk", ["你好吗abcd"], 3 + 1 + 4 + 3),
    ],
)
def test_each_has_its_rule(name: str, texts: list[str], tokens: int) -> None:
    assert legacy_estimate(name, texts) == tokens


def test_that_of_langchain_is_what_langchain_counts_but_for_the_length_of_roles() -> None:
    messages = [HumanMessage("How long is the way from here to the sea?"), AIMessage("Two hours on foot.")] * 20
    counted = count_tokens_approximately(messages)
    assert legacy_estimate("langchain", [str(message.content) for message in messages]) == pytest.approx(
        counted, rel=0.05
    )


def test_nothing_is_nothing_or_what_opens_a_reply() -> None:
    assert {legacy_estimate(name, []) for name in ESTIMATORS} == {0, 3}


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InvalidSettings, match="no estimator 'tea-leaves': use one of shannon, "):
        legacy_estimate("tea-leaves", [])
