"""Headings of summaries: in the language of the conversation, wherever a summary is shown."""

import pytest

from purser.context.compression.headings import language_of_words
from purser.context.compression.layers import Layer, Level
from purser.context.compression.summaries import summary_message, summary_text
from purser.context.conversation.messages import Message
from purser.context.strategies import StrategyName
from purser.context.windows import build_window

SAID = {
    "zh": "我想把航班改到星期四下午，因为会议推迟了，酒店已经订好了。",
    "ja": "会議が延期になったので、木曜日の午後の便に変更したいです。",
    "ko": "회의가 연기되어서 목요일 오후 비행기로 바꾸고 싶습니다.",
    "en": "I want to move my flight to Thursday afternoon because the meeting was moved.",
    "de": "Ich möchte meinen Flug auf Donnerstag verschieben, weil die Besprechung verlegt wurde.",
    "es": "Quiero cambiar mi vuelo al jueves por la tarde porque la reunión se ha aplazado.",
    "fr": "Je voudrais déplacer mon vol à jeudi après-midi parce que la réunion a été reportée.",
}
BEGIN = {
    "zh": "本对话第2至9条消息的总结",
    "ja": "この会話のメッセージ2から9まで",
    "ko": "이 대화의 메시지 2~9 요약",
    "de": "Zusammenfassung der Nachrichten 2 bis 9 dieses",
    "es": "Resumen de los mensajes 2 a 9 de esta",
    "fr": "Résumé des messages 2 à 9 de cette",
}


@pytest.mark.parametrize("language", SAID)
def test_script_and_frequent_words_tell_the_language_of_a_text(language: str) -> None:
    assert language_of_words(SAID[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "Vorrei spostare il mio volo a giovedì pomeriggio perché la riunione è stata rinviata. Grazie, è tutto.",
        "Preciso mudar o meu voo para quinta-feira à tarde porque a reunião foi adiada. Obrigado, isso é tudo.",
        "Vull canviar el meu vol a dijous a la tarda perquè la reunió s'ha ajornat. L'hotel ja està reservat.",
        "Ik wil mijn vlucht naar donderdagmiddag verzetten omdat de vergadering is uitgesteld.",
        "tool: GET /v1/orders returns 404 for order 4417. " * 60,
        "De la Cruz",
        "",
    ],
)
def test_related_languages_names_and_records_are_taken_for_no_language_with_headings(text: str) -> None:
    assert language_of_words(text) is None


@pytest.mark.parametrize("language", BEGIN)
def test_a_stored_summary_has_all_headings_in_one_language_even_if_what_it_quotes_is_not(language: str) -> None:
    quoted = Layer(Level.LEAF, 2, 9, 8, "tool: " + "GET /v1/orders returns 404 for order 4417. " * 60)
    text = summary_text([quoted], f"2 user: {SAID[language]}", 5_000, language)
    shown = summary_message(2, 9, text).text
    assert shown.startswith(BEGIN[language])
    assert not any(word in shown for word in ("Summary of", "Facts,"))


@pytest.mark.parametrize("preset", [None, "optimizer"])
@pytest.mark.parametrize("language", BEGIN)
def test_a_summary_written_for_one_window_has_its_headings_in_the_language_of_the_conversation(
    language: str, preset: str | None
) -> None:
    talk = [Message("assistant" if place % 2 else "user", f"{place}{SAID[language]}" * 3) for place in range(40)]
    shown = build_window(talk, budget=2_000, model="gpt-4o", strategy=StrategyName.SUMMARY, preset=preset)
    [summary] = [one for one, place in zip(shown.messages, shown.indexes, strict=True) if place is None]
    assert summary.text.startswith(BEGIN[language].partition("2")[0])
    lengths = {
        "zh": "[历史对话总结 - 原文", "ja": "[これまでの会話の要約", "ko": "[이전 대화 요약",
        "de": "[Zusammenfassung des", "es": "[Resumen de la", "fr": "[Résumé de la",
    }[language]  # fmt: skip
    assert (lengths in summary.text) == (preset == "optimizer")
    assert "Summary of" not in summary.text
