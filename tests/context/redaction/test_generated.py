"""Generated values in generated sentences: valid ones are found, similar ones are left alone."""

import re
from datetime import UTC, date, datetime
from typing import Any

import phonenumbers
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from stdnum import luhn
from stdnum.cn import ric
from stdnum.iso7064 import mod_97_10

from purser.context.redaction import Redactor

SENTENCES = st.sampled_from(
    [
        "{}",
        "It is {}.",
        "my new one: {}, thanks",
        "({})",
        "从今天起用{}，谢谢",
        "“{}”",
        'note={{"value": "{}"}}',
        "a\n{}\nb",
        "**{}**",
    ]
)
PROSE = st.sampled_from(
    [
        "{}",
        "see {} for more",
        "Call me on {}.",
        "phone support answered at {}, then left",
        "contact: {}",
        "联系时间：{}",
        "电话在{}开通",
    ]
)


def digits(count: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=count, max_size=count)


def redacted(text: str) -> tuple[str, dict[str, int]]:
    """The text, and what was replaced in it; redacting it again changes nothing."""
    redactor = Redactor()
    result = redactor.redact(text)
    assert Redactor().redact(result) == result
    return result, dict(redactor.counts)


# --- what is found ---------------------------------------------------------------------------------------------------


CARDS = (
    *(("4", 16), ("4", 13), ("51", 16), ("2221", 16), ("37", 15), ("36", 14), ("6011", 16), ("3530", 16), ("62", 16)),
    *(("62", 19), ("5018", 12), ("6304", 16), ("6759", 18)),
)
"""First digits and length."""


@st.composite
def cards(draw: st.DrawFn) -> str:
    prefix, length = draw(st.sampled_from(CARDS))
    body = prefix + draw(digits(length - len(prefix) - 1))
    number = body + luhn.calc_check_digit(body)
    assume(len(set(number)) > 1 and not ric.is_valid(number))
    groups = [number[:4], number[4:10], number[10:]] if length in (14, 15) else re.findall(".{1,4}", number)
    return draw(st.sampled_from(["", " ", "-"] if length not in (12, 13, 18) else [""])).join(groups)


ACCOUNTS = (
    *(("DE", "18n"), ("GB", "4a14n"), ("FR", "10n11c2n"), ("NL", "4a10n"), ("ES", "20n"), ("IT", "1a10n12c")),
    *(("NO", "11n"), ("BE", "12n"), ("CH", "5n12c"), ("PL", "24n"), ("MT", "4a5n18c"), ("SE", "20n")),
)
"""Country, and what follows its check digits: so many digits, letters, or both."""


@st.composite
def ibans(draw: st.DrawFn) -> str:
    country, form = draw(st.sampled_from(ACCOUNTS))
    letters = {"n": "0123456789", "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "c": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    body = "".join(
        draw(st.text(letters[kind], min_size=int(count), max_size=int(count)))
        for count, kind in re.findall(r"(\d+)([nac])", form)
    )
    number = country + mod_97_10.calc_check_digits(body + country) + body
    number = draw(st.sampled_from([number, number.lower()]))
    return " ".join(re.findall(".{1,4}", number)) if draw(st.booleans()) else number


@st.composite
def ssns(draw: st.DrawFn) -> str:
    area = draw(st.integers(1, 899).filter(lambda area: area != 666))
    return f"{area:03}-{draw(st.integers(1, 99)):02}-{draw(st.integers(1, 9999)):04}"


@st.composite
def national_ids(draw: st.DrawFn) -> str:
    born = draw(st.dates(date(1920, 1, 1), date(2025, 1, 1)))
    body = draw(st.sampled_from("123456")) + draw(digits(5)) + f"{born:%Y%m%d}" + draw(digits(3))
    number = body + ric.calc_check_digit(body + "0")
    return number.lower() if draw(st.booleans()) else number


@st.composite
def emails(draw: st.DrawFn) -> str:
    name = st.text("abcxyzABC019", min_size=1, max_size=8)
    local = draw(st.sampled_from(["{}", "{}.b", "{}+tag", "{}_x", "o'{}", "{}-é", "jürgen.{}"])).format(draw(name))
    domain = draw(st.sampled_from(["{}.com", "mail.{}.co.uk", "{}.museum", "bücher-{}.de", "xn--{}-kva.xn--p1ai"]))
    return local + "@" + domain.format(draw(name))


