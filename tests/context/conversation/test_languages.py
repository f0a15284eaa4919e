"""Language identification, and whether a summary is in the language of its conversation."""

import gzip
import json
from pathlib import Path

import pytest

from purser.context.conversation.languages import conversation_language, is_other_language, language_of

TEXTS = {
    "en": "The customer wants to move the flight to Friday and to pay with the voucher from last year.",
    "fr": "Le client veut déplacer son vol à vendredi et payer avec le bon d'achat de l'année dernière.",
    "de": "Die Kundin möchte ihren Flug auf Freitag verlegen und mit dem Gutschein vom letzten Jahr bezahlen.",
    "es": "La clienta quiere cambiar su vuelo al viernes y pagar con el cupón del año pasado.",
    "zh": "客户想把航班改到星期五，并用去年的代金券付款。",
    "ja": "お客様は金曜日の便に変更し、昨年のクーポンで支払いたいと言っています。",
    "ko": "고객은 항공편을 금요일로 변경하고 작년 상품권으로 결제하려고 합니다.",
    "ru": "Клиентка хочет перенести рейс на пятницу и заплатить прошлогодним ваучером.",
    "uk": "Клієнтка хоче перенести рейс на п'ятницю та заплатити торішнім ваучером.",
    "ar": "يريد العميل نقل الرحلة إلى يوم الجمعة والدفع بالقسيمة من العام الماضي.",
    "el": "Η πελάτισσα θέλει να αλλάξει την πτήση για την Παρασκευή και να πληρώσει με κουπόνι.",
}


@pytest.mark.parametrize("code", TEXTS)
def test_a_language_is_identified_by_its_text(code: str) -> None:
    assert language_of(TEXTS[code]) == code
    assert conversation_language([TEXTS[code]] * 3) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "42",
        "a1b2 c3d4",
        "```\nfor x in range(10): print(x)\n```",
        "https://example.com/a/b/c/d?e=f",
        "{}" * 50,
    ],
)
def test_what_is_too_short_or_no_prose_has_no_language(text: str) -> None:
    assert language_of(text) is None
    assert not any(is_other_language(text, code) for code in TEXTS)


@pytest.mark.parametrize("expected", TEXTS)
@pytest.mark.parametrize("written", TEXTS)
def test_a_summary_is_in_another_language_than_its_conversation_or_not(written: str, expected: str) -> None:
    if (written, expected) != ("ru", "uk"):  # so close that a short text may be either
        assert is_other_language(TEXTS[written], expected) == (written != expected)


def test_names_and_numbers_of_another_script_do_not_change_the_language() -> None:
    text = "客户 Anna Berg 的订单号是8842，航班 HAT170 改到 New York，用 gift_card_77 付款，不要托运行李。"
    assert language_of(text) == "zh"
    assert not is_other_language(text, "zh")


def test_a_long_run_without_spaces_is_read_at_once() -> None:
    assert language_of("我们今天去海淀区的公园，订单号是8842/A。" * 10_000) == "zh"
    language_of("x" * 1_000_000)


def test_a_mixed_conversation_has_no_language_that_could_be_demanded() -> None:
    assert conversation_language([TEXTS["fr"], TEXTS["en"]] * 5) is None
    assert conversation_language([TEXTS["zh"], *["ok", "42"] * 20]) == "zh"
    assert conversation_language([]) is None


def test_conversations_of_the_collections_have_their_language(shared_data: Path) -> None:
    codes = {"zh-Hans": "zh", "zh-Hant": "zh"}
    seen: list[tuple[str | None, str]] = []
    for name in ("ntrex", "xpersona"):
        with gzip.open(shared_data / name / "dev.jsonl.gz", "rt") as lines:
            rows = [json.loads(line) for line in lines]
        for row in rows[::3]:
            found = conversation_language([message["content"] for message in row["messages"]])
            seen.append((found, codes.get(row["lang"], row["lang"])))
    assert sum(found == expected for found, expected in seen) >= 0.97 * len(seen)
