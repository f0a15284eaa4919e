"""Features of texts: the fast search for time expressions finds what the pattern does."""

import random

from purser.context.conversation.wording import TIME, times

WORDS = (
    "I", "met", "her", "two", "weeks", "ago", "an", "Hour", "minute", "yesterday", "TOMORROW", "last", "this", "each",
    "busy", "Friday", "Mondays", "May", "march", "June", "december", "year", "evenings", "Agosto", "café", "since", "7",
    "昨天", "3天前", "来週", "어제", "Überstunden", ",", ".", "day", "days", "next", "ago.", "tonight!",
)  # fmt: skip


def test_times_are_counted_as_the_pattern_finds_them(seed: int) -> None:
    chance, found = random.Random(seed), 0
    for _ in range(3_000):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 14)))
        expected = len(TIME.findall(text))
        assert times(text) == expected, text
        found += expected
    assert found > 3_000