FOUND = {"CARD": cards(), "IBAN": ibans(), "SSN": ssns(), "NATIONAL_ID": national_ids(), "EMAIL": emails()}


@pytest.mark.parametrize("label", FOUND)
@given(data=st.data())
def test_a_valid_value_is_found_anywhere_in_a_sentence(label: str, data: st.DataObject) -> None:
    value, sentence = data.draw(FOUND[label]), data.draw(SENTENCES)
    result, counts = redacted(sentence.format(value))
    assert counts == {label: 1}
    assert result == sentence.format(f"[{label}_1]")


@given(card=cards(), sentence=SENTENCES, change=st.integers(1, 9))
def test_a_card_with_a_wrong_digit_is_left_alone(card: str, sentence: str, change: int) -> None:
    wrong = card[:-1] + str((int(card[-1]) + change) % 10)
    text = sentence.format(wrong)
    assume(not luhn.is_valid(re.sub(r"\D", "", wrong)[:16]))
    assume(not ric.is_valid(wrong) and not re.fullmatch(r"\d{4}([ -]\d{4}){2}[ -]\d{1,4}[ -]\d{1,3}", wrong))
    assert redacted(text)[0] == text


@given(iban=ibans(), sentence=SENTENCES, change=st.integers(1, 9))
def test_a_bank_account_with_a_wrong_digit_is_left_alone(iban: str, sentence: str, change: int) -> None:
    place = 3
    wrong = iban[:place] + str((int(iban[place]) + change) % 10) + iban[place + 1 :]
    assume(not luhn.is_valid(re.sub(r"\D", "", wrong)))  # one in ten has the digits of a card
    text = sentence.format(wrong)
    assert redacted(text)[0] == text


@given(number=national_ids(), sentence=SENTENCES, change=st.integers(1, 9))
def test_an_identity_card_with_a_wrong_digit_is_left_alone(number: str, sentence: str, change: int) -> None:
    wrong = number[:-2] + str((int(number[-2]) + change) % 10) + number[-1]
    assume(not luhn.is_valid(wrong) if wrong.isdigit() else True)
    text = sentence.format(wrong)
    assert redacted(text)[0] == text


@given(area=st.sampled_from(["000", "666", "900", "999"]), rest=st.tuples(st.integers(1, 99), st.integers(1, 9999)))
def test_a_social_security_number_out_of_range_is_left_alone(area: str, rest: tuple[int, int]) -> None:
    text = f"my SSN is {area}-{rest[0]:02}-{rest[1]:04}, call me"
    assert redacted(text)[0] == text


# --- phones ----------------------------------------------------------------------------------------------------------

INTERNATIONAL, NATIONAL = phonenumbers.PhoneNumberFormat.INTERNATIONAL, phonenumbers.PhoneNumberFormat.NATIONAL
EXAMPLES = [
    (region, number)
    for region in sorted(phonenumbers.SUPPORTED_REGIONS)
    for kind in (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE)
    if (number := phonenumbers.example_number_for_type(region, kind)) and len(str(number.national_number)) >= 7
]


@pytest.mark.parametrize("form", [INTERNATIONAL, phonenumbers.PhoneNumberFormat.E164])
@pytest.mark.parametrize("sentence", ["{}", "reach me: {}, thanks", "从今天起用{}。"])
def test_a_number_with_its_country_code_is_found_in_every_region(sentence: str, form: int) -> None:
    texts = {region: sentence.format(phonenumbers.format_number(number, form)) for region, number in EXAMPLES}
    missed = {region: text for region, text in texts.items() if redacted(text)[0] != sentence.format("[PHONE_1]")}
    assert not missed


@pytest.mark.parametrize("sentence", ["Phone: {}\n", "call me at {}.", "电话：{}"])
def test_a_national_number_is_found_in_every_region_after_a_word_for_phones(sentence: str) -> None:
    texts = {region: sentence.format(phonenumbers.format_number(number, NATIONAL)) for region, number in EXAMPLES}
    missed = {region: text for region, text in texts.items() if redacted(text)[0] != sentence.format("[PHONE_1]")}
    assert not missed


