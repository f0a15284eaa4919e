"""Dates in questions, and the terms that mark the day, month and year of a message.

Month names are recognized in English, German, Spanish and French, and numbers before 年, 月, 日, 号, 년, 월 and 일;
dates in digits have the form 2026-05-08 or 8.5.2026.
"""

import calendar
import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from purser.context.conversation.dates import absolute_dates, numbered

_MONTHS = {
    name.lower(): month
    for names in (calendar.month_name, calendar.month_abbr)
    for month, name in enumerate(names)
    if name
}
_OTHER_MONTHS = numbered(
    "januar februar marz april mai juni juli august september oktober november dezember",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
)
"""Without accents, as `dates_in` reads them."""
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_OTHER_NAMES = "|".join(sorted(_OTHER_MONTHS, key=len, reverse=True))
# "may" is mostly a verb: alone it counts after a preposition only.
_ALONE = "|".join(name.lower() for name in calendar.month_name if name not in ("", "May"))
_ALONE = rf"(?P<month>{_ALONE}|(?:(?<=in )|(?<=of )|(?<=since )|(?<=until )|(?<=last )|(?<=this ))may)\b"
# Rules out most words before all names are tried.
_INITIAL = f"(?=[{''.join(sorted({name[0] for name in _MONTHS}))}])"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
# Each with a sign that it needs: looking for the sign takes far less time.
_FORMS = [
    (sign, re.compile(form))
    for sign, form in (
        ("-", rf"\b{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b"),
        ("月", rf"(?:{_YEAR}年)?(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})[日号])?"),
        ("월", rf"(?:{_YEAR}년 ?)?(?P<month>\d{{1,2}})월(?: ?(?P<day>\d{{1,2}})일)?"),
        (".", rf"(?<![\d.])(?P<day>\d{{1,2}})\.(?P<month>0?[1-9]|1[0-2])\.{_YEAR}\b"),
        ("", rf"\b{_DAY}(?: of)? (?P<month>{_NAMES})\b(?:,? {_YEAR}\b)?"),
        ("", rf"\b{_INITIAL}(?P<month>{_NAMES}) {_DAY}\b(?:,? {_YEAR}\b)?"),
        ("", rf"\b{_INITIAL}{_ALONE}(?:,? {_YEAR}\b)?"),
        ("", rf"\b(?P<day>\d{{1,2}})(?:\.|er| de)? (?P<month>{_OTHER_NAMES})\b(?:(?: de)? {_YEAR}\b)?"),
        ("", rf"\b(?:im|seit|bis|en|desde|hasta|depuis) (?P<month>{_OTHER_NAMES})\b(?:(?: de)? {_YEAR}\b)?"),
        ("", rf"(?<![\d-]){_YEAR}(?![\d-])"),
    )
]


def date_terms(day: date) -> list[str]:
    """The terms that mark a message of this day."""
    return [f"#{day.month}-{day.day}", f"#{day.month}", f"#{day.year}"]


def is_day(term: str) -> bool:
    """Whether a date term marks a day, not a month or year."""
    return "-" in term


def dates_in(question: str) -> list[str]:
    """The terms of all dates that a question names."""
    text, found = _without_accents(question.lower()), list[str]()
    for form in (form for sign, form in _FORMS if sign in text):
        for match in (named := list(form.finditer(text))):
            found += _terms(**match.groupdict())
        text = form.sub(" ", text) if named else text
    return list(dict.fromkeys(found))


def past_in(question: str, now: datetime | None) -> list[tuple[str, ...]]:
    """The days, months and years before now that a question names relative to it, such as "yesterday".

    A message of one of them is marked with all its terms.

    Args:
        question: what is asked.
        now: when it is asked; `None` if that is unknown.
    """
    found = dict[tuple[str, ...], None]()
    for named in absolute_dates(question, now).values():
        year, *rest = map(int, named.removeprefix("week of ").split("-"))
        if now and (year, *rest) < (now.year, now.month, now.day)[: len(rest) + 1]:
            days = range(7) if named.startswith("week of ") else range(1)
            found |= dict.fromkeys(_marks(year, rest, after) for after in days)
    return list(found)


def _marks(year: int, rest: Sequence[int], after: int) -> tuple[str, ...]:
    if len(rest) < 2:
        return (*(f"#{month}" for month in rest), f"#{year}")
    day, _, of_year = date_terms(date(year, *rest) + timedelta(after))
    return day, of_year


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if not "\u0300" <= sign <= "\u036f"))


def _terms(year: str | None = None, month: str | None = None, day: str | None = None) -> list[str]:
    number = None if month is None else _MONTHS.get(month) or _OTHER_MONTHS.get(month) or int(month)
    found = [f"#{number}-{int(day)}"] if number and day else []
    found += [f"#{number}"] if number else []
    return found + ([f"#{year}"] if year else [])
