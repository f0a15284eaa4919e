"""A summary without a model."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from context.compression import Source
from context.extraction import extract
from context.tokens import count_text
from tests.support.conversations import assistant, result, talk, user


def count(text: str) -> int:
    """Tokens of a text."""
    return count_text(text, "gpt-4o").tokens


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
