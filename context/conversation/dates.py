"""The dates of relative times in a text, by the time at which it was written."""

import re
from datetime import date, datetime, timedelta

from purser.context.conversation.wording import CJK


def numbered(*languages: str, first: int = 1) -> dict[str, int]:
    """The numbers of words, such as months: each language has its words in their order, with spaces between them."""
    return {name: number for names in languages for number, name in enumerate(names.split(), first)}


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_OTHER_DAYS = numbered(
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    first=0,
)
"""In German, Spanish and French."""
_BEFORE = {
    "letzten": -1, "vergangenen": -1, "diesen": 0, "nächsten": 1, "kommenden": 1, "último": -1, "este": 0, "próximo": 1,
    "ce": 0,
}  # fmt: skip
"""Which one, before a weekday of these."""
_AFTER = {"pasado": -1, "que viene": 1, "próximo": 1, "dernier": -1, "prochain": 1}
_OTHER_UNITS = {
    "tage?n?": "day", "wochen?": "week", "monate?n?": "month", "jahre?n?": "year",
    "días?": "day", "semanas?": "week", "mes(?:es)?": "month", "años?": "year",
    "jours?": "day", "semaines?": "week", "mois": "month", "ans?": "year",
}  # fmt: skip
"""Units of time by the pattern of their word."""
_WEEK = "一二三四五六日天"
_NUMBERS = {
    name: number
    for number, name in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
} | {"a": 1, "an": 1, **{name: number for number, name in enumerate("一二三四五六七八九十", 1)}, "两": 2}
_OTHER_NUMBERS = numbered(
    "ein zwei drei vier fünf sechs sieben acht neun zehn",
    "un dos tres cuatro cinco seis siete ocho nueve diez",
    "un deux trois quatre cinq six sept huit neuf dix",
) | dict.fromkeys(("einem", "einer", "una", "une"), 1)
_COUNT = rf"\d{{1,2}}|{'|'.join(name for name in _NUMBERS if name.isascii())}"
_OTHER_COUNT = rf"\d{{1,2}}|{'|'.join(_OTHER_NUMBERS)}"
_SHIFT = {
    "day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2,
    "前天": -2, "昨天": -1, "今天": 0, "明天": 1, "后天": 2,
    "後天": 2, "昨日": -1, "明日": 1, "어제": -1, "오늘": 0, "내일": 1, "모레": 2,
    "anteayer": -2, "ayer": -1, "hoy": 0, "mañana": 1, "pasado mañana": 2, "vorgestern": -2, "gestern": -1, "heute": 0,
    "morgen": 1, "übermorgen": 2, "avant-hier": -2, "hier": -1, "aujourd'hui": 0, "aujourd’hui": 0, "demain": 1,
    "après-demain": 2,
}  # fmt: skip
_YEARS = {"去年": -1, "今年": 0, "明年": 1}
_MONTHS = {"上个月": -1, "下个月": 1, "先月": -1, "来月": 1, "지난달": -1, "다음 달": 1}
_SPANS = {
    "semana pasada": ("week", -1), "letzte woche": ("week", -1), "semaine dernière": ("week", -1),
    "próxima semana": ("week", 1), "semana que viene": ("week", 1), "nächste woche": ("week", 1),
    "semaine prochaine": ("week", 1), "mes pasado": ("month", -1), "letzten monat": ("month", -1),
    "mois dernier": ("month", -1), "próximo mes": ("month", 1), "nächsten monat": ("month", 1),
    "mois prochain": ("month", 1), "año pasado": ("year", -1), "letztes jahr": ("year", -1),
    "année dernière": ("year", -1), "próximo año": ("year", 1), "nächstes jahr": ("year", 1),
    "année prochaine": ("year", 1),
}  # fmt: skip
_RELATIVE = re.compile(
    r"\b(?:(?P<day>day before yesterday|yesterday|today|tonight|tomorrow|day after tomorrow"
    r"|anteayer|ayer|hoy|pasado mañana|(?<!la )mañana(?! por la)"
    r"|vorgestern|gestern|heute|(?-i:morgen)|übermorgen|avant-hier"
    # Alone it is German for "here".
    r"|hier(?= (?:soir|matin|après))|aujourd['’]hui|(?<!-)demain|après-demain)"
    rf"|(?P<words>{'|'.join(_SPANS)})"
    rf"|(?P<which>last|next|this) (?P<unit>week(?:end)?|month|year|{'|'.join(_DAYS)})"
    rf"|(?P<ago>{_COUNT}) (?P<what>day|week|month|year)s? ago"
    rf"|(?P<lead>{'|'.join(_BEFORE)}) (?P<led>{'|'.join(_OTHER_DAYS)})"
    rf"|(?P<trailed>{'|'.join(_OTHER_DAYS)}) (?P<trail>{'|'.join(_AFTER)})"
    rf"|(?P<way>vor|hace|il y a|dentro de|dans) (?P<far>{_OTHER_COUNT}) (?P<unit_of_far>{'|'.join(_OTHER_UNITS)}))\b"
    rf"|(?P<zh>{'|'.join(name for name in (*_SHIFT, *_YEARS, *_MONTHS) if CJK.match(name))})"
    rf"|(?P<side>[上下本这])(?:个|個)?(?:周|週|星期|礼拜)(?>(?P<weekday>[{_WEEK}])?)"
    r"|(?P<before>\d{1,2}|[一二三四五六七八九十两])(?P<span>天|周|个月|年)前",
    re.IGNORECASE,
)
_SIGNS = [
    sign
    for sign in (
        *_SHIFT, *_SPANS, *_OTHER_DAYS, "last ", "next ", "this ", " ago", "vor ", "hace ", "il y a ", "dentro de ",
        "dans ",
    )
    if sign.isascii()
]  # fmt: skip
"""Each relative time in ASCII has one of them: looking for these takes a tenth of the time."""
_SIDES = {"last": -1, "this": 0, "next": 1, "上": -1, "下": 1, "本": 0, "这": 0}


