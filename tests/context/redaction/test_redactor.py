"""Placeholders: one per value; and the failure of a detector."""

from collections.abc import Iterator

import pytest

from purser.context.errors import RedactionFailed
from purser.context.redaction import Detector, Found, Placeholder, Redactor, redact_value


def test_the_same_value_gets_the_same_placeholder_in_every_text() -> None:
    redactor = Redactor()
    assert redactor.redact("a@x.org, b@x.org, a@x.org") == "[EMAIL_1], [EMAIL_2], [EMAIL_1]"
    assert redactor.redact("b@x.org") == "[EMAIL_2]"
    assert redactor.counts == {"EMAIL": 4}


@pytest.mark.parametrize(
    "values",
    [
        ["4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "４１１１１１１１１１１１１１１１"],
        ["4111111111111111", "4111 1111\n1111 1111", "4111\u200b1111\u200b1111\u200b1111", "4111_1111_1111_1111"],
        ["DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "de89370400440532013000"],
        ["DE89370400440532013000", "DE89.3704.0044.0532.0130.00", "DE89 3704 0044\n0532 0130 00"],
        ["536-22-1234", "SSN 536 22 1234", "536.22.1234"],
        ["11010519491231002X", "11010519491231002x"],
        ["+1 415 555 0132", "(415) 555-0132", "415.555.0132", "001-415-555-0132", "phone: 4155550132"],
        ["13812345678", "138 1234 5678", "+86 138-1234-5678"],
        ["010-63553377", "01063553377", "(010)63553377"],
        [
            "Jane@Example.com",
            "jane@example.com",
            "jane&#64;example.com",
            "jane%40example.com",
            "jane (at) example (dot) com",
        ],
        ["a@bücher.example", "a@xn--bcher-kva.example"],
        ["2001:db8::1", "2001:0DB8:0:0:0:0:0:1"],
    ],
)
def test_another_notation_is_the_same_value(values: list[str]) -> None:
    redactor = Redactor()
    for value in values:
        assert redactor.redact(value).endswith("_1]"), value
    assert len(redactor.new) == 1


def test_a_number_in_a_list_is_the_same_as_a_single_one() -> None:
    assert Redactor().redact("13812345678, 13812345678和415-555-0132 or 4155550132") == (
        "[PHONE_1], [PHONE_1]和[PHONE_2] or [PHONE_2]"
    )


def test_an_extension_is_part_of_a_phone_number() -> None:
    assert Redactor().redact("415-555-0132 415-555-0132 x7") == "[PHONE_1] [PHONE_2]"


def test_placeholders_stay_and_their_numbers_are_not_given_again() -> None:
    redactor = Redactor()
    assert (
        redactor.redact("[EMAIL_7] wrote, a@x.org answered [CARD_1]") == "[EMAIL_7] wrote, [EMAIL_8] answered [CARD_1]"
    )
    assert redactor.counts == {"EMAIL": 1}


def test_a_secret_replaces_what_was_found_in_it() -> None:
    redactor = Redactor()
    assert redactor.redact("password: a@x.org!9") == "password: [SECRET_1]"
    assert redactor.redact("password: +1 415 555 0132[EMAIL_1]b@x.org!9") == "password: [SECRET_2]"
    assert redactor.counts == {"SECRET": 2}


def test_it_goes_on_where_the_session_stopped() -> None:
    first = Redactor(b"key")
    first.redact("a@x.org")
    [known] = first.new
    assert known == Placeholder("EMAIL", 1, known.digest)
    second = Redactor(b"key", [known])
    assert second.redact("b@x.org a@x.org") == "[EMAIL_2] [EMAIL_1]"
    assert [str(one) for one in second.new] == ["[EMAIL_2]"]


def test_digests_reveal_nothing_without_the_key_and_nothing_else_is_stored() -> None:
    redactors = Redactor(b"one"), Redactor(b"two")
    for redactor in redactors:
        redactor.redact("a@x.org")
    assert redactors[0].new[0].digest != redactors[1].new[0].digest
    assert "a@x.org" not in repr([vars(redactor) for redactor in redactors])


def test_equal_digits_with_different_labels_are_different_values() -> None:
    redactor = Redactor()
    assert redactor.redact("password: 4155550132, phone 415-555-0132") == "password: [SECRET_1], phone [PHONE_1]"


def test_a_text_in_which_every_pass_finds_more_is_replaced_as_a_whole() -> None:
    chain = "+852-2345-852-2345-" * 20
    redactor = Redactor()
    redacted = redactor.redact(chain)
    assert redacted == "[SECRET_1]"
    assert redactor.counts == {"SECRET": 1}
    assert redactor.redact(redacted) == redacted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("password: ", ""),
        ('password: "', '"'),
        ("curl -u a:", ""),
        ("mysql -p", ""),
        ("docker login -p ", ""),
        ("--password ", ""),
        ("login a password ", ""),
        ("identified by '", "'"),
        ("credentials: jane/", ""),
        ("db:5432:shop:jane:", ""),
        ("http://jane:", "@host"),
        ("jane:", "@localhost"),
    ],
)
def test_a_long_value_gets_one_placeholder(before: str, after: str) -> None:
    redactor = Redactor()
    assert redactor.redact(before + "x1y9" * 1_500 + after) == f"{before}[SECRET_1]{after}"
    assert len(redactor.new) == 1


def test_a_cookie_at_the_end_of_a_long_header_is_found() -> None:
    header = "Cookie: " + "theme=dark; " * 1_000
    assert Redactor().redact(header + "session=a1b2c3d4e5f6") == header + "session=[API_KEY_1]"


def _broken(view: str) -> Iterator[Found]:
    raise ValueError(view)


def test_a_detector_that_fails_lets_no_text_pass_and_reveals_none() -> None:
    redactor = Redactor(custom=[Detector("BROKEN", _broken)])
    with pytest.raises(RedactionFailed, match="the detector BROKEN failed \\(ValueError\\)") as raised:
        redactor.redact("my secret words")
    assert "secret words" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_values_of_json_are_read_with_their_keys() -> None:
    value = {"password": "swordfish", "n": [1, None, {"to": ["a@x.org", True]}], "phone": "467 3395", "id": "4673395"}
    assert redact_value(value, Redactor().redact) == {
        "password": "[SECRET_1]",
        "n": [1, None, {"to": ["[EMAIL_1]", True]}],
        "phone": "[PHONE_1]",
        "id": "4673395",
    }


def test_text_with_half_a_surrogate_is_redacted_too() -> None:
    assert Redactor().redact("\ud800 password: \udfffx9zz") == "\ud800 password: [SECRET_1]"
