"""Patterns that operators configure."""

import pytest

from purser.context.errors import InvalidSettings, RedactionFailed
from purser.context.redaction import Redactor, custom_detectors, patterns


def test_what_a_pattern_matches_is_replaced_under_its_label() -> None:
    redactor = Redactor(custom=custom_detectors({"EMPLOYEE": r"\bE\d{6}\b", "TICKET_ID": "TICK-[0-9]+"}))
    assert redactor.redact("E123456 wrote a@x.org about TICK-7 and E123456") == (
        "[EMPLOYEE_1] wrote [EMAIL_1] about [TICKET_ID_1] and [EMPLOYEE_1]"
    )
    assert redactor.counts == {"EMPLOYEE": 2, "EMAIL": 1, "TICKET_ID": 1}
    assert redactor.redact("[EMPLOYEE_1]") == "[EMPLOYEE_1]"


def test_a_pattern_cannot_uncover_what_is_built_in_and_goes_before_phone_numbers() -> None:
    redactor = Redactor(custom=custom_detectors({"FOUR": r"\d{4}"}))
    assert redactor.redact("4111 1111 1111 1111, 415-555-0132") == "[CARD_1], 415-555-[FOUR_1]"


def test_a_label_that_is_built_in_may_find_more() -> None:
    assert Redactor(custom=custom_detectors({"PHONE": "ext [0-9]{3}"})).redact("ext 123") == "[PHONE_1]"


@pytest.mark.parametrize("label", ["employee", "", "1A", "A-B", "A B", "A]", "Ä", "A" * 33])
def test_a_label_has_capital_letters_digits_and_underscores(label: str) -> None:
    with pytest.raises(InvalidSettings, match="capital letters"):
        custom_detectors({label: "x"})


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<a>x)(?P=b)"])
def test_a_pattern_that_cannot_be_read_is_named_by_its_label(pattern: str) -> None:
    with pytest.raises(InvalidSettings, match="the pattern of EMPLOYEE is not a regular expression"):
        custom_detectors({"EMPLOYEE": pattern})


def test_a_pattern_that_matches_nothing_at_all_is_refused() -> None:
    with pytest.raises(InvalidSettings, match="EMPLOYEE matches empty text"):
        custom_detectors({"EMPLOYEE": "x*"})


def test_a_pattern_that_takes_too_long_withholds_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.2)
    redactor = Redactor(custom=custom_detectors({"SLOW": r"(x+x+)+y"}))
    with pytest.raises(RedactionFailed, match="SLOW failed \\(TimeoutError\\)"):
        redactor.redact("x" * 5_000)
