"""A pattern that is searched only in texts with its literals finds what it finds without them."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from purser.benchmarks.data import rows
from purser.context.conversation.wording import sentences
from purser.context.facts import patterns
from purser.context.facts.languages.chinese import CHINESE
from purser.context.facts.languages.english import ENGLISH
from purser.context.facts.languages.french import FRENCH
from purser.context.facts.languages.german import GERMAN
from purser.context.facts.languages.japanese import JAPANESE
from purser.context.facts.languages.korean import KOREAN
from purser.context.facts.languages.prefilter import FLAGS, Prefiltered, literals_of
from purser.context.facts.languages.spanish import SPANISH

LANGUAGES = (CHINESE, ENGLISH, FRENCH, GERMAN, JAPANESE, KOREAN, SPANISH)


@cache
def everything() -> dict[str, Prefiltered]:
    """All patterns of all languages, by their source."""
    return {one.pattern: one for one in _all()}


def _all() -> Iterator[Prefiltered]:
    for language in LANGUAGES:
        yield from (language.is_owned, language.is_cue, language.is_cue_after, language.is_interjection)
        yield from (language.is_alternative, language.is_changed, language.is_unsure, language.is_farewell)
        yield from (*language.replaces, *language.denies)
        yield from (pattern for _, _, pattern in language.stated)
        yield from (pattern for _, pattern in patterns._patterns((language,)))


@cache
def _plain(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, FLAGS)


def assert_same(text: str) -> int:
    """Fails if any pattern finds something else than `re` does; returns the number of matches."""
    number = 0
    for source, prefiltered in everything().items():
        expected = [match.span() for match in _plain(source).finditer(text)]
        assert [match.span() for match in prefiltered.finditer(text)] == expected, source
        assert (prefiltered.search(text) is not None) == bool(expected), source
        number += len(expected)
    return number


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("price", {"price"}),
        ("(?:Monday|noon)", {"monday", "noon"}),
        (r"\b(?:not|isn['’]t) (\w+)", {"not", "isn"}),
        (r"\d+ (?:miles|pounds)", {"miles", "pounds"}),
        (r"in \d{4}", {r"\d"}),
        (r"(?:allerg(?:y|ies)|diet) ?x?", {"allerg", "diet"}),
        (r"(?P<new>.{1,60}?),? instead of (?P<old>.+)", {" instead of "}),
        (r"(?:very )?good", {"good"}),
        (r"(?=.*\d)[a-z\d]+", {r"\d"}),
        (r"(?!never)\w+", set()),
        (r"(?:maybe)*", set()),
        (r"word|\w", set()),
        (r"[^a]b?", set()),
        (r"(?i:İs)", {"is"}),
    ],
)
def test_every_match_contains_one_of_the_literals(pattern: str, literals: set[str]) -> None:
    assert literals_of(pattern) == literals


def test_letters_that_match_a_latin_one_without_regard_to_case_are_not_missed() -> None:
    letters = "abcdefghijklmnopqrstuvwxyzäöüßàâçéèêëîïôûùœñáíóú"
    everyone = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
    for letter in letters:
        found = re.findall(letter, everyone, FLAGS)
        assert len(found) > 1
        for one in found:
            assert Prefiltered(letter * 2).search(f"– {one}{letter} {one}{one}"), (letter, one)


def test_real_sentences_are_read_as_without_it(shared_data: Path) -> None:
    number = 0
    for name in ("locomo", "tau_airline", "crosswoz"):
        found = [one for row in rows(shared_data, name)[:3] for message in row["messages"] for one in
                 sentences((message.get("content") or "")[:2_000])]  # fmt: skip
        number += sum(map(assert_same, found[::10][:60]))
    assert number > 100


words = st.deferred(lambda: st.sampled_from(sorted(w for source in everything() for w in literals_of(source))))
pieces = st.one_of(
    words, words.map(str.upper), words.map(str.title), st.sampled_from(" ,.;:'’$€-/#:0123456789İıſK的点は"),
    st.sampled_from(["I ", "my ", "the ", "is ", "to ", "at ", "not ", "Anna ", "3 pm", "$5", "2024-05-01", "明日"]),
)  # fmt: skip


@given(st.lists(pieces, max_size=12).flatmap(lambda them: st.sampled_from(["".join(them), " ".join(them)])))
@settings(deadline=None, max_examples=100)
def test_any_text_is_read_as_without_it(text: str) -> None:
    assert_same(text.replace("\\d", "7"))
