"""Lexical ranking of turns for a question."""

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from operator import attrgetter

import pytest

from purser.context.retrieval.postings import BLOCK, Turn, index
from purser.context.retrieval.ranking import REACH, Hit, Posted, Question, Thread, rank

FILLER = "nothing of interest here"


def search(
    question: str,
    *threads: Sequence[Turn | str],
    without: Sequence[tuple[int, int]] = (),
    limit: int = 50,
    shuffle: random.Random | None = None,
    tool_messages: int = 0,
    now: datetime | None = None,
) -> list[Hit]:
    """The hits in the given threads."""
    asked = Question.of(question, now)
    sizes, posted = [], []
    for number, turns in enumerate(threads):
        indexed = index([turn if isinstance(turn, Turn) else said(turn) for turn in turns], 0)
        sizes.append(Thread(indexed.flags, indexed.terms, indexed.size, indexed.user_size, tool_messages))
        posted += [Posted(number, term, packed) for (term, _), packed in indexed.postings.items()]
    posted = [one for one in posted if one.term in asked.wanted]
    if shuffle:
        shuffle.shuffle(posted)
    return rank(asked, sizes, posted, without=without, limit=limit)


def said(text: str, role: str = "user", name: str | None = None, day: date = date(2026, 1, 15)) -> Turn:
    return Turn(role, name, text, day)


def places(hits: Sequence[Hit]) -> list[int]:
    return [hit.place for hit in hits]


def test_the_turn_with_the_words_of_the_question_is_best() -> None:
    assert places(search("red bicycle", [FILLER, "my bicycle is red", FILLER]))[0] == 1


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        (
            "Wie hoch ist die Miete?",
            "Die Miete beträgt 900 Euro.",
            ["Wie ist das Wetter?", "Das ist hoch über dem Meer.", "Wie hoch ist der Turm?", "Ist das so?"],
        ),
        (
            "¿Cuánto es el alquiler?",
            "El alquiler son 900 euros.",
            ["¿Cuánto es?", "¿Qué es el sur?", "¿Cuánto es lo otro?", "Es el de ayer."],
        ),
        (
            "Quel est le prix du loyer ?",
            "Le loyer est de 900 euros.",
            ["Quel est ce bruit ?", "Il est le premier du mois.", "Quel est le nom du chat ?", "Du pain, le soir."],
        ),
    ],
)
def test_words_that_only_ask_find_nothing(question: str, answer: str, others: list[str]) -> None:
    assert places(search(question, [*others * 3, *[FILLER] * 10, answer]))[0] == 22
    assert all(place > 12 for place in places(search(question, [*others * 3, *[FILLER] * 10, answer])))


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    turns = ["tea", *[FILLER] * 20, "zebra", *[FILLER] * 20, *["tea", *[FILLER] * 20] * 5]
    assert places(search("tea zebra", turns))[0] == 21


def test_an_answer_is_found_by_the_question_right_before_it() -> None:
    turns = [FILLER] * 20
    turns[10] = "where do you keep the bicycle?"
    assert places(search("bicycle", turns))[:3] == [11, 10, 12]


def test_a_question_ranks_after_a_statement_with_the_same_words() -> None:
    turns = [FILLER] * 60
    turns[10], turns[40] = "is your bicycle red?", "my bicycle is red"
    assert places(search("red bicycle", turns))[0] == 40


@pytest.mark.parametrize("tool_messages", [0, 20], ids=["assistant", "tools"])
def test_what_an_assistant_answers_ranks_before_the_question(tool_messages: int) -> None:
    turns = [said(FILLER), said(FILLER * 20, "assistant")] * 20
    turns[10:12] = [said("Which bicycle is red?"), said("The red bicycle is that of Ann.", "assistant")]
    assert places(search("red bicycle", turns, tool_messages=20))[0] == 11
    turns[10:12] = [said("Is a bicycle red?"), said("My bicycle is red.")]
    assert places(search("red bicycle", turns, tool_messages=tool_messages))[0] == 11


@pytest.mark.parametrize("tool_messages", [0, 20], ids=["assistant", "tools"])
def test_an_answer_that_ends_with_an_offer_does_not_ask(tool_messages: int) -> None:
    turns = [said(FILLER), said(FILLER * 20, "assistant")] * 20
    turns[11] = turns[31] = said("The bicycle is red. It is new.", "assistant")
    plain = search("red bicycle", turns, tool_messages=tool_messages)
    turns[11] = said("The bicycle is red. Is it new?", "assistant")
    assert search("red bicycle", turns, tool_messages=tool_messages) == plain


def test_what_a_user_says_to_an_assistant_ranks_before_long_answers_that_repeat_it() -> None:
    def answer(text: str) -> Turn:
        return said(f"{text} {FILLER * 20} {text}", "assistant")

    turns = [said(FILLER), answer(FILLER)] * 10
    turns[10:10] = [said("hello, my bicycle is red"), answer("a red bicycle, good"), answer("a red bicycle, red")]
    assert places(search("red bicycle", turns))[0] == 10


