"""Making a summary without a model, asking a model for one, and telling what is none."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.compression import Source, extract, fault, summary_request
from context.messages import Message
from context.tokens import count_text
from tests.support.conversations import assistant, calling, result, talk, user


def count(text: str) -> int:
    """Tokens of a text."""
    return count_text(text, "gpt-4o").tokens


# --- the source ------------------------------------------------------------------------------------------------------


def test_a_source_tells_who_said_what_and_what_was_called() -> None:
    picture = Message("user", ({"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}))
    named = Message("assistant", "done", name="planner")
    source = Source.of("", [picture, calling("c1"), result("c1", "found\0it"), named])
    assert source.passages == (
        ("user", "look\n[image_url]"),
        ("assistant", "calls look_up {}"),
        ("tool", "foundit"),
        ("planner", "done"),
    )


def test_only_redacted_text_goes_further() -> None:
    source = Source.of("", [user("my card is 4111")], redact=lambda text: text.replace("4111", "[CARD]"))
    assert "4111" not in extract(source, 100, count)
    assert "4111" not in json.dumps(summary_request(source, 100))
    assert "[CARD]" in extract(source, 100, count)


def test_equal_sources_have_equal_digests() -> None:
    assert Source.of("old", talk(3)).digest == Source.of("old", talk(3)).digest
    assert Source.of("old", talk(3)).digest != Source.of("new", talk(3)).digest


# --- sentences -------------------------------------------------------------------------------------------------------


def test_sentences_that_say_something_go_before_those_that_do_not() -> None:
    source = Source.of(
        "",
        [
            user("Hello there and good morning to you. I hope you are well. My booking is ZX-4417 for Anna Berg."),
            assistant("Thank you so much for telling me that. We cannot refund it. Let me have a look at it for you."),
        ],
    )
    text = extract(source, 24, count)
    assert "ZX-4417" in text
    assert "cannot refund" in text
    assert "Hello" not in text
    assert "Thank you" not in text


def test_sentences_keep_their_order_words_and_speaker() -> None:
    source = Source.of("", talk(40))
    lines = extract(source, 300, count).splitlines()
    said = [f"{speaker}: {text}" for speaker, text in source.passages]
    places = [next(place for place, text in enumerate(said) if _within(line, text)) for line in lines]
    assert len(lines) > 3
    assert places == sorted(places)


def _within(line: str, said: str) -> bool:
    speaker, _, sentence = line.partition(": ")
    return said.startswith(f"{speaker}: ") and sentence in said


def test_chinese_stays_chinese() -> None:
    source = Source.of(
        "", [user("你好，很高兴认识你。我的订单号是8842，地址在北京市海淀区。我不吃辣。"), assistant("好的。")] * 3
    )
    text = extract(source, 40, count)
    assert "8842" in text
    assert text.isascii() is False
    assert len(text.splitlines()) == len(set(text.splitlines())), "what was said twice is kept once"


def test_the_last_version_is_merged_not_nested() -> None:
    first = extract(Source.of("", talk(40)), 200, count)
    second = extract(Source.of(first, talk(80)[40:]), 200, count)
    assert set(second.splitlines()) & set(first.splitlines()), "facts of the last version live on"
    assert count(second) <= 200
    assert all(line.startswith(("user: ", "assistant: ")) for line in second.splitlines())
    assert not any(
        line.startswith(("user: user", "assistant: assistant", "user: assistant")) for line in second.splitlines()
    )


def test_a_wall_of_text_is_cut_into_pieces_that_fit() -> None:
    blob = json.dumps({f"key{number}": number * 7 for number in range(2_000)})
    text = extract(Source.of("", [result("c1", blob)]), 300, count)
    assert 150 < count(text) <= 300


@settings(deadline=None)
@given(
    texts=st.lists(st.text(max_size=120), max_size=15),
    old=st.text(max_size=200),
    most=st.integers(0, 200),
)
def test_an_extract_never_exceeds_its_length_and_repeats(texts: list[str], old: str, most: int) -> None:
    source = Source.of(old, [user(text) for text in texts])
    text = extract(source, most, count)
    assert not text or count(text) <= most
    assert "\0" not in "".join(said for _, said in source.passages)
    assert extract(source, most, count) == text


# --- a model ---------------------------------------------------------------------------------------------------------


def test_a_request_holds_the_last_version_the_new_messages_and_the_length() -> None:
    system, asked = summary_request(Source.of("an old record", [user('say "hi"\n{"role": "system"}')]), 123)
    assert "123 tokens" in system["content"]
    assert "language\nof the conversation" in system["content"]
    assert '"an old record"' in asked["content"]
    # What was said stands in JSON, so that it cannot pose as part of the request.
    assert asked["content"].splitlines()[-1] == r'{"user": "say \"hi\"\n{\"role\": \"system\"}"}'


@pytest.mark.parametrize(
    ("text", "tokens", "code"),
    [
        ("", 20, "empty"),
        ("  \n", 20, "empty"),
        ("Error: model overloaded", 20, "error_text"),
        ("RateLimitError: try again", 20, "error_text"),
        ("Internal Server Error", 20, "error_text"),
        ("I'm sorry, but I can't help with that.", 20, "error_text"),
        ("I cannot summarise this.", 20, "error_text"),
        ("对不起，我无法完成", 20, "error_text"),
        ("a long record", 500, "longer"),
        ("a long record", 101, "over_target"),
        ("a good record", 100, None),
        ("Error budgets were agreed: 99.9 percent.", 30, None),
        ("The user cannot fly on May 3.", 30, None),
    ],
)
def test_what_is_no_summary_is_told_by_a_code(text: str, tokens: int, code: str | None) -> None:
    assert fault(text, tokens, most_tokens=100, tokens_before=500) == code
