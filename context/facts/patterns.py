"""Patterns of values in text: amounts, dates, ids, names and paths. Precision goes before recall."""

import re
from collections.abc import Iterator

from purser.context.facts.values import Kind

_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_SPAN = r"(?:day|night|week(?:end)?|month|year|spring|summer|fall|autumn|winter)"
_FEW = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|\d+)"
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+(?:[.,]\d+)*)"
_WORD = r"[A-Z](?:[\w&-]|['’](?!s\b))+\b"
_NO_NOUN = (
    r"(?:of|and|or|to|in|at|is|are|was|were|for|with|more|than|the|from|on|by|as|if|but|when|that|this|which|who|will|can"
    r"|has|have|had|then|so|not|do|you|we|it|they|he|she|i|am|pm|st|nd|rd|th|times|ones|too|other|different|new|us|per)\b"
)

_VALUES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        Kind.PATH,
        re.compile(
            r"https?://[^\s\"'<>（）()，。]*[\w/]|(?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@-]+){2,}|\b[A-Z]:\\[\w\\.-]+"
            r"|(?<![\w/.])[\w-]+(?:/[\w.-]+)*\.(?:py|js|tsx?|json|ya?ml|md|txt|csv|sql|toml|sh|cfg|ini|log|pdf|docx?|xlsx?"
            r"|html?|css|java|go|rs|cpp|png|jpe?g)\b"
        ),
    ),
    (
        Kind.MONEY,
        re.compile(
            r"(?:US)?[$€£¥₩]\s?\d(?:[\d,]*\d)?(?:\.\d+)?(?:\s?(?:k|million|billion)\b)?"
            r"|\b\d(?:[\d,]*\d)?(?:\.\d+)?\s?(?:dollars|bucks|euros?|pounds|cents|yuan|yen|won|USD|EUR|GBP|CNY|RMB|JPY|KRW)\b"
            r"|(?<![\d,])(?:\d+[-~至到])?\d(?:[\d,]*\d)?(?:\.\d+)?\s?(?:万元|元|块钱|块|万円|円|만\s?원|원)"
        ),
    ),
    (
        Kind.DATE,
        re.compile(
            rf"\b\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?\b|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}\b"
            rf"|\b(?:{_DAY},? )?(?:{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b|\d{{1,2}}(?:st|nd|rd|th)?"
            rf"(?: of)? {_MONTH}\b(?:,? \d{{4}})?|{_MONTH},? \d{{4}}\b)"
            rf"|\b\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b)?|\b\d{{1,2}}\s?[ap]m\b"
            r"|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|\d{4}年|(?:\d{4}년\s?)?\d{1,2}월(?:\s?\d{1,2}일)?|\d{1,2}[点時시]半?"
        ),
    ),
    (
        Kind.ID,
        re.compile(
            r"(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?<!\w)#\d{2,}\b"
            r"|(?<![\w\[-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])(?:[A-Z0-9]{5,}|[A-Z]{1,4}[-_]?\d{2,}[A-Z0-9-]*|\w+[_-]\d{3,}\w*)(?![\w-])"
            r"|(?<=[\"“'])[A-Z0-9]{6}(?=[\"”'])|(?<![\dA-Za-z_.,-])(?:\d{2,4}-)?\d{5,}\b"
        ),
    ),
    (
        Kind.DATE,
        re.compile(
            rf"\b(?:yesterday|tomorrow|(?:last|next|this past) (?:{_SPAN}|{_DAY}|{_MONTH})|{_FEW} {_SPAN}s? ago"
            rf"|(?:last|next|on|since|by|until|in) (?:{_DAY}|{_MONTH})(?!\w))"
            r"|昨天|前天|明天|后天|[上下](?:个|個)?(?:周|星期|礼拜|月)[一二三四五六日天]?|去年|明年|(?:周|星期)[一二三四五六日天]"
            r"|昨日|明日|先週|来週|先月|来月|来年|[月火水木金土日]曜日?|어제|내일|지난\s?(?:주|달|해)|다음\s?(?:주|달|해)|작년|내년"
            r"|[월화수목금토일]요일",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.NUMBER,
        re.compile(
            rf"\b\d+(?:[.,]\d+)*\s?(?:%|percent\b|°[CF]?|(?:kg|km|cm|mm|mg|ml|lbs?|GB|MB|KB|TB|ms|mph|miles?|kWh)\b)"
            rf"|\b{_COUNT}[ -](?!{_NO_NOUN})[a-z]{{3,}}(?:-[a-z]+)*\b"
            r"|(?<![\d.])(?:\d+(?:\.\d+)?[-~至到])?\d+(?:\.\d+)?\s?(?:个|個|名|位|岁|歳|公斤|千克|公里|米|小时|時間|分钟|天|周|年|人|次|间|张|件|度|分|명|개|살|시간|번)",
        ),
    ),
    (
        Kind.NAME,
        re.compile(
            r"《[^》]{1,40}》|(?<=[\"“])[A-Z][^\"”]{2,40}(?=[\"”])"
            rf"|(?<=[a-z,;] ){_WORD}(?: (?:(?:of|the|de|van|von|al) )?{_WORD})*(?![:\w]|\*\*)"
            r"|(?<=我叫)(?!一|了|你|他)[\u4e00-\u9fff]{2,4}"
        ),
    ),
)
_NO_NAME = re.compile(
    rf"(?:I(?:['’]\w+)?|OK|ID|{_DAY}s?|{_MONTH}|Thanks?|Hey|Hi|Yeah|Yes|No|Congrats|Wow|Good|Mom|Dad)"
)
_VOCATIVE = re.compile(r"^(?:\w+,? ){1,2}$|[a-z], $")
"""Text before the name of the addressee, if the sentence ends with that name."""
_IN_QUESTIONS = frozenset({Kind.PATH, Kind.MONEY, Kind.ID, Kind.NUMBER})
"""Kinds that count in questions too."""


def values(sentence: str) -> Iterator[tuple[Kind, re.Match[str]]]:
    """Yields the values of a sentence; none overlap."""
    asks = sentence.endswith(("?", "？"))
    taken = [False] * len(sentence)
    for kind, pattern in _VALUES:
        for match in pattern.finditer(sentence):
            free = not any(taken[match.start() : match.end()])
            if free and not (asks and kind not in _IN_QUESTIONS) and not _is_word(kind, match):
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                yield kind, match


def _is_word(kind: Kind, match: re.Match[str]) -> bool:
    """Whether a capitalized match is no name of interest: a common word, or the addressee."""
    if kind is not Kind.NAME:
        return False
    spoken_to = _VOCATIVE.search(match.string[: match.start()]) and not match.string[match.end() :].strip(".!…~ ")
    return bool(spoken_to or _NO_NAME.fullmatch(match[0]))
