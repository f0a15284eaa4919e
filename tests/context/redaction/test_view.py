"""The plain view of a text, and where its characters are in the text."""

import pytest

from purser.context.redaction import Redactor
from purser.context.redaction.view import plain_view


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("１２－３４　（５６）", "12-34 (56)"),
        ("a\u200bb\u00adc\ufeffd", "abcd"),
        ("a&#64;b &#x40; &commat; &lt;&quot;&nbsp;&#8203;.", 'a@b @ @ <" .'),
        ("a%40b%20c%2Bd %41", "a@b c+d %41"),
        (r"a\u0040b\u4e2d\n", "a@b" + " " * 6 + "  "),
        ("a (at) b [dot] c", "a@b.c"),
        ("write to kim at mail dot example dot com", "write to kim@mail.example.com"),
        ("at noon (at) 5 &eacute; &#233; %ff meet at five dot", "at noon@5 &eacute; &#233; %ff meet at five dot"),
    ],
)
def test_it_is_what_a_reader_understands(text: str, seen: str) -> None:
    assert plain_view(text).text == seen


def test_each_character_leads_back_to_the_part_of_the_text_that_it_was_read_from() -> None:
    text = "x\u200b&#64;y%40\u200bz"
    view = plain_view(text)
    assert view.text == "x@y@z"
    assert [text[slice(*view.origin(at, at + 1))] for at in range(5)] == ["x", "&#64;", "y", "%40", "z"]
    assert text[slice(*view.origin(1, 4))] == "&#64;y%40"


def test_only_the_value_is_replaced_and_what_surrounds_it_stays_encoded() -> None:
    text = "caf\u00e9&nbsp;<b>\u200bjane&#64;example.com\u200b</b>%20&amp; 50%25"
    assert Redactor().redact(text) == "caf\u00e9&nbsp;<b>\u200b[EMAIL_1]\u200b</b>%20&amp; 50%25"
