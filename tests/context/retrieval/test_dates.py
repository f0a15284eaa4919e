"""Dates in questions."""

from datetime import UTC, date, datetime

import pytest

from purser.context.retrieval.dates import date_terms, dates_in, is_day, past_in


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What did Ann do on May 8th, 2023?", ["#5-8", "#5", "#2023"]),
        ("on 8 May 2023", ["#5-8", "#5", "#2023"]),
        ("the 3rd of June", ["#6-3", "#6"]),
        ("on Sep 2", ["#9-2", "#9"]),
        ("2023-05-08", ["#5-8", "#5", "#2023"]),
        ("in May", ["#5"]),
        ("January 2024", ["#1", "#2024"]),
        ("since 2024", ["#2024"]),
        ("我曾经在5月2日提到过博物馆", ["#5-2", "#5"]),
        ("4月30号的天气如何？", ["#4-30", "#4"]),
        ("2023年5月", ["#5", "#2023"]),
        ("Was war am 3. März 2026?", ["#3-3", "#3", "#2026"]),
        ("im Mai", ["#5"]),
        ("¿Qué pasó el 9 de septiembre de 2025?", ["#9-9", "#9", "#2025"]),
        ("desde enero", ["#1"]),
        ("le 1er février", ["#2-1", "#2"]),
        ("en août 2025", ["#8", "#2025"]),
        ("31.08.2025", ["#8-31", "#8", "#2025"]),
        ("2025년 3월 5일", ["#3-5", "#3", "#2025"]),
        ("12월에", ["#12"]),
        ("Version 1.2.3 auf dem Mars, ein Juni-Tag", []),
        ("What may I do with the second-hand car?", []),
        ("Mark sat and read; Dec is his brother", []),
        ("order 20235, room 2101, 10:30", []),
        ("", []),
    ],
)
def test_a_question_names_days_months_and_years(question: str, found: list[str]) -> None:
    assert dates_in(question) == found


def test_a_message_is_marked_with_what_a_question_can_name() -> None:
    assert sorted(date_terms(date(2023, 5, 8))) == sorted(dates_in("8 May 2023"))


def test_days_are_told_from_months_and_years() -> None:
    assert list(filter(is_day, dates_in("since 8 May 2023"))) == ["#5-8"]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("yesterday", [("#12-31", "#2025")]),
        ("vorgestern", [("#12-30", "#2025")]),
        ("last Tuesday", [("#12-30", "#2025")]),
        ("last month", [("#12", "#2025")]),
        ("两年前", [("#2024",)]),
        ("la semana pasada", [(f"#12-{day}", "#2025") for day in range(22, 29)]),
        ("yesterday, or was it yesterday?", [("#12-31", "#2025")]),
        ("today, tomorrow, next week or next year", []),
        ("", []),
    ],
)
def test_a_question_names_times_before_now(question: str, found: list[tuple[str, ...]]) -> None:
    assert past_in(question, datetime(2026, 1, 1, tzinfo=UTC)) == found
    assert past_in(question, None) == []
