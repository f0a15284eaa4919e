"""Lexical ranking of turns for a question."""

import random
from collections.abc import Sequence
from itertools import islice

from purser.context.retrieval.postings import BLOCK, Turn, index
from purser.context.retrieval.ranking import REACH, Hit, Posted, Thread, rank, wanted
from purser.context.retrieval.words import terms

FILLER = "nothing of interest here"


def search(
    question: str,
    *threads: Sequence[Turn | str],
    without: Sequence[tuple[int, int]] = (),
    limit: int = 50,
    shuffle: random.Random | None = None,
) -> list[Hit]:
    """The hits in the given threads."""
    asked = terms(question)
    sizes, posted = [], []
    for number, turns in enumerate(threads):
        indexed = index([turn if isinstance(turn, Turn) else Turn(None, turn) for turn in turns], 0)
        sizes.append(Thread(indexed.turns, indexed.terms))
        posted += [Posted(number, term, packed) for (term, _), packed in indexed.postings.items()]
    posted = [one for one in posted if one.term in wanted(asked)]
    if shuffle:
        shuffle.shuffle(posted)
    return rank(asked, sizes, posted, without=without, limit=limit)


def places(hits: Sequence[Hit]) -> list[int]:
    return [hit.place for hit in hits]


def test_the_turn_with_the_words_of_the_question_is_best() -> None:
    assert places(search("red bicycle", [FILLER, "my bicycle is red", FILLER]))[0] == 1


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    turns = ["tea", *[FILLER] * 20, "zebra", *[FILLER] * 20, *["tea", *[FILLER] * 20] * 5]
    assert places(search("tea zebra", turns))[0] == 21


def test_an_answer_is_found_by_the_question_right_before_it() -> None:
    turns = [FILLER] * 20
    turns[10] = "where do you keep the bicycle?"
    assert places(search("bicycle", turns))[:3] == [10, 11, 12]


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
    turns = [Turn(None, FILLER)] * 40
    turns[10], turns[30] = Turn("Ann", "the bicycle is new"), Turn("Bob", "the bicycle is new")
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
    turns = [Turn(None, dice.choice(["red tea", "bicycle", FILLER])) for _ in range(BLOCK + 300)]
    rest, parts, first = iter(turns), [], 0
    while part := list(islice(rest, dice.randint(1, 400))):
        parts.append(index(part, first))
        first += len(part)
    thread = Thread(sum(part.turns for part in parts), sum(part.terms for part in parts))
    posted = [Posted(0, term, packed) for part in parts for (term, _), packed in part.postings.items()]
    asked = terms("red bicycle")
    held = [one for one in posted if one.term in wanted(asked)]
    assert rank(asked, [thread], held, limit=50) == search("red bicycle", turns)
