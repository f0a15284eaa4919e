"""Renderings of histories as text and as messages."""

from hypothesis import given
from hypothesis import strategies as st

from purser.context.conversation.messages import Message
from purser.context.conversation.renderings import ACKNOWLEDGEMENT, render_structured, render_text
from purser.context.tokens import count_text

MODEL = "gpt-4o"
CALL = {"id": "c1", "type": "function", "function": {"name": "find_class", "arguments": "{}"}}
HISTORY = [
    Message("user", "Which classes do I teach?"),
    Message("assistant", "I look it up.", tool_calls=(CALL,)),
    Message("tool", "7b and 9a", tool_call_id="c1"),
    Message("assistant", "7b and 9a."),
]


def test_text_has_a_line_for_each_message_with_its_action() -> None:
    assert render_text(HISTORY, model=MODEL).splitlines() == [
        "USER: Which classes do I teach?",
        "ASSISTANT: [find_class] I look it up.",
        "TOOL: 7b and 9a",
        "ASSISTANT: 7b and 9a.",
    ]


def test_a_summary_comes_first_with_its_number_of_turns() -> None:
    text = render_text(HISTORY[:1], summary="They greeted.", summarised=12, model=MODEL)
    assert text == "[Earlier conversation summary (12 turns)]:\nThey greeted.\nUSER: Which classes do I teach?"
    assert render_text([], summary="They greeted.", summarised=12, model=MODEL).endswith("They greeted.")
    assert render_text([], model=MODEL) == ""


def test_turns_are_whole_and_the_first_that_does_not_fit_ends_the_text() -> None:
    short, long = Message("user", "short"), Message("assistant", "long " * 100)
    tokens = count_text("ASSISTANT: 7b and 9a.\n", MODEL).tokens
    assert render_text([short, long, HISTORY[3]], most_tokens=tokens + 50, model=MODEL) == "ASSISTANT: 7b and 9a."
    assert render_text(HISTORY, most_tokens=tokens + 12, model=MODEL) == "ASSISTANT: 7b and 9a.", "no half of a call"
    assert render_text(HISTORY, most_tokens=0, model=MODEL) == ""
    assert render_text(HISTORY, most_turns=1, model=MODEL) == "ASSISTANT: 7b and 9a."


def test_the_summary_takes_its_tokens_first() -> None:
    alone = count_text("[Earlier conversation summary (2 turns)]:\nThey greeted.\n", MODEL).tokens
    reserved = render_text(HISTORY, summary="They greeted.", summarised=2, most_tokens=alone, model=MODEL)
    assert reserved == "[Earlier conversation summary (2 turns)]:\nThey greeted."


def test_what_is_too_large_by_itself_is_clipped_with_a_mark() -> None:
    long = Message("user", "word " * 1_000)
    newest = render_text([HISTORY[0], long], most_tokens=100, model=MODEL)
    assert newest.startswith("USER: word word")
    assert "tokens left out" in newest
    rendered = render_text(HISTORY, summary="word " * 1_000, summarised=2, most_tokens=100, model=MODEL)
    assert rendered.startswith("[Earlier conversation summary (2 turns)]:\nword")
    assert "tokens left out" in rendered


@given(st.lists(st.text(max_size=80), max_size=30), st.text(max_size=200), st.integers(0, 300))
def test_the_text_never_exceeds_its_budget(texts: list[str], summary: str, most_tokens: int) -> None:
    messages = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(texts)]
    text = render_text(messages, summary=summary, summarised=3, most_tokens=most_tokens, model=MODEL)
    assert count_text(text, MODEL).tokens <= most_tokens


def test_messages_carry_the_summary_as_a_pair() -> None:
    summarised = Message("user", "[Context: Summary of earlier conversation (12 turns)]:\nThey greeted.")
    acknowledged = Message("assistant", ACKNOWLEDGEMENT)
    assert render_structured(HISTORY, summary="They greeted.", summarised=12) == [summarised, acknowledged, *HISTORY]
    assert render_structured(HISTORY) == HISTORY
