"""Long repetitive texts, as an attacker would write them to make the extraction of facts slow."""

import pytest

from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import changed_facts
from tests.support.runs.proof import some

PIECES = (
    *("a", "1", "1 ", "1,", "1.", "12:", "A", "Aa ", "a-", "我", "是", "三点", "5点", " ", "\n", "(", '"', "/a", "a/"),
    *(
        "not ",
        "instead of ",
        "no, ",
        "make it ",
        "make it 5 pm. ",
        "my a is ",
        "the a a a ",
        "I like a and ",
        "改到",
        "不是",
    ),
    *("21 Main ", "12 Main Street, not ", "Calle A de ", "rue de la A ", "Hauptstraße ", "a las 5 ", "um 5 ", "à 5 h "),
    *(
        "See you tomorrow ",
        "move the meeting to ",
        "$1,",
        "3. ",
        "2027-03-05 ",
        "ABC123 ",
        "x@y.org ",
        '{"id": ',
        "[",
        "《",
    ),
    *(
        "and my a to 5 pm ",
        "is not 5, it's ",
        "nicht mehr ",
        "我对没有不再",
        "他对",
        "卵アレルギーではもう",
        "딸은 알레르기 더는 ",
        "2 to 3 ",
        "between 2 and ",
        "2,5-",
        "no, my a at 5 pm is ",
        "wants to make it ",
        "Deliver it to the a on Sunday ",
        "that's my old one. It's 5 pm. ",
        "My Anna's a can't eat a ",
        "Meine Anna darf keine Nüsse ",
        "mi Ana no puede comer ",
        "ma Anne ne peut pas manger ",
        "我妈小明不能吃",
        "妻が健太はそばが",
    ),
)
LENGTH = 60_000
"""Characters: seconds in linear time, hours in quadratic time, which exceeds the timeout of a test."""


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("piece", some(PIECES, 3))
def test_facts_of_one_piece_over_and_over_are_extracted(piece: str) -> None:
    text = piece * (LENGTH // len(piece))
    for message in (Message("user", text), Message("tool", text, tool_call_id="c1")):
        assert len(changed_facts((), [StoredMessage(1, "", message, {})])) <= len(text)


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_facts_of_many_corrections_are_extracted() -> None:
    said = [StoredMessage(seq, "", Message("user", f"Make it {seq % 12 + 1} pm. " * 80), {}) for seq in range(1, 200)]
    live = [fact for fact in changed_facts((), said) if fact.superseded_by is None]
    assert len(live) == 1
