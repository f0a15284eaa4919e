"""Units of a conversation that an extract picks whole."""

import pytest

from purser.context.compression.extracts.units import units
from purser.context.compression.requests import SummarySource
from purser.context.conversation.messages import Message
from tests.support.context.conversations import assistant, user


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("Please move my booking ZX-4417 to 11 May.", "That is done."),
        ("Bitte buchen Sie 3 Zimmer für 4 Nächte.", "Das ist erledigt."),
        ("请把我的预订改到5月11日。", "已经改了。"),
    ],
)
def test_the_words_of_a_request_count_for_the_user_that_made_it_and_not_for_the_reply(asked: str, reply: str) -> None:
    first, second = (unit for unit, _ in units(SummarySource.of("", [user(asked), assistant(reply)]), 200, len))
    assert first.text == asked
    assert second.line == f"assistant (asked “{asked}”): {reply}"
    assert second.text == reply
    assert first.weight == 2 * second.weight


def test_a_line_of_a_speaker_with_a_role_and_a_name_is_read_like_any_other() -> None:
    line = "assistant (user) (asked “Which one?”): The red one."
    [(unit, _)] = units(SummarySource(line, ()), 200, len)
    assert (unit.line, unit.text, unit.answers) == (line, "Which one? The red one.", True)


def test_of_several_users_and_the_assistant_that_takes_their_minutes_all_count_alike() -> None:
    said = [
        Message("user", "Let's ship the release on 12 May.", name="ana"),
        Message("user", "I take the notes for 40 customers.", name="ben"),
        assistant("Noted: release on 12 May, Ben writes the notes."),
    ]
    assert len({unit.weight for unit, _ in units(SummarySource.of("", said), 200, len)}) == 1


@pytest.mark.parametrize(
    ("said", "reply", "asked"),
    [
        ("Please send me the address of the shop.", "It is 12 Elm Street.", True),
        ("Bitte schicken Sie mir die Adresse.", "Lindenweg 12.", True),
        ("Por favor, envíame la dirección.", "Calle Mayor 7.", True),
        ("Envoyez-moi l'adresse, s'il vous plaît.", "12 rue des Lilas.", True),
        ("请把庆丰包子铺的地址发给我。", "地址是西城区白广路2号。", True),
        ("店の住所を教えてください。", "白山2丁目です。", True),
        ("That is quite logical, I must say.", "It is 12 Elm Street.", False),
        ("Das ist ja wirklich logisch.", "Lindenweg 12.", False),
        ("La verdad es que es muy lógico.", "Calle Mayor 7.", False),
        ("C'est logique, il faut le dire.", "12 rue des Lilas.", False),
        ("这样说起来的确很有道理。", "地址是西城区白广路2号。", False),
        ("それは確かに論理的だと思います。", "白山2丁目です。", False),
    ],
)
def test_a_reply_comes_with_what_was_asked_and_nobody_asks_by_a_statement(said: str, reply: str, asked: bool) -> None:
    _, (reply_to, _) = units(SummarySource.of("", [user(said), assistant(reply)]), 200, len)
    assert reply_to.line == (f"assistant (asked “{said}”): {reply}" if asked else f"assistant: {reply}")


@pytest.mark.parametrize(
    ("stated", "reply"),
    [
        ("I have 14 Alder Lane as your address.", "No, I moved to 41 Elm Street."),
        ("You arrive at 5 pm.", "That's wrong, it is 6 pm."),
        ("Ich habe die Lindenstraße 12 notiert.", "Nein, es ist die Ulmenstraße 14."),
        ("Tengo anotado el 12 de mayo.", "No, es el 14 de mayo."),
        ("C'est le 12 mai, si je lis bien.", "Non, c'est le 14 mai."),
        ("您的地址是榆树街12号。", "不对，是14号。"),
        ("12時に伺います。", "いや、14時です。"),
        ("주소는 느릅나무길 12입니다.", "아니요, 14입니다."),
    ],
)
def test_what_the_next_speaker_denies_counts_less_and_the_denial_is_an_answer(stated: str, reply: str) -> None:
    believed, corrected = (unit for unit, _ in units(SummarySource.of("", [assistant(stated), user(reply)]), 200, len))
    assert believed.weight == 0.5
    assert corrected.answers


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("We met in May. Have you been there?", "No, not yet."),
        ("I am a bit late, at 5 pm.", "No problem, see you at 5."),
        ("I have 14 Alder Lane as your address.", "Nothing has changed there."),
        ("Nehmen Sie den Zug um 5?", "Nein, lieber um 6."),
        ("我五点到。", "不好意思，我六点到。"),
        ("I have 14 Alder Lane as your address. " * 10, "No, I moved to 41 Elm Street."),
    ],
)
def test_no_is_an_answer_to_a_question_and_a_polite_word_denies_nothing(said: str, reply: str) -> None:
    first, *_ = (unit for unit, _ in units(SummarySource.of("", [assistant(said), user(reply)]), 2_000, len))
    assert first.weight == 1


@pytest.mark.parametrize(
    ("said", "weight"),
    [
        ("Which one would you take in Lisbon?", 0.25),
        ("Was macht das Daniell-Element?", 0.25),
        ("有没有静音的？", 0.25),
        ("Have you a table for 12 people?", 2.0),
        ("My son is allergic to nuts. What can he eat?", 2.0),
    ],
)
def test_a_message_that_only_asks_counts_little_once_it_is_answered(said: str, weight: float) -> None:
    answer = assistant("That depends on a few things that I would like to look up for you first, so give me some time.")
    asked, *_ = (unit for unit, _ in units(SummarySource.of("", [user(said), answer]), 400, len))
    assert asked.weight == weight
