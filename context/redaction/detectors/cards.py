"""Detector of payment cards, by issuer, length and checksum, in all the groups in which people write them."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from stdnum import luhn

from purser.context.redaction.detectors.labelled import has_letter
from purser.context.redaction.findings import TAKEN, Found

_ISSUERS = tuple(
    (re.compile(prefix), lengths)
    for prefix, lengths in {
        "4": (13, 16, 19),  # Visa
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
# An account number with a wrong digit contains no card: it has more groups after its country than a card.
_ACCOUNT = re.compile(
    r"(?<![A-Za-z0-9_])[A-Za-z]{2}\d\d(?:[ -][A-Za-z0-9]{4}){4,7}[ -][A-Za-z0-9]{1,4}(?![A-Za-z0-9_])"
)
_GROUP = re.compile(r"\d+")
_USUAL_GAP = re.compile(r"[ \t]{1,3}|[ ]?[.\-/_·•*][ ]?|[ ]?-?[ ]?(?:\r?\n|\\n)[ >]{0,4}")
_GAP = re.compile(rf"{_USUAL_GAP.pattern}|[ \t]{{4,8}}|[ ]{{0,2}}[^\w\s{TAKEN}]{{1,3}}[ ]{{0,2}}")
_LIST = re.compile(r"[,;|:=]|[ ]{4}")
"""What separates the items of a list, or what is computed."""
_SHAPE = re.compile(r"4 4 4 [1-4](?: [1-3])?|4 6 [45]|1[2-9]|(?:1 ){11,18}1")
_CODED = re.compile(r"4 4 4 4 [34]|4 6 5 4")
"""A card with its security code."""
_NEVER = re.compile(
    r"""(?:(?<![A-Za-z0-9])(?:imei|meid|imsi|iccid|esn|sim|serial|s/n|tracking|parcel|shipment|awb|order|invoice|ticket|case|booking
      |reservation|transaction|txn|trx|ad(?:vert)?|(?:ca-)?pub|slot|client|publisher|campaign|creative|pixel|group
      |post|tweet|status|ad[ ]?set|(?<!card[ _-])id|licen[cs]e[ ]key|ref(?:erence)?|r[ée]f(?:\.|[ée]r\w{1,6})
      |video|channel|isbn|ean|upc|gtin|barcode|sku|part|model|udi|uid|pid|timestamp|epoch|nanos|hash|seed
      |sendungs\w*|paket\w*|bestell\w*|auftrag\w*|vorgangs\w*
      |commande|suivi|colis|pedido|seguimiento|env[íi]o|rastre\w*|encomenda|ordine|spedizione|order(?:nummer|nr)|zending\w*
      |zam[óo]wieni\w*|przesyłk\w*|paczk\w*|заказ\w?|отправлени\w|трек(?:-номер)?)
      |广告\w?|订单|单号|流水号|运单|快递|串号|编号|序列号|注文|製造|伝票|お問い合わせ|追跡|송장|주문|운송장)
    [ _-]?(?:id|ids|no|nr|num|numbers?|code|ref|号码?|nummer|番号|번호|number\ is)?[\s"'`:=#./：-]{0,4}(?:(?:is|ist|est
      |es|é|è|是|为|は)[ ]?)?\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_CUE = re.compile(
    r"""card|karte|tarjeta|carte|cart[ãa]o|carta|карт|visa|master|amex|american[ ]express|discover|maestro|diners|jcb
      |unionpay|(?<![a-z])mir(?![a-z])|credit|kredit|crédit|crédito|debit
      |(?<![A-Za-z])(?:cc|pan|ccnum|ccn)(?![A-Za-z])|卡|カード|카드|कार्ड""",
    re.VERBOSE | re.IGNORECASE,
)
_GLUED_BEFORE = re.compile(
    r"(?:visa|master|mastercard|mc|amex|discover|jcb|diners|maestro|mir|unionpay|card|cards|cc|ccn|pan|num|number|no|nr|credit|debit"
    r"|pay|payment|karte|nummer|tarjeta|carte|numero|cartao|is|my|use|with)[_-]?\Z",
    re.IGNORECASE,
)
_GLUED_AFTER = re.compile(
    r"_?(?:exp|cvv|cvc|visa|card|master|amex|and|valid|please|pls|thanks|thx|ok|mm|with|is|on|for|usd|eur|x{2})",
    re.IGNORECASE,
)
_PHONE = re.compile(r"(?:phone|mobile|tel|fax|cell|handy|whatsapp|sms|msisdn)[\s\"'`:=/]{0,4}\Z", re.IGNORECASE)
_LONGEST_PHONE = 15
_WORD = re.compile(r"[^\W\d_]{3,30}(?![\w-])")
_EXPIRY = re.compile(r"-(?:0[1-9]|1[0-2])[-/]\d\d(?:\d\d)?(?!\d)")
_LOOK_BACK = 60
_MOST_GROUPS = 19