def dated(text: str, at: datetime | None) -> str:
    """Adds its date to each relative time: `yesterday` becomes `yesterday (2023-05-07)`.

    Args:
        text, at: as for `absolute_dates`.
    """
    if at is None or not _may_name_one(text):
        return text
    return _RELATIVE.sub(lambda match: f"{match[0]} ({date})" if (date := _absolute(match, at)) else match[0], text)


def absolute_dates(text: str, at: datetime | None) -> dict[str, str]:
    """The dates of the relative times in a text, by their words: `{"yesterday": "2023-05-07"}`.

    Weeks are named by their Monday, months and years by their number. Weekdays without "last", "next" or "this" are
    ambiguous and have none.

    Args:
        text: what was said.
        at: when it was said; `None` if that is unknown.
    """
    matches = _RELATIVE.finditer(text) if at and _may_name_one(text) else ()
    return {match[0]: date for match in matches if at and (date := _absolute(match, at))}


def _may_name_one(text: str) -> bool:
    """Whether there may be a relative time in a text."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(sign in lower for sign in _SIGNS)


def _absolute(match: re.Match[str], at: datetime) -> str:
    """The date of a relative time; empty outside the calendar."""
    try:
        return _date(match, at.date())
    except (ValueError, OverflowError):
        return ""


def _date(match: re.Match[str], day: date) -> str:
    found = match.groupdict()
    word = (found["day"] or found["zh"] or "").lower()
    if word in _SHIFT:
        return (day + timedelta(_SHIFT[word])).isoformat()
    if word:
        return str(day.year + _YEARS[word]) if word in _YEARS else _month(day, _MONTHS[word])
    if found["words"]:
        return _shifted(day, *_SPANS[found["words"].lower()])
    if found["ago"] or found["before"]:
        count = (found["ago"] or found["before"]).lower()
        return _shifted(day, (found["what"] or found["span"]).lower(), -_NUMBERS.get(count, 0) or -int(count))
    if named := found["led"] or found["trailed"]:
        side = _BEFORE[found["lead"].lower()] if found["led"] else _AFTER[found["trail"].lower()]
        return _weekday(day, _OTHER_DAYS[named.lower()], side)
    if found["far"]:
        count = found["far"].lower()
        unit = next(unit for word, unit in _OTHER_UNITS.items() if re.fullmatch(word, found["unit_of_far"].lower()))
        by = _OTHER_NUMBERS.get(count) or int(count)
        return _shifted(day, unit, by if found["way"].lower() in ("dentro de", "dans") else -by)
    side = _SIDES[(found["which"] or found["side"]).lower()]
    unit = (found["unit"] or "week").lower()
    if found["weekday"]:
        return _weekday(day, min(_WEEK.index(found["weekday"]), 6), side, of_week=True)
    return _weekday(day, _DAYS.index(unit), side) if unit in _DAYS else _shifted(day, unit, side)


def _shifted(day: date, unit: str, by: int) -> str:
    """A span as its date: a day, the Monday of a week, the Saturday of a weekend, a month or a year."""
    if unit in ("day", "天"):
        return (day + timedelta(by)).isoformat()
    if unit in ("month", "个月"):
        return _month(day, by)
    if unit in ("year", "年"):
        return str(day.year + by)
    monday = day - timedelta(day.weekday()) + timedelta(weeks=by)
    return (monday + timedelta(5)).isoformat() if unit == "weekend" else f"week of {monday.isoformat()}"


def _month(day: date, by: int) -> str:
    months = day.year * 12 + day.month - 1 + by
    return f"{months // 12:04}-{months % 12 + 1:02}"


def _weekday(day: date, weekday: int, side: int, *, of_week: bool = False) -> str:
    """The day of the last, this or next week; without week, the last one before or the next one after."""
    if of_week or side == 0:
        return (day - timedelta(day.weekday()) + timedelta(weekday, weeks=side)).isoformat()
    days = (day.weekday() - weekday - 1) % 7 + 1 if side < 0 else -((weekday - day.weekday() - 1) % 7 + 1)
    return (day - timedelta(days)).isoformat()
