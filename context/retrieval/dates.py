"""Dates in questions, and the terms that mark the day, month and year of a message.

Month names are recognized in English, and numbers before 年, 月, 日 and 号; dates in digits have the form 2026-05-08.
"""

import calendar
import re
from datetime import date

_MONTHS = {
    name.lower(): month
    for names in (calendar.month_name, calendar.month_abbr)
    for month, name in enumerate(names)
    if name
}
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
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
        ("", rf"\b{_DAY}(?: of)? (?P<month>{_NAMES})\b(?:,? {_YEAR}\b)?"),
        ("", rf"\b{_INITIAL}(?P<month>{_NAMES}) {_DAY}\b(?:,? {_YEAR}\b)?"),
        ("", rf"\b{_INITIAL}{_ALONE}(?:,? {_YEAR}\b)?"),
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
    text, found = question.lower(), list[str]()
    for form in (form for sign, form in _FORMS if sign in text):
        for match in (named := list(form.finditer(text))):
            found += _terms(**match.groupdict())
        text = form.sub(" ", text) if named else text
    return list(dict.fromkeys(found))


def _terms(year: str | None = None, month: str | None = None, day: str | None = None) -> list[str]:
    number = None if month is None else _MONTHS.get(month) or int(month)
    found = [f"#{number}-{int(day)}"] if number and day else []
    found += [f"#{number}"] if number else []
    return found + ([f"#{year}"] if year else [])
