"""Dates of relative times."""

from datetime import UTC, datetime

import pytest

from purser.context.conversation.dates import absolute_dates, dated

AT = datetime(2023, 5, 10, 13, 56, tzinfo=UTC)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("said", "dates"),
    [
        ("I went there yesterday.", {"yesterday": "2023-05-09"}),
        ("See you tomorrow, not today", {"tomorrow": "2023-05-11", "today": "2023-05-10"}),
        ("last Friday we met", {"last Friday": "2023-05-05"}),
        ("last Wednesday", {"last Wednesday": "2023-05-03"}),
        ("next Monday", {"next Monday": "2023-05-15"}),
        ("this Sunday", {"this Sunday": "2023-05-14"}),
        ("last week", {"last week": "week of 2023-05-01"}),
        ("next weekend", {"next weekend": "2023-05-20"}),
        ("two days ago", {"two days ago": "2023-05-08"}),
        ("6 months ago", {"6 months ago": "2022-11"}),
        ("a year ago", {"a year ago": "2022"}),
        ("last month", {"last month": "2023-04"}),
        ("next year", {"next year": "2024"}),
        ("我昨天去了", {"昨天": "2023-05-09"}),
        ("下周五见", {"下周五": "2023-05-19"}),
        ("三天前", {"三天前": "2023-05-07"}),
        ("上个月开始", {"上个月": "2023-04"}),
        ("明日行きます", {"明日": "2023-05-11"}),
        ("어제 갔어요", {"어제": "2023-05-09"}),
        ("Nos vimos ayer", {"ayer": "2023-05-09"}),
        ("pasado mañana, por la mañana", {"pasado mañana": "2023-05-12"}),
        ("la semana pasada", {"semana pasada": "week of 2023-05-01"}),
        ("Wir fahren morgen, am Morgen", {"morgen": "2023-05-11"}),
        ("letztes Jahr und übermorgen", {"letztes Jahr": "2022", "übermorgen": "2023-05-12"}),
        ("après-demain, pas demain", {"après-demain": "2023-05-12", "demain": "2023-05-11"}),
        ("le mois dernier", {"mois dernier": "2023-04"}),
        ("the day after tomorrow, not tomorrow", {"day after tomorrow": "2023-05-12", "tomorrow": "2023-05-11"}),
        ("the day before yesterday", {"day before yesterday": "2023-05-08"}),
        ("letzten Freitag, nächsten Montag", {"letzten Freitag": "2023-05-05", "nächsten Montag": "2023-05-15"}),
        ("vor zwei Wochen", {"vor zwei Wochen": "week of 2023-04-24"}),
        ("vor 3 Tagen und vor einem Jahr", {"vor 3 Tagen": "2023-05-07", "vor einem Jahr": "2022"}),
        ("el viernes pasado, no el viernes", {"viernes pasado": "2023-05-05"}),
        ("el próximo lunes", {"próximo lunes": "2023-05-15"}),
        ("el martes que viene", {"martes que viene": "2023-05-16"}),
        ("hace tres días", {"hace tres días": "2023-05-07"}),
        ("dentro de dos meses", {"dentro de dos meses": "2023-07"}),
        ("jeudi prochain, mardi dernier", {"jeudi prochain": "2023-05-11", "mardi dernier": "2023-05-09"}),
        ("il y a un mois", {"il y a un mois": "2023-04"}),
        ("dans cinq jours", {"dans cinq jours": "2023-05-15"}),
        ("hier soir", {"hier": "2023-05-09"}),
        ("hier, in zwei Wochen geschafft", {}),
        ("dans la semaine, hace frío, vor dem Haus", {}),
        ("on Friday at 5", {}),
        ("yesterdays", {}),
    ],
)
def test_a_relative_time_has_a_date_and_an_ambiguous_one_none(said: str, dates: dict[str, str]) -> None:
    assert absolute_dates(said, AT) == dates
    assert absolute_dates(said.upper(), AT) == absolute_dates(f"{said.upper()} …", AT), "also of a text in ASCII"


def test_without_a_time_of_writing_or_outside_the_calendar_there_is_no_date() -> None:
    assert absolute_dates("yesterday", None) == {}
    assert absolute_dates("yesterday", datetime(1, 1, 1, tzinfo=UTC)) == {}
    assert dated("yesterday", None) == dated("yesterday", datetime(1, 1, 1, tzinfo=UTC)) == "yesterday"


def test_dates_stand_behind_their_words() -> None:
    assert (
        dated("I went there yesterday. 我昨天去了", AT)
        == "I went there yesterday (2023-05-09). 我昨天 (2023-05-09)去了"
    )