@given(
    number=st.from_regex(r"\A[2-9][0-9]{2}([-. ])[2-9][0-9]{2}\1[0-9]{4}( ?x[0-9]{1,4}| ext\. [0-9]{2})?\Z"),
    sentence=SENTENCES,
)
def test_american_forms_are_found_without_any_word(number: str, sentence: str) -> None:
    assert redacted(sentence.format(number))[0] == sentence.format("[PHONE_1]")


@given(number=st.from_regex(r"\A(1[3-9][0-9]{9}|010-?[2-9][0-9]{7}|0755-[2-9][0-9]{7}|400-[0-9]{3}-[0-9]{4})\Z"))
@pytest.mark.parametrize("sentence", ["{}", "我的号码是{}。", "请打{}，谢谢"])
def test_chinese_mobiles_and_landlines_are_found_without_any_word(number: str, sentence: str) -> None:
    assert redacted(sentence.format(number))[0] == sentence.format("[PHONE_1]")


# --- what never changes ----------------------------------------------------------------------------------------------

TIMES = st.builds(datetime.combine, st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.times(timezones=st.just(UTC)))
DATE_FORMS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%m/%d/%Y", "%d-%m-%Y", "%d/%m/%y", "%Y年%m月%d日", "%B %d, %Y"),
    *("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%S%z", "%Y%m%d", "%Y%m%dT%H%M%S"),
    *("%d %b %Y %H:%M:%S", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%Y%m%d%H%M%S"),
)


@st.composite
def order_numbers(draw: st.DrawFn) -> str:
    name = draw(
        st.sampled_from(["order #", "Order number ", "order ", "invoice no. ", "订单号：", '"order_id": "', "ref: "])
    )
    form = draw(st.sampled_from(["{}-{}-{}", "{}{}", "{}-{}", "{}"]))
    return name + form.format(draw(digits(3)), draw(digits(4)), draw(digits(4)))


NEVER: dict[str, st.SearchStrategy[Any]] = {
    "dates and times": st.builds(lambda moment, form: moment.strftime(form), TIMES, st.sampled_from(DATE_FORMS)),
    "periods": st.builds(lambda one, two: f"{one:%Y-%m-%d} - {two:%Y-%m-%d}", TIMES, TIMES),
    "years": st.builds(lambda one, two: f"{one}-{two}", st.integers(1900, 2099), st.integers(1900, 2099)),
    "UUIDs": st.uuids().map(str),
    "versions": st.from_regex(r"\A(v|version |Version: |版本)[0-9]{1,3}(\.[0-9]{1,3}){1,3}(-rc[0-9])?\Z"),
    "prices": st.from_regex(
        r"\A([$€£¥] ?[0-9]{1,9}(\.[0-9]{2})?|[1-9][0-9]{0,2}(,[0-9]{3}){1,3}|[1-9][0-9]{3,9}(元| USD|%))\Z"
    ),
    "order numbers": order_numbers(),
    "ids in JSON": st.builds(lambda number: f'{{"id": {number}, "n": 1}}', st.integers(10**6, 10**11 - 1)),
    "decimals": st.floats(0, 10**9).map(lambda number: f"{number:.6f}"),
    "small numbers": st.integers(0, 999_999).map(str),
}


@pytest.mark.parametrize("kind", NEVER)
@given(data=st.data())
def test_other_numbers_never_change(kind: str, data: st.DataObject) -> None:
    text = data.draw(PROSE).format(data.draw(NEVER[kind]))
    assert redacted(text)[0] == text


@given(
    st.lists(
        st.sampled_from(
            [
                "a@x.org",
                "4111 1111 1111 1111",
                "call",
                "密码：",
                "password=",
                "138",
                "0013812345678",
                "-",
                " ",
                "x",
                "[",
            ]
        )
        | st.sampled_from(
            ["[EMAIL_1]", "]", '"', "\n", "1", "12", "010", "+1 415 555 0132", "://u:", "@", ".", "sk-", "::"]
        )
        | st.text(max_size=5),
        max_size=15,
    )
)
def test_whatever_was_redacted_stays_as_it_is(parts: list[str]) -> None:
    redacted("".join(parts))
