"""Detectors of numbers with a checksum or a fixed range: cards, bank accounts and identity numbers.

A number that fails its check is not redacted.
"""

import re
from collections.abc import Iterator
from datetime import date

from stdnum import iban, luhn
from stdnum.cn import ric

from purser.context.redaction.findings import TAKEN, Found

_SPACE = re.compile(r"[ .-]")

# --- payment cards ---------------------------------------------------------------------------------------------------

_CARD = re.compile(
    r"""(?<![A-Za-z0-9_])(?<!\d[.-])(?:
        \d{12,19}
      | \d{4}(?P<four>[ .-])\d{4}(?P=four)\d{4}(?P=four)\d{1,4}(?:(?P=four)\d{1,3})?
      | \d{4}(?P<six>[ .-])\d{6}(?P=six)\d{4,5}
    )(?![A-Za-z0-9_]|[.-]\d)""",
    re.VERBOSE,
)
# An account number with a wrong digit contains no card: it has more groups after its country than a card.
_ACCOUNT = re.compile(
    r"(?<![A-Za-z0-9_])[A-Za-z]{2}\d\d(?:[ -][A-Za-z0-9]{4}){4,7}[ -][A-Za-z0-9]{1,4}(?![A-Za-z0-9_])"
)
_ISSUERS = tuple(
    (re.compile(prefix), lengths)
    for prefix, lengths in {
        "4": range(13, 20),  # Visa
        "5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720": (16,),  # Mastercard
        "3[47]": (15,),  # American Express
        "30[0-5]|309|3[689]": range(14, 20),  # Diners Club
        "6011|64[4-9]|65": range(16, 20),  # Discover
        "35": range(16, 20),  # JCB
        "2131|1800": (15,),  # JCB, its first cards
        "62|81": range(16, 20),  # UnionPay, RuPay
        "5[06-8]|6": range(12, 20),  # Maestro
        "220[0-5]": range(16, 20),  # Mir, GPN
        "9792|60|82": (16,),  # Troy, RuPay
    }.items()
)


def find_cards(view: str) -> Iterator[Found]:
    """Finds card numbers of known issuers, unseparated or in the groups printed on cards."""
    view, start = _ACCOUNT.sub(lambda account: TAKEN * len(account[0]), view), 0
    while match := _CARD.search(view, start):
        groups = match[0].split(match["four"]) if match["four"] else []
        # A security code may follow with the same separator.
        for written in (match[0], match[0].rpartition(match["four"])[0] if len(groups) == 5 else ""):
            number = _SPACE.sub("", written)
            if _is_card(number):
                yield Found(match.start(), match.start() + len(written), "CARD", number)
                start = match.start() + len(written)
                break
        else:
            # A card may begin at the next group.
            start = match.start() + (4 if match["four"] or match["six"] else len(match[0]))


def _is_card(number: str) -> bool:
    issued = any(prefix.match(number) and len(number) in lengths for prefix, lengths in _ISSUERS)
    return issued and len(set(number)) > 1 and luhn.is_valid(number)


# --- bank accounts ---------------------------------------------------------------------------------------------------

_IBAN = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}+")
_WORD_END = re.compile(r"(?<=[A-Za-z0-9])(?![A-Za-z0-9])")


def find_ibans(view: str) -> Iterator[Found]:
    """Finds IBANs, with or without spaces, in upper or lower case."""
    for match in _IBAN.finditer(view):
        ends = [end.start() for end in _WORD_END.finditer(match[0])]
        if view[match.end() : match.end() + 1].isalnum():
            ends = ends[:-1]  # The last word continues beyond the longest account number.
        for end in reversed(ends):
            number = _SPACE.sub("", match[0][:end]).upper()
            # Checks the checksum and the format of the country, but not the national check digits of some countries.
            if iban.is_valid(number, check_country=False):
                yield Found(match.start(), match.start() + end, "IBAN", number)
                break


# --- US social security ----------------------------------------------------------------------------------------------

_ISSUED = r"(?!000|666|9)\d{3}(?P<sep>SEPARATOR)(?!00)\d{2}(?P=sep)(?!0000)\d{4}(?![A-Za-z0-9_]|[.-]\d)"
_SSN = re.compile(r"(?<![A-Za-z0-9_])(?<!\d[.-])(?P<number>" + _ISSUED.replace("SEPARATOR", "-") + ")")
_LABELLED_SSN = re.compile(
    r"(?<![A-Za-z0-9_])(?:ssn|social security)(?![A-Za-z0-9_])[^\d\n]{0,20}(?P<number>"
    + _ISSUED.replace("SEPARATOR", "[ -]?")
    + ")",
    re.IGNORECASE,
)


def find_ssns(view: str) -> Iterator[Found]:
    """Finds US social security numbers in issued ranges; without hyphens only after a label."""
    for pattern in (_SSN, _LABELLED_SSN):
        for match in pattern.finditer(view):
            yield Found(match.start("number"), match.end("number"), "SSN", _SPACE.sub("", match["number"]))


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
