"""Clipping of messages that exceed a window."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from purser.context.conversation.messages import Message
from purser.context.tokens import count_text
from purser.context.windows.clipping import beginning, clip, clip_message


def tokens(text: str) -> int:
    return count_text(text, "gpt-4o").tokens


FAMILY, FLAG, ACCENT = "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301"


@given(text=st.lists(st.sampled_from(("word ", "数", FAMILY, FLAG, ACCENT, "\n")), min_size=60, max_size=200))
def test_head_and_tail_are_cut_between_graphemes_and_a_mark_states_what_is_missing(text: list[str]) -> None:
    whole = "".join(text)
    clipped = clip(whole, 40, tokens)
    assert tokens(clipped) <= 40
    found = regex.fullmatch(r"(.*)\n\[… (\d+) tokens left out …\] (.*)", clipped, regex.DOTALL)
    assert found
    head, tail = found[1], found[3]
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert regex.findall(r"\X", whole)[: len(regex.findall(r"\X", head))] == regex.findall(r"\X", head)
    assert int(found[2]) == max(1, tokens(whole) - tokens(head) - tokens(tail))


def test_where_hardly_the_mark_fits_nothing_is_left() -> None:
    assert clip("word " * 100, 5, tokens) == ""


@given(text=st.lists(st.sampled_from(("word ", "数", FAMILY, FLAG, ACCENT)), min_size=1, max_size=80))
def test_a_beginning_ends_between_graphemes_and_a_mark_shows_that_more_follows(text: list[str]) -> None:
    whole = "".join(text)
    shown = beginning(whole, 25, tokens)
    assert tokens(shown) <= 25
    assert (shown == whole) == (tokens(whole) <= 25)
    assert shown == whole or shown.endswith("…")
    assert regex.findall(r"\X", whole)[: len(regex.findall(r"\X", shown)) - 1] == regex.findall(r"\X", shown)[:-1]


def test_where_not_even_the_first_letter_fits_there_is_no_beginning() -> None:
    assert [beginning(FAMILY, most, tokens) for most in (0, 1)] == ["", ""]


@pytest.mark.parametrize("length", [1_000, 100_000])
def test_a_clipped_text_uses_its_room(length: int) -> None:
    assert tokens(clip("word and more " * length, 200, tokens)) >= 190


@pytest.mark.timeout(60)
def test_a_run_of_flags_is_cut_between_them() -> None:
    """In quadratic time it takes minutes, which exceeds the timeout."""
    clipped = clip("a" + FLAG * 100_000, 200, len)
    assert clipped.startswith(f"a{FLAG}")
    assert set(regex.findall(r"\X", clipped.partition("…] ")[2])) == {FLAG}
    assert beginning(FLAG * 100_000, 101, len) == FLAG * 50 + "…"


def test_of_several_parts_the_longest_text_is_clipped() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    parts = ({"type": "text", "text": "Look:"}, image, {"type": "text", "text": "word " * 500})
    message = Message("user", parts)
    clipped = clip_message(message, 1_400, 1_000, tokens, " of order")
    assert clipped is not None
    assert isinstance(clipped.content, tuple)
    assert clipped.content[:2] == parts[:2]
    assert "tokens left out of order" in clipped.content[2]["text"]


def test_a_message_without_text_is_not_clipped() -> None:
    calls = ({"id": "a", "type": "function", "function": {"name": "f", "arguments": "x" * 900}},)
    assert clip_message(Message("assistant", tool_calls=calls), 300, 100, tokens, "") is None
