"""Features of texts: fast searches for time expressions and ends of sentences find what their patterns do."""

import random

import pytest

from purser.context.conversation import wording
from purser.context.conversation.wording import TIME, asks, negations, questions, sentences, times

WORDS = (
    "I", "met", "her", "two", "weeks", "ago", "an", "Hour", "minute", "yesterday", "TOMORROW", "last", "this", "each",
    "busy", "Friday", "Mondays", "May", "march", "June", "december", "year", "evenings", "Agosto", "café", "since", "7",
    "昨天", "3天前", "来週", "어제", "Überstunden", "übermorgen", "Montags", "viernes", "février",
    ",", ".", "day", "days", "next", "ago.", "tonight!",
)  # fmt: skip


def test_times_are_counted_as_the_pattern_finds_them(seed: int) -> None:
    chance, found = random.Random(seed), 0
    for _ in range(3_000):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 14)))
        expected = len(TIME.findall(text))
        assert times(text) == expected, text
        found += expected
    assert found > 3_000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("We don't fly, and never by night", 2),
        ("Nicht am Montag, und keine Nüsse", 2),
        ("nunca los miércoles, sin lactosa", 1),
        ("Il ne prend jamais de camembert, sans exception", 2),
        ("不要辣", 1),
        ("Sin is a word, and pass is another", 0),
    ],
)
def test_negations_are_counted_in_several_languages(text: str, count: int) -> None:
    assert negations(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Why? How?", 2),
        ("真的？是吗?", 2),
        ("¿Qué? « Quoi ? »", 2),
        ("Is it `user?.name ?? '?'` here?", 1),
        ("Use this:\n```ts\nconst a = b ? c : d; // why?\n```\nIt works.", 0),
        ("```\nselect ? -- never closed", 0),
        ("See https://shop.example/items?id=3&sort=price?desc and pay.", 0),
        ("Have you seen https://shop.example/items?id=3?", 1),
        ("Is it at https://shop.example/items?", 1),
        ("It`s late, isn`t it? Don`t you think?", 2),
    ],
)
def test_question_marks_in_code_and_addresses_ask_nothing(text: str, count: int) -> None:
    assert questions(text) == count


def test_sentences_end_where_the_pattern_says(seed: int) -> None:
    chance, ends = random.Random(seed), 0
    for _ in range(3_000):
        text = "".join(chance.choices("a A.!?…。！？；\n\t 5Mai ", k=chance.randint(1, 40)))
        expected = [" ".join(one.split()) for one in wording._SENTENCE_END.split(text)]
        assert list(sentences(text)) == [one for one in expected if one], text
        ends += len(expected)
    assert ends > 3_000
    assert list(sentences("Am 5. Mai kam J. Doe. Er ging.\n1. Salz")) == [
        "Am 5. Mai kam J. Doe.",
        "Er ging.",
        "1. Salz",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Is it open?",
        'Did he ask "when?"',
        "附近有没有便宜的酒店，推荐一下。",
        "价格是不是三百元。",
        "它的门票是多少。",
        "你喜欢哪个。",
        "还远吗。",
        "おいくらですか。",
        "いつ着くか",
        "行きますか",
        "몇 시에 오나요.",
    ],
)
def test_questions_are_recognized_without_their_mark(sentence: str) -> None:
    assert asks(sentence)


@pytest.mark.parametrize("sentence", ["It is open.", "他没有什么问题。", "我不多说了。", "青い靴がいい。", "좋아요."])
def test_what_states_something_asks_nothing(sentence: str) -> None:
    assert not asks(sentence)
