"""Detectors of numbers with a checksum or a fixed range: bank accounts and identity numbers.

A number that fails its check is not redacted.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from stdnum import numdb
from stdnum.cn import ric

from purser.context.redaction.findings import Found

_SPACE = re.compile(r"[ .-]")
_NO_LETTER = re.compile(r"[^A-Za-z0-9]")

# --- bank accounts ---------------------------------------------------------------------------------------------------

_BETWEEN = r"(?:[ \t]{1,3}|[.\-/_,·+:]|[ ]?-?\r?\n[ >]{0,3})?"
_CLASSES = {"n": r"\d", "a": "[A-Za-z]", "c": "[A-Za-z0-9]"}
_COUNTRY = re.compile(rf"(?<!\d)(?P<country>[A-Za-z]{{2}}){_BETWEEN}\d{_BETWEEN}\d")


def find_ibans(view: str) -> Iterator[Found]:
    """Finds IBANs in upper or lower case, also in groups, over a line break, and joined to a word."""
    at = 0
    while match := _COUNTRY.search(view, at):
        form = _account_form(match["country"].upper())
        found = form.match(view, match.start()) if form else None
        number = _NO_LETTER.sub("", found[0]).upper() if found else ""
        if found and _has_checksum(number):
            yield Found(found.start(), found.end(), "IBAN", number)
            at = found.end()
        else:
            at = match.start() + 1


@lru_cache
def _account_form(country: str) -> re.Pattern[str] | None:
    """Notations of the accounts of a country, whose length and format are registered."""
    registered = numdb.get("iban").info(country)[0][1]
    if not registered:
        return None
    characters = "".join(
        rf"(?:{_BETWEEN}{_CLASSES[kind]}){{{count}}}"
        for count, kind in re.findall(r"(\d+)!([nac])", "2!n" + registered["bban"])
    )
    return re.compile(rf"{country}{characters}(?!\d)", re.IGNORECASE | re.ASCII)


def _has_checksum(number: str) -> bool:
    digits = "".join(str(int(character, 36)) for character in number[4:] + number[:4])
    return int(digits) % 97 == 1


# --- US social security ----------------------------------------------------------------------------------------------

_ISSUED = r"(?!000|666|9)\d{3}(?P<sep>SEPARATOR)(?!00)\d{2}(?P=sep)(?!0000)\d{4}(?![A-Za-z0-9_]|[.-]\d)"
_SSN = re.compile(r"(?<![A-Za-z0-9_])(?<!\d[.-])(?P<number>" + _ISSUED.replace("SEPARATOR", "[-.]") + ")")
_LABELLED_SSN = re.compile(
    r"(?<![A-Za-z0-9_])(?:ssn|social security)(?![A-Za-z0-9_])[^\d\n]{0,20}(?P<number>"
    + _ISSUED.replace("SEPARATOR", "[ .-]?")
    + ")",
    re.IGNORECASE,
)
_NO_SSN = re.compile(r"(?:v|version|release|build|rev|[$€£¥=<>])[ .:#]{0,3}\Z", re.IGNORECASE)


def find_ssns(view: str) -> Iterator[Found]:
    """Finds US social security numbers in issued ranges; without hyphens or dots only after a label."""
    for pattern in (_SSN, _LABELLED_SSN):
        for match in pattern.finditer(view):
            start = match.start("number")
            if pattern is _SSN and match["sep"] == "." and _NO_SSN.search(view, max(0, start - 20), start):
                continue
            yield Found(start, match.end("number"), "SSN", _SPACE.sub("", match["number"]))


# --- Chinese identity cards ------------------------------------------------------------------------------------------

_RIC = re.compile(
    r"(?<![A-Za-z0-9_])(?<!\d[.-])[1-9]\d{5}(?P<sep>[ -]?)(?:18|19|20)\d{6}(?P=sep)\d{3}[\dXx](?![A-Za-z0-9_]|[.-]\d)"
)


def find_national_ids(view: str) -> Iterator[Found]:
    """Finds numbers of Chinese identity cards."""
    for match in _RIC.finditer(view):
        number = _SPACE.sub("", match[0]).upper()
        if ric.calc_check_digit(number) == number[-1] and _is_date(number[6:14]):
            yield Found(match.start(), match.end(), "NATIONAL_ID", number)


def _is_date(digits: str) -> bool:
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True
