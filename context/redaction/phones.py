"""Detector of phone numbers, by their format or by the word before them."""

import re
from collections.abc import Iterator

import phonenumbers

from purser.context.redaction.findings import TAKEN, Found
from purser.context.redaction.other_numbers import is_assigned, is_labelled_otherwise, without_other_numbers

_EXTENSION = r"(?P<extension>[ ,]{0,2}(?:x|ext\.?|extension|转|分机)[ ]?\d{1,6})?"
_BEFORE = r"(?<![A-Za-z0-9_#@$&%])(?<![A-Za-z0-9_][/.-])(?<!\d\))"
_AFTER = r"(?![A-Za-z0-9_]|[./-]\d|,\d{3}(?![\d-]))"
_FORMS = {
    "abroad": r"\+[ ]?\d{1,3}(?:[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d{1,12}){1,7}+",
    "dialled": r"(?:00|011)[ .-]?\d{1,3}(?:[ .-](?:\(\d{1,5}\)[ .-]?)?\d{1,11}){2,7}+|00\d{9,15}+",
    "american": r"(?:1[ .-])?(?:\(\d{3}\)[ .-]?\d{3}[ .-]?\d{4}|\d{3}(?P<us>[ .-])\d{3}(?P=us)\d{4})",
    "chinese": r"(?:86[ -]?)?1[3-9]\d(?:\d{8}|(?P<cn>[ -])\d{4}(?P=cn)\d{4})",
    "landline": r"(?:\(0(?:10|2\d|[3-9]\d\d)\)|0(?:10|2\d|[3-9]\d\d))[ -]?[2-9]\d{6,7}(?:-\d{1,6})?",
    "service": r"[48]00[ -]?\d{3}[ -]\d{4}|[48]00[ -]\d{7}",
    "bracketed": r"(?:[78][ -]?)?\((?!(?:19|20)\d\d\))\d{2,5}\)[ ]?\d{2,5}(?:[ -]?\d{2,5}){1,3}+",
    "trunk": r"0\d{1,5}(?:[ .-]\d{2,9}){1,5}+|0\d{2,4}/\d{5,8}",
}
_FORM = re.compile(
    f"{_BEFORE}(?:{'|'.join(f'(?P<{name}>{form})' for name, form in _FORMS.items())}){_EXTENSION}{_AFTER}",
    re.IGNORECASE,
)
_CUE = r"""(?<![A-Za-z0-9_])(?:(?:tele|smart|mobile|home|work|cell)?[ ]?phones?|tel|mobiles?|mobil
      |cell(?:ular)?|call(?:s|ed|ing)?|dial(?:s|l?ed|l?ing)?
      |(?:ring|text)(?:ed|ing)?[ ](?:me|us|him|her|them)|fax|hotline|helpline|sms|whatsapp|wechat
      |viber|telegram|messages?|messaged|answering|reach(?:able|ed)?|contact(?:ed)?|desk|landline|voicemail|pager
      |(?:my|his|her|our|your|their|contact|new)[ ]number|telefon\w*|t[ée]l[ée]phone|tel[eé]fono|telefone|celular
      |m[óo]vil|portable|handy\w*|rufnummer|mobilnummer|puhelin\w*|телефон\w*|моб)(?![A-Za-z0-9_])
    |电话|電話|手机|手機|座机|座機|热线|熱線|传真|傳真|联系方式|联系|拨打|致电|携帯|전화(?:번호)?|휴대폰|연락처|ファックス"""
_GAP = rf"[^\d.!?;\n+{TAKEN}]{{0,24}}?\n?[ ]{{0,4}}"
_NUMBER = r"(?P<number>\(?\d{1,6}(?:[ -]\d{1,4}(?=\)))?\)?(?:[ ./-]\(?\d{1,10}\)?){1,6}+|\d{7,12}+(?:-\d{1,6})?)"
_CUED = re.compile(rf"(?:{_CUE})\.?{_GAP}{_BEFORE}{_NUMBER}{_EXTENSION}{_AFTER}", re.VERBOSE | re.IGNORECASE)
_MORE = re.compile(rf"[ ]?(?:[,;/]|and|or|和|或|及)[ ]?{_NUMBER}{_EXTENSION}{_AFTER}", re.IGNORECASE)
_LAST_GROUP = re.compile(r"[ .-]?(?:\(\d+\)[ .-]?)?\d+\Z")
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_DECIMAL = re.compile(r"\d+\.\d+")
_NO_DIGIT = re.compile(r"\(0\)|[^0-9]")


def find_phones(view: str) -> Iterator[Found]:
    """Finds numbers in the formats of many countries, and numbers of 7 to 12 digits after a word for phones."""
    rest = without_other_numbers(view)
    for pattern, read in ((_FORM, _by_form), (_CUED, _by_cue)):
        reached = 0
        for match in pattern.finditer(rest):
            found = read(rest, match) if match.start() >= reached else None
            while found is not None:
                yield found
                reached = found.end
                # More numbers may follow in a list; each list is scanned once.
                more = _MORE.match(rest, reached)
                found = _by_cue(rest, more) if more else None


def _by_form(rest: str, match: re.Match[str]) -> Found | None:
    kind = next(name for name in _FORMS if match[name])
    written = match[kind]
    if kind == "abroad":
        return _from_abroad(match, written, "")
    if is_labelled_otherwise(rest, match.start(), match.end()):
        return None
    if kind == "dialled":
        return _from_abroad(match, written, "011" if written.startswith("011") else "00")
    if written.isdigit() and is_assigned(rest, match.start()):
        return None
    return _phone(match, match.start(), written)


def _by_cue(rest: str, match: re.Match[str]) -> Found | None:
    start = match.start("number")
    return None if is_labelled_otherwise(rest, start, match.end()) else _phone(match, start, match["number"])


def _from_abroad(match: re.Match[str], written: str, prefix: str) -> Found | None:
    """Finds a number with its country code; trailing groups are removed until the number is possible."""
    end, shorter = match.end(), written
    while len(shorter) > len(prefix) + 6:
        try:
            number = phonenumbers.parse("+" + _digits(shorter)[len(prefix) :])
        except phonenumbers.NumberParseException:
            return None
        grouped = not shorter.isdigit()
        if phonenumbers.is_possible_number(number) and (grouped or phonenumbers.is_valid_number(number)):
            value = f"{number.country_code}{number.national_number}"
            return _found(match.start(), end, value, match["extension"] if shorter == written else None)
        shorter = _LAST_GROUP.sub("", shorter)
        end = match.start() + len(shorter)
    return None


def _phone(match: re.Match[str], start: int, written: str) -> Found | None:
    digits = _digits(written)
    if _DECIMAL.fullmatch(written) or not 7 <= len(digits.lstrip("0")) <= len(digits) <= 13:
        return None
    if len(digits) == 10 and digits[0] not in "01":
        digits = "1" + digits
    elif _CHINESE_MOBILE.fullmatch(digits) and not (match.re is _FORM and match["american"]):
        digits = "86" + digits
    return _found(start, match.end(), digits, match["extension"])


def _found(start: int, end: int, value: str, extension: str | None) -> Found:
    return Found(start, end, "PHONE", f"{value};{_digits(extension)}" if extension else value)


def _digits(written: str) -> str:
    return _NO_DIGIT.sub("", written)