def find_cards(view: str) -> Iterator[Found]:
    """Finds card numbers of known issuers, also in groups, over a line break, and joined to a word."""
    view = _ACCOUNT.sub(lambda account: TAKEN * len(account[0]), view)
    groups: list[re.Match[str]] = []
    for group in _GROUP.finditer(view):
        if groups and not _GAP.fullmatch(view, groups[-1].end(), group.start()):
            yield from _in_run(view, groups)
            groups = []
        groups.append(group)
    yield from _in_run(view, groups)


def _in_run(view: str, groups: list[re.Match[str]]) -> Iterator[Found]:
    """Finds cards in groups of digits that follow each other, each group scanned once as the first of a card."""
    first = 0
    while first < len(groups):
        found, following = _from_group(view, groups, first)
        if found:
            yield found
        first = following


def _from_group(view: str, groups: list[re.Match[str]], first: int) -> tuple[Found | None, int]:
    """The card that begins with a group, and the index of the first group after it."""
    start = groups[first].start()
    if not _may_start(view, start):
        return None, first + 1
    digits = [group[0] for group in groups[first : first + _MOST_GROUPS]]
    lengths = _lengths("".join(digits[:4])[:4])
    if not lengths:
        return None, first + 1
    ends = [(last, number) for last, number in enumerate(accumulate(digits), first) if len(number) in lengths]
    for last, written in reversed(ends):
        if len(set(written)) > 1 and luhn.is_valid(written) and _is_written_as_card(view, groups, first, last):
            return Found(start, groups[last].end(), "CARD", written), last + 1
    return None, first + 1


def _may_start(view: str, start: int) -> bool:
    before = view[start - 1 : start]
    if before == "+" or (before in (".", "-") and view[start - 2 : start - 1].isdigit()):
        return False
    if before.isascii() and (before.isalpha() or before in "_-") and before:
        return bool(_GLUED_BEFORE.search(view, max(0, start - 16), start)) or (
            before == "-" and not view[start - 2 : start - 1].isalnum()
        )
    return True


def _may_end(view: str, start: int, end: int) -> bool:
    after = view[end : end + 1]
    if after in (".", "-") and view[end + 1 : end + 2].isdigit():
        return bool(_EXPIRY.match(view, end))
    if not after.isascii() or not after or not (after.isalpha() or after == "_"):
        return True
    if _GLUED_AFTER.match(view, end):
        return True
    between_words = view[start - 1 : start].isalpha() and _GLUED_BEFORE.search(view, max(0, start - 16), start)
    return bool(_WORD.match(view, end) and (between_words or _has_cue(view, start)))


def _is_written_as_card(view: str, groups: list[re.Match[str]], first: int, last: int) -> bool:
    """Whether people write cards in these groups; other groups need a word for cards before them."""
    start, end = groups[first].start(), groups[last].end()
    sizes = " ".join(str(len(group[0])) for group in groups[first : last + 1])
    coded = last + 1 < len(groups) and _CODED.fullmatch(f"{sizes} {len(groups[last + 1][0])}")
    before = max(0, start - _LOOK_BACK)
    if not (_may_end(view, start, end) or coded):
        return False
    if has_letter(view, before, start):
        if _NEVER.search(view, before, start):
            return False
        if end - start <= _LONGEST_PHONE and _PHONE.search(view, before, start):
            return False
        if _has_cue(view, start):
            return not _is_part(groups, first, last)
    gaps = [
        view[one.end() : two.start()] for one, two in zip(groups[first:last], groups[first + 1 : last + 1], strict=True)
    ]
    usual = all(map(_USUAL_GAP.fullmatch, gaps)) or (len(set(gaps)) == 1 and not _LIST.search(gaps[0]))
    if not _SHAPE.fullmatch(sizes) or not usual:
        return False
    if len(gaps) > 11:  # digit by digit
        alone = (first == 0 or len(groups[first - 1][0]) > 1) and (
            last + 1 == len(groups) or len(groups[last + 1][0]) > 1
        )
        return alone and len(set(gaps)) == 1
    return sum("\n" in gap for gap in gaps) <= 1


def _has_cue(view: str, start: int) -> bool:
    return bool(_CUE.search(view, max(0, start - _LOOK_BACK), start))


def _is_part(groups: list[re.Match[str]], first: int, last: int) -> bool:
    """Whether twelve digits are three of the four groups of a number that fails its check."""
    longer = [len(group[0]) for group in groups[max(0, first - 1) : last + 2]]
    return last - first == 2 and longer[:4] == [4, 4, 4, 4]


@lru_cache(maxsize=10_000)
def _lengths(prefix: str) -> frozenset[int]:
    """The lengths of the cards whose number begins with four digits."""
    return frozenset(length for issuer, lengths in _ISSUERS if issuer.match(prefix) for length in lengths)
