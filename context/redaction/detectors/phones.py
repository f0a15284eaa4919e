"""Detector of phone numbers, by their format or by a word next to them."""

import re
from collections.abc import Iterator

import phonenumbers

from purser.context.redaction.detectors.other_numbers import is_assigned, is_labelled_otherwise, without_other_numbers
from purser.context.redaction.detectors.phone_cues import has_cue
from purser.context.redaction.findings import Found

_EXTENSION = r"(?P<extension>[ ,]{0,2}(?:x|ext\.?|extension|转|分机)[ ]?\d{1,6})?"
_BEFORE = r"(?<![A-Za-z0-9_#@$&%])(?<![A-Za-z0-9_][/.-])(?<!\d\))"
_AFTER = r"(?![A-Za-z0-9_]|[./-]\d|,\d{3}(?![\d-]))"
_CODES = (
    "852|853|886|86|65|44|91|81|82|61|49|33|34|39|351|353|55|52|971|966|972|60|62|63"
    "|66|84|90|92|94|20|27|41|43|45|46|47|48|31|32|7"
)
"""Country codes that people also write without a plus."""
_MOBILE_REGIONS = ("FR", "GB", "DE", "NL", "BE", "AU", "JP", "KR", "ID", "TR", "IE", "CH", "IL", "ZA", "VN", "TW")
"""Where mobile numbers begin with a zero, and people write them without spaces."""
_FORMS = {
    "abroad": r"(?:\+[ ]?\d{1,3}|\(\+\d{1,3}\)(?=[ .-]?\d))(?>(?:[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d{1,12}){1,7})",
    "dialled": r"(?:00|011)[ .-]?\d{1,3}(?>(?:[ .-](?:\(\d{1,5}\)[ .-]?)?\d{1,11}){2,7})|00\d{9,15}+",
    "american": r"(?:1[ .-])?(?:\(\d{3}\)[ .-]?\d{3}[ .-]?\d{4}|\d{3}(?P<us>[ .-])\d{3}(?P=us)\d{4})",
    "chinese": r"(?:86[ -]?)?1[3-9]\d(?:\d{8}|(?P<cn>[ -])\d{4}(?P=cn)\d{4})",
    "landline": r"(?:\(0(?:10|2\d|[3-9]\d\d)\)|0(?:10|2\d|[3-9]\d\d))[ -]?[2-9]\d{6,7}(?:-\d{1,6})?",
    "service": r"1[ -]?800[ -]\d{3}[ -]\d{3,4}|[48]00[ -]?\d{3}[ -]\d{4}|[48]00[ -]\d{7}",
    "bracketed": r"(?:[78][ -]?)?\((?!(?:19|20)\d\d\))(?:0[ ])?\d{2,5}\)[ ]?\d{2,5}(?>(?:[ -]?\d{2,5}){1,4})",
    "russian": r"8[ -]?(?:\(\d{3}\)|\d{3})[ -]\d{3}[ -]\d{2}[ -]?\d{2}",
    "french": r"0[ ]8\d{2}(?P<fr>[ .])\d{2}(?P=fr)\d{2}(?P=fr)\d{2}",
    "iberian": r"[6-9]\d{2}(?P<es>[ .-])\d{2}(?P=es)\d{2}(?P=es)\d{2}",
    "brazilian": r"[1-9]{2}[ ]9\d{4}-\d{4}",
    "coded": rf"(?:{_CODES})-\d{{1,5}}(?:-\d{{2,6}}){{1,4}}",
    "mobile": r"0[1-9]\d{8,10}",
    "spoken": "(?<![零〇一二三四五六七八九幺两百千万])[一幺][三四五六七八九][零〇一二三四五六七八九幺]{9}"
    "(?![零〇一二三四五六七八九幺百千万])",
    "trunk": r"0\d{1,5}(?>(?:[ .-]\d{2,9}){1,5})|0\d{2,4}(?:/|[ ]/[ ])(?:\d{5,8}|\d{2,5}(?>(?:[ ]\d{1,5}){1,3}))",
}
_FORM = re.compile(
    f"{_BEFORE}(?:{'|'.join(f'(?P<{name}>{form})' for name, form in _FORMS.items())}){_EXTENSION}{_AFTER}",
    re.IGNORECASE,
)
_NUMBER = (
    r"(?P<number>(?:(?!0\d[0-5]\d[ ]-[ ][0-2]\d[0-5]\d(?![ ]?\d))0\d{2,5}[ ]-(?=[ ]\d)"
    r"|(?:0[ ]\d\d[ ]\d{2,3}(?=[ ]/[ ])|\(?\d{1,6}(?:[ -]\d{1,4}(?=\)))?\)?)(?:[ ]/(?=[ ]))?)"
    r"(?>(?:[ ./-]\(?\d{1,10}\)?){1,9})"
    r"|\d{7,12}+(?:-\d{1,6})?)"
)
_CUED = re.compile(f"{_BEFORE}{_NUMBER}{_EXTENSION}{_AFTER}", re.IGNORECASE)
_MORE = re.compile(rf"[ ]?(?:[,;/]|and|or|和|或|及)[ ]?{_NUMBER}{_EXTENSION}{_AFTER}", re.IGNORECASE)
_LINK = re.compile(
    r"(?:wa\.me/|[?&]phone=|(?:tel|sms|callto|whatsapp):/{0,2})\+?(?P<number>\d{7,15})(?!\w)", re.IGNORECASE
)
_LAST_GROUP = re.compile(r"[ .-]?(?:\(\d+\)[ .-]?)?\d+\Z")
_PAIRS = re.compile(r"\d\d(?: \d\d){5}")
"""Six numbers of two digits, such as those of a lottery."""
_BRITISH_MOBILE = re.compile(r"07\d{9}")
_MEXICAN = re.compile(r"\A521(?=\d{10}\Z)")
"""A mobile number with the digit that Mexico no longer uses."""
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_SPOKEN = str.maketrans("零〇一二三四五六七八九幺", "001234567891")
_DECIMAL = re.compile(r"(?!0\d)\d+\.\d+")
_NO_DIGIT = re.compile(r"\(0\)|[^0-9]")


