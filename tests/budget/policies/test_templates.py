"""Patterns of templates."""

import re

import pytest

from purser.budget.errors import InvalidScope
from purser.budget.policies.templates import Pattern, is_pattern


@pytest.mark.parametrize("text", ["session:*", "agent:*/writer", "agent:t1/*", "agent:*", "user:team-*", "tenant:*"])
def test_a_pattern_is_a_kind_and_an_id_with_a_star(text: str) -> None:
    assert str(Pattern.parse(text)) == text
    assert is_pattern(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("*", "has no kind"),
        ("squad:*", "has no kind"),
        ("session:", "is not valid"),
        ("session:a*/b", "one '/' for agents only"),
        ("agent:*/b/c", "is not valid"),
        ("session:%*", "is not valid"),
        ("session:s1", "it is one scope"),
    ],
)
def test_what_is_no_pattern_is_named_with_the_remedy(text: str, said: str) -> None:
    with pytest.raises(InvalidScope, match=re.escape(said)):
        Pattern.parse(text)
