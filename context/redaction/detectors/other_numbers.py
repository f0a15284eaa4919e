"""Numbers that look like phone numbers but are not: dates, times, ids, versions, prices, failed checksums."""

import re

from purser.context.redaction.detectors.labelled import has_letter
from purser.context.redaction.findings import TAKEN

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?:\.\d{1,9})?"
_HOUR = r"(?:[01]?\d|2[0-4])"
_UNTIL = r"[ ]?(?:-|to|until|and|bis|und|à|a|às|et|y|e|do|til)[ ]?"
_CURRENCY = r"USD|EUR|GBP|CNY|RMB|JPY|dollars?|euros?|pesos|rupees|roubles|reais|yen|yuan|руб\w*|tokens?"
_FORMS = (
    r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",  # UUID
    rf"{_YEAR}(?P<ymd>[-/. ]){_MONTH}(?P=ymd){_DAY}(?:[T ]{{1,2}}{_TIME}(?:Z|[+-]\d\d:?\d\d)?)?",
    rf"(?:{_DAY}(?P<dmy>[-/. ]){_MONTH}(?P=dmy)|{_MONTH}(?P<mdy>[-/. ]){_DAY}(?P=mdy)){_YEAR}",
    rf"(?:{_DAY}[-/.]{_MONTH}|{_MONTH}[-/.]{_DAY})[-/.]\d\d",
    rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?",
    r"(?:1\d|20)\d\d[ ]?[-/~][ ]?(?:1\d|20)\d\d",
    _TIME,
    r"\d{1,2}\.\d\.\d{3,6}",  # a version
    rf"(?:[01]\d|2[0-4])[0-5][05]{_UNTIL}(?:[01]\d|2[0-4])[0-5][05]",  # opening hours
    rf"{_HOUR}\.[0-5]\d{_UNTIL}{_HOUR}\.[0-5]\d|{_HOUR}-{_HOUR}[ ,/]{{1,3}}{_HOUR}-{_HOUR}",
    r"(?=[0-9a-f ]{0,47}[a-f])[0-9a-f]{2}(?>(?:[ ]{1,2}[0-9a-f]{2}){7,})",  # bytes
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])"
    r"[ ,]{1,2}\d{5}-\d{4}",  # a US postal code
    r"\d{5}-\d{3}",  # a Brazilian postal code
    r"\d{3}-\d{2}-\d{4}",  # a social security number in any range
    r"\d{4}(?P<card>[ .-])\d{4}(?P=card)\d{4}(?P=card)\d{1,4}|\d{4}(?P<amex>[ .-])\d{6}(?P=amex)\d{4,5}",
    r"[A-Za-z]{2}\d{2}(?>(?:[ ]?[A-Za-z0-9]{4}){2,7})(?:[ ]?[A-Za-z0-9]{1,4})?",  # a bank account
    r"[$€£¥₹₩][ ]?\d[\d,.]{0,20}+",
    rf"\d[\d,.]{{0,20}}+[ ]?(?:[$€£¥₹₩%元块円원]|(?:{_CURRENCY})(?![A-Za-z0-9_]))",
)
_FORM = re.compile(rf"(?<![A-Za-z0-9_])(?<!\d[./-])(?:{'|'.join(_FORMS)})(?![A-Za-z0-9_]|[./-]\d)")
_LABELS = (
    r"order|invoice|ticket|ref|reference|case|booking|reservation|confirmation|tracking|shipment|serial|sku|isbn",
    r"issn|doi|pmid",
    r"series?|série|baureihe|modelo|modelle?|modèle|typ[eo]?|tipo",
    r"patent|part|model|item|product|art|artikel|zip(?:[ ]code)?|post(?:al)?[ ]?code|cep|plz|flight|build|commit",
    r"rev|revision",
    r"version|ver|v|account|acct|policy|licen[cs]e|passport|transaction|txn|payment|batch|lot|pages?|pp|rows?",
    r"port|pid|uid|gid",
    r"(?<!office[ ])(?<!phone[ ])(?<!direct[ ])(?<!home[ ])(?<!work[ ])(?<!my[ ])lines?|size|seed|timestamp|epoch",
    r"total|price",
    r"amount|cost|sum|count|bytes?|issue|pull|pr|job|social[ ]security|ssn|iban|card|id|imei|meid|imsi|iccid|ad",
    r"slot|ca-pub|vin",
    r"udid|asin|mmsi|vat|siret|siren|ean|gtin|upc|meeting|conference|room|nit|cnpj|cpf|dni|gst\w*|aadhaar|pnr|awb",
    r"bestell\w*|auftrags?\w*|rechnungs?\w*|kunden\w*|steuer\w*|commande|facture|dossier|pedido|factura",
    r"expediente|matrícula",
    r"заказ\w?|счет\w?|счёт\w?|накладн\w*|договор\w?",
)
_OTHER_SCRIPTS = (
    "订单|单号|编号|流水号|金额|价格|合计|总计|邮编|版本|身份证|卡号|账号|帐号|序列号|会议号|会议ID|房间号|广告",
    "运单|快递",
    "证书|执照|信用代码|税号|第|文号|学号|工号|注文|受付|会員|予約|伝票|郵便|品番|製造|주문|예약|송장|회원|계좌",
    "등록|우편",
)
_LABEL = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?:{'|'.join(_LABELS)})|_id|(?-i:[a-z]Id)|{'|'.join(_OTHER_SCRIPTS)})"
    r"(?:[ _.-]{0,2}(?:numbers?|num|nos?|nr|ids?|codes?|号码?|番号|번호))?"
    r"[^\w\n]{0,4}(?:(?:is|was|are|of|es|ist|est|是|为|為)[^\w\n]{0,2})?\Z",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"(?:[\"']\s?:|[A-Za-z0-9_]\s?=)\s?\Z")
_UNIT = re.compile(
    r"\s?(?:ms|s|sec|seconds|minutes|hours|days|[KMGTkmgt]i?[Bb]|kg|k?m|[cm]m|miles|users?|people|items?|points?|times|votes"
    r"|(?i:rows?|views?|records?|lines?|requests?|bytes?|characters|events|entries|files|nutzer|usuarios|utilisateurs"
    r"|units?|pieces?|copies|visitors|subscribers|followers|downloads|einheiten|stück|exemplare|personen|unidades"
    r"|piezas|ejemplares|personas|unités|pièces|exemplaires|personnes))(?![A-Za-z0-9_])"
    r"|[次个人名条米年月日件개명]|公里"
)
_LOOK_BACK = 40


def without_other_numbers(view: str) -> str:
    """The view with all such numbers masked, of the same length."""
    return _FORM.sub(lambda other: TAKEN * len(other[0]), view)


def is_labelled_otherwise(view: str, start: int, end: int) -> bool:
    """Whether the words around a number mark it as an order, an id, an amount or the like."""
    before = max(0, start - _LOOK_BACK)
    labelled = has_letter(view, before, start) and _LABEL.search(view, before, start)
    return bool(labelled or _UNIT.match(view, end))


def is_assigned(view: str, start: int) -> bool:
    """Whether a number is the value of a key: `"key": 123`, `name = 123`."""
    return bool(_ASSIGNED.search(view, max(0, start - _LOOK_BACK), start))