def find_phones(view: str) -> Iterator[Found]:
    """Finds numbers in the formats of many countries, and numbers of 7 to 12 digits next to a word for phones."""
    rest = without_other_numbers(view)
    for match in _LINK.finditer(rest):
        yield _found(match.start("number"), match.end(), _normal(match["number"]), None)
    for pattern, read in ((_FORM, _by_form), (_CUED, _by_cue)):
        reached = 0
        for match in pattern.finditer(rest):
            found = read(rest, match) if match.start() >= reached else None
            while found is not None:
                yield found
                reached = found.end
                # More numbers may follow in a list; each list is scanned once.
                more = _MORE.match(rest, reached)
                found = _next(rest, more) if more else None


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
    if kind == "trunk" and _PAIRS.fullmatch(written):
        return None
    if kind == "coded" and not _is_valid("+" + written):
        return None
    if (
        kind == "mobile"
        and not _BRITISH_MOBILE.fullmatch(written)
        and not any(_is_mobile(written, region) for region in _MOBILE_REGIONS)
    ):
        return None
    if kind == "spoken":
        written = written.translate(_SPOKEN)
    return _phone(match, match.start(), written)


def _is_valid(written: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(written))
    except phonenumbers.NumberParseException:
        return False


def _is_mobile(written: str, region: str) -> bool:
    number = phonenumbers.parse(written, region)
    mobile = phonenumbers.PhoneNumberType.MOBILE
    return phonenumbers.number_type(number) == mobile and phonenumbers.is_valid_number(number)


def _by_cue(rest: str, match: re.Match[str]) -> Found | None:
    return _next(rest, match) if has_cue(rest, match.start("number"), match.end()) else None


def _next(rest: str, match: re.Match[str]) -> Found | None:
    start = match.start("number")
    return None if is_labelled_otherwise(rest, start, match.end()) else _phone(match, start, match["number"])


def _from_abroad(match: re.Match[str], written: str, prefix: str) -> Found | None:
    """Finds a number with its country code; trailing groups are removed until the number is possible."""
    end, shorter = match.end(), written
    while len(shorter) > len(prefix) + 6:
        try:
            number = phonenumbers.parse("+" + _MEXICAN.sub("52", _digits(shorter)[len(prefix) :]))
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
    american = match.re is _FORM and match["american"]
    return _found(start, match.end(), digits if american and len(digits) != 10 else _normal(digits), match["extension"])


def _normal(digits: str) -> str:
    """The digits with the country code, where the number shows which one it is."""
    if len(digits) == 10 and digits[0] not in "01":
        return "1" + digits
    return "86" + digits if _CHINESE_MOBILE.fullmatch(digits) else digits


def _found(start: int, end: int, value: str, extension: str | None) -> Found:
    return Found(start, end, "PHONE", f"{value};{_digits(extension)}" if extension else value)


def _digits(written: str) -> str:
    return _NO_DIGIT.sub("", written)