def test_turns_of_a_day_that_is_named_go_first() -> None:
    turns = [said("the bicycle is new", day=date(2026, 1 + number // 10, 1 + number % 10)) for number in range(40)]
    assert set(places(search("what was new on 3 February?", turns))[:1]) == {12}
    assert set(places(search("what was new in March?", turns))[:10]) == set(range(20, 30))
    assert places(search("3月5日", turns))[0] == 24


def test_a_chat_of_people_is_not_behind_talks_with_an_assistant() -> None:
    chat = [said(FILLER), said(FILLER, "assistant")] * 10
    talk = [said(FILLER), said(FILLER * 20, "assistant")] * 10
    chat[10], talk[10] = said("my bicycle is red"), said("my bicycle is new")
    best, *_ = search("red bicycle", talk, chat)
    assert (best.thread, best.place) == (1, 10)


@pytest.mark.parametrize(
    ("question", "said_on_another_day", "said_else"),
    [
        ("Which music did we hear on April 26th?", "we hear music, good music", FILLER),
        ("4月26日我们听了哪些音乐？", "我们听音乐", "今天天气很好"),
    ],
)
def test_a_day_that_is_named_outweighs_words_said_on_another(
    question: str, said_on_another_day: str, said_else: str
) -> None:
    days = [date(2026, 4, 20 + number // 4) for number in range(40)]
    turns = [said(said_on_another_day if day.day == 23 else said_else, day=day) for day in days]
    assert sorted(places(search(question, turns))[:4]) == [24, 25, 26, 27]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What did we hear yesterday?", {31}),
        ("What did we hear 9 days ago?", {23}),
        ("Was haben wir letzte Woche gehört?", set(range(21, 28))),
        ("我们上个月听了什么？", set(range(25))),
        ("What do we hear tomorrow?", set()),
    ],
)
def test_turns_of_a_time_relative_to_now_go_first(question: str, found: set[int]) -> None:
    """The same days of the year before are not meant."""
    now = datetime(2026, 5, 8, tzinfo=UTC)
    days = [date(year, 4, 6) + timedelta(after) for year in (2026, 2025) for after in range(32)]
    turns = [said(FILLER, day=day) for day in days]
    assert set(places(search(question, turns, now=now))) == found


def test_a_month_that_is_named_does_not_outweigh_words() -> None:
    turns = [said(FILLER, day=date(2026, 1 + number // 10, 1)) for number in range(60)]
    turns[35] = said("the bicycle race was won by Bob", day=date(2026, 4, 1))
    assert places(search("Who won the bicycle race in March?", turns))[0] == 35


def test_turns_of_a_day_are_ordered_by_their_words_whoever_speaks() -> None:
    turns = [said(FILLER, name="Bob", day=date(2026, 1, 1 + number // 4)) for number in range(40)]
    turns[21] = said("the bicycle is new", name="Ann", day=date(2026, 1, 6))
    assert places(search("what did Bob say of the bicycle on 6 January?", turns))[0] == 21


def test_turns_beyond_the_reach_are_not_found() -> None:
    turns = [FILLER] * 40
    turns[20] = "bicycle"
    assert sorted(places(search("bicycle", turns))) == list(range(20 - REACH, 20 + REACH + 1))


def test_words_that_meet_count_more_than_one_word_often() -> None:
    turns = [FILLER] * 60
    turns[10] = "bicycle bicycle bicycle bicycle"
    turns[40], turns[41] = "a bicycle", "painted red"
    assert places(search("red bicycle", turns))[0] in (40, 41)


def test_turns_of_the_speaker_who_is_named_go_first() -> None:
    turns = [said(FILLER)] * 40
    turns[10], turns[30] = said("the bicycle is new", name="Ann"), said("the bicycle is new", name="Bob")
    assert places(search("what did Bob say of the bicycle", turns))[0] == 30


def test_threads_are_no_neighbours() -> None:
    assert [(hit.thread, hit.place) for hit in search("bicycle", [FILLER, "bicycle"], [FILLER] * 5)] == [(0, 1), (0, 0)]


def test_a_turn_that_is_not_wanted_still_speaks_for_its_neighbours() -> None:
    assert places(search("bicycle", [FILLER, "bicycle", FILLER], without=[(0, 1)])) == [2, 0]


def test_no_more_are_found_than_wanted() -> None:
    hits = search("bicycle", ["bicycle"] * 30)
    assert search("bicycle", ["bicycle"] * 30, limit=7) == hits[:7]
    assert search("bicycle", ["bicycle"] * 30, limit=0) == []


def test_nothing_is_found_where_nothing_is_or_nothing_fits() -> None:
    assert search("bicycle") == search("bicycle", []) == search("bicycle", [FILLER]) == search("", ["bicycle"]) == []


def test_the_order_in_which_postings_come_does_not_matter(seed: int) -> None:
    dice = random.Random(seed)
    words = ["red", "bicycle", "house", "tea", "zebra"]
    threads = [[" ".join(dice.choices(words, k=dice.randint(0, 6))) for _ in range(dice.randint(0, 40))] for _ in "abc"]
    asked = " ".join(dice.sample(words, 3))
    assert search(asked, *threads, shuffle=dice) == search(asked, *threads)


def test_a_conversation_that_is_indexed_in_parts_is_found_as_a_whole(seed: int) -> None:
    dice = random.Random(seed)
    turns = [said(dice.choice(["red tea", "bicycle", FILLER])) for _ in range(BLOCK + 300)]
    rest, parts, first = iter(turns), [], 0
    while part := list(islice(rest, dice.randint(1, 400))):
        parts.append(index(part, first))
        first += len(part)
    flags = b"".join(part.flags for part in parts)
    terms, size, user_size = (sum(map(attrgetter(name), parts)) for name in ("terms", "size", "user_size"))
    thread = Thread(flags, terms, size, user_size)
    posted = [Posted(0, term, packed) for part in parts for (term, _), packed in part.postings.items()]
    asked = Question.of("red bicycle")
    held = [one for one in posted if one.term in asked.wanted]
    assert rank(asked, [thread], held, limit=50) == search("red bicycle", turns)
