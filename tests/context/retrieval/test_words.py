"""Index terms of a text."""

import subprocess
import sys

import pytest

from purser.context.retrieval.words import MOST_CHARACTERS, long_words, question_terms, terms


def test_english_words_lose_their_endings_and_stop_words_are_left_out() -> None:
    assert terms("When did the Painters go running?") == ["painter", "go", "run"]


def test_forms_of_one_word_are_one_term() -> None:
    assert len({*terms("adoption adopted adopting adopts")}) == 1


def test_a_term_occurs_as_often_as_its_word() -> None:
    assert terms("tea, tea and more tea") == ["tea", "tea", "tea"]


def test_accents_and_widths_make_no_difference() -> None:
    assert terms("Café ＣＡＦＥ cafe\u0301") == ["cafe"] * 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("京都で", ["京", "都", "で", "京都", "都で"]),
        ("猫", ["猫"]),
        ("ラーメン", ["ラ", "ー", "メ", "ン", "ラー", "ーメ", "メン"]),
        ("한국어", ["한", "국", "어", "한국", "국어"]),
    ],
)
def test_scripts_without_spaces_become_characters_and_pairs(text: str, found: list[str]) -> None:
    assert terms(text) == found


def test_chinese_text_becomes_words_characters_and_pairs_without_words_that_only_ask_or_bind() -> None:
    assert terms("电影的导演是什么？") == ["电影", "电", "影", "导演", "导", "演", "是", "演是"]


def test_chinese_words_inside_longer_ones_are_terms() -> None:
    assert {"长城", "博物馆", "博物"} <= set(terms("中国长城博物馆"))


def test_text_without_chinese_loads_no_dictionary() -> None:
    code = "import sys; from purser.context.retrieval import words; words.terms('tea café 京都で'); print(*sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).find("rjieba") == -1


def test_words_of_two_scripts_need_no_space_between_them() -> None:
    assert terms("我买了iPhone手机") == ["买", "iphon", "手机", "手", "机"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("книга о музыке", "книги, музыка"),
        ("ο δρόμος", "οι δρόμοι"),
        ("किताबें", "किताब"),
    ],
)
def test_other_scripts_have_stems_too(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other))


def test_numbers_and_codes_are_terms() -> None:
    assert terms("order 4711 at 10:30, room B-12") == ["order", "4711", "10", "30", "room", "b", "12"]


def test_of_a_word_without_end_only_the_beginning_counts() -> None:
    assert terms("x" * 100_000) == ["x" * MOST_CHARACTERS]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("✈️Paris", ["pari"]),
        ("❤️Привет", ["привет"]),
        ("☀️Αθήνα", ["αθην"]),
        ("Paris️ ✅️done", ["pari", "done"]),
        ("1️⃣Book a hotel", ["1", "book", "hotel"]),
        ("#️⃣ 2️⃣3️⃣", ["2", "3"]),
    ],
)
def test_the_marks_of_emoji_belong_to_no_word(text: str, found: list[str]) -> None:
    assert terms(text) == found


@pytest.mark.parametrize(
    ("one", "other"), [("Straße", "STRASSE"), ("Fußgänger", "FUSSGANGER"), ("weiß", "weiss"), ("GROẞ", "groß")]
)
def test_a_word_is_one_term_in_capitals_too(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_words_that_differ_by_more_than_accents_and_case_are_different_terms() -> None:
    assert len({*terms("Masse Maser Straßen Trasse")}) == 4


@pytest.mark.parametrize("text", ["", "  \n", "⚠️ ❤️", "🙂 !?", "what is it that you are"])
def test_some_texts_have_no_terms(text: str) -> None:
    assert terms(text) == []


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Wie hoch ist das Budget?", ["budget"]),
        ("Wann war der Umzug?", ["umzug"]),
        ("¿Qué alergias tenemos?", ["alergia"]),
        ("Quelle est la date de l'examen ?", ["date", "examen"]),
        ("Who won the war?", ["war"]),
    ],
)
def test_a_question_loses_the_stop_words_of_its_language(question: str, found: list[str]) -> None:
    assert question_terms(question) == found
    assert set(found) <= set(terms(question))


def test_a_question_of_nothing_but_stop_words_keeps_them() -> None:
    assert question_terms("Was ist das?") == ["ist", "das"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Where is KL 1693?", "KL1693"),
        ("Where is KL-1693?", "KL1693"),
        ("Where is KL1693?", "KL 1693"),
        ("Where is KL1693?", "KL-1693"),
        ("Who takes 50 mg?", "50mg"),
        ("Who takes 50mg?", "50 mg"),
        ("Ist ５０ mg zu viel für Jürgen?", "50mg"),
        ("Wo steht der Kuechenschrank?", "Küchenschrank"),
        ("Wo steht der Küchenschrank?", "Kuechenschrank"),
        ("Where does Mr Mueller live?", "Müller"),
        ("Wie heißt die Straße am Öltor?", "Oeltor"),
        ("Die Größe?", "Groesse"),
        ("Who owes 1,850 euros?", "1850"),
        ("Wer hat die Nummer 0171 5550-123?", "01715550123"),
        ("Which e-mail?", "email"),
        ("Is the Wi-Fi slow?", "wifi"),
        ("Why MAX_RETRIES?", "maxRetries"),
        ("Where is parseDuration?", "parse_duration"),
        ("Where is the HTTPServer?", "http_server"),
    ],
)
def test_a_question_finds_other_spellings(asked: str, said: str) -> None:
    assert set(terms(said)) <= set(question_terms(asked))


@pytest.mark.parametrize("said", ["07700 900 461", "+44 7700 900461", "07700-900461", "(07700) 900461"])
def test_a_number_finds_its_groups(said: str) -> None:
    assert set(terms(said)).intersection(question_terms("Whose number is 07700900461?"))


def test_a_number_of_few_digits_has_no_groups() -> None:
    assert question_terms("123456") == ["123456"]
    groups = ["123", "567", "1234", "4567", "12345", "34567", "123456", "234567"]
    assert question_terms("1234567") == ["1234567", *groups]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Is the queue due?", ["queue", "due"]),
        ("Who is in room 12 for 3 days?", ["room", "12", "3", "day", "room12", "3day"]),
        ("What is the A1C of Q1?", ["a1c", "q1"]),
        ("für", ["fur"]),
        ("Is McDonald's iPhone new?", ["mcdonald", "iphon", "new"]),
        ("京都で5月に", ["京", "都", "で", "京都", "都で", "5", "月", "に", "月に"]),
    ],
)
def test_other_spellings_of_a_question_are_words_of_their_own(question: str, found: list[str]) -> None:
    assert question_terms(question) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Wo ist die Häkeldecke von der Tante?", {"hakeldeck", "tant"}),
        ("Die Decke?", {"deck"}),
        ("the rain, 12345 and using it", set()),
        ("книга", {"книг"}),
        ("博物馆在哪里", set()),
    ],
)
def test_a_long_word_may_be_part_of_a_longer_one(question: str, found: set[str]) -> None:
    assert long_words(question) == found


def test_a_message_is_indexed_with_all_its_words_whatever_its_language() -> None:
    """An index that was made before a list was extended can still be searched."""
    assert terms("Wann war der Umzug?") == ["wann", "war", "der", "umzug"]
