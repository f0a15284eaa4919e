"""Stop words of questions."""

import pytest

from purser.context.retrieval.stop_words import stop_words, without_asking


@pytest.mark.parametrize(
    ("question", "stopped"),
    [
        ("Wie hoch ist das Budget?", {"wie", "hoch", "ist", "das"}),
        ("Wann war der Umzug?", {"wann", "war", "der"}),
        ("¿Cuánto cuesta el tren a Lima?", {"cuánto", "el", "a"}),
        ("Comment s'appelle le professeur ?", {"comment", "s", "le"}),
    ],
)
def test_a_question_has_the_stop_words_of_its_language(question: str, stopped: set[str]) -> None:
    assert stopped <= stop_words(question)


@pytest.mark.parametrize(
    "question",
    [
        "Who won the war?",
        "When did they die?",
        "my son",
        "daughter war medal",
        "die hard",
        "",
        "电影的导演是什么",
        "猫",
    ],
)
def test_other_questions_have_none_of_these_languages(question: str) -> None:
    assert not stop_words(question)


def test_a_question_that_may_be_in_two_languages_has_the_stop_words_of_both() -> None:
    assert {"cuándo", "quand"} <= stop_words("hotel en Cusco")


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("旅行はどこに行きましたか？", "旅行は に行き ？"),
        ("担当の先生は誰ですか", "担当の先生は  "),
        ("민수는 어디로 이사하나요?", "민수는   이사하 ?"),
        ("회의가 언제였지?", "회의가   ?"),
        ("何先生在哪里？", "何先生在哪里？"),
        ("Where is どこ?", "Where is  ?"),
    ],
)
def test_words_that_only_ask_are_left_out_of_japanese_and_korean(question: str, rest: str) -> None:
    assert without_asking(question) == rest
