"""Lexical features of a text in any script, shared by extraction, fact finding and fidelity scores."""

import re
from collections.abc import Iterator, Sequence, Set

import regex

_LONGEST = 300
"""Maximum characters of a sentence; longer ones, such as JSON, are cut into pieces."""
_MONTH_OF_ORDINAL = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
_SENTENCE_END = regex.compile(
    r"(?<=[.!?…])(?<!^\s*\d{1,2}\.|\b[A-Z]\.)"
    rf"(?!(?<=\d\.)\s+(?:{_MONTH_OF_ORDINAL}|bis|und)\b)\s+|(?<=[。！？；])|\n+",
    regex.MULTILINE,
)
"""The number of a list entry, the initial of a name and a day as in "5. Mai" end no sentence."""
_POSSIBLE_END = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？；])|(?=\n)")
"""Where a sentence may end; found several times as fast, and `_SENTENCE_END` decides."""
_PIECE = re.compile(rf".{{1,{_LONGEST}}}(?:\s+|$)|.{{1,{_LONGEST}}}", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,:/-]\d+)*")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Characters of scripts whose words have no spaces, or few."""
_STEM = 6
_SELF = re.compile(r"I(?:['’]\w+)?|OK")
"""Words that are capitalized everywhere."""
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|without|cannot|nicht|nichts|kein(?:e[mnrs]?)?|nie|niemals|ohne|nunca|jamás|nada"
    r"|tampoco|ning[uú]n[ao]?|pas|jamais|rien|aucune?|sans)\b|n['’]t\b|[不没無无未別别勿]|않|없",
    re.IGNORECASE,
)
"""French "ne" is not counted beside its second part."""
_ORDINAL = re.compile(r"第\s?\d+")
_QUESTION = re.compile(r"[?？]")
_NO_QUESTION = re.compile(
    r"```.*?(?:```|\Z)|(?<!\w)`[^`\n]{1,300}`(?!\w)|\b[a-z]{2,9}://\S{0,2000}?[?]\w\S*?(?=[?]*(?:\s|\Z))", re.DOTALL
)
"""Code, and addresses with parameters."""
_ASKS = re.compile(
    r"[?？][\"'”’）)]*$|[吗呢][啊呀]?[。！，,.!~]*$|(?<!没)(?:有没有|是不是|能不能|可不可以|要不要|行不行|多少|怎么样|哪[个家里些儿])"
    r"|(?:何|どこ|いつ|いくら|どれ|どの)[^。]{0,20}か[。.]?$|(?:です|ます|でしょう)か[。.]?$|(?:나요|습니까|입니까|합니까|까요)[.]?$"
)
"""A question, also where it is written without its mark."""

_UNIT = r"(?:day|night|week(?:end)?|month|year|spring|summer|fall|autumn|winter|morning|evening|time)s?"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"january|february|april|june|july|august|september|october|november|december"
_NEAR_DAYS = (
    r"yesterday|tomorrow|tonight|recently|since|(?:vor)?gestern|übermorgen|seit|(?:ante)?ayer|demain|depuis"
    r"|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|januar|februar|märz|juni|juli|oktober"
    r"|dezember|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|abril|junio|julio|agosto"
    r"|septiembre|octubre|noviembre|diciembre|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?|janvier"
    r"|février|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
)
"""Also weekdays and months in German, Spanish and French, without those that mean something else in English."""
_OTHER_DAYS = rf"(?:last|next|this|past|every|each) (?:\w+ )?(?:{_UNIT}|{_DAY}|{_MONTH}|march|may)"
_AGO = rf"|(?:\w+ )?(?:hour|minute|{_UNIT}) ago"
TIME = re.compile(
    rf"\b(?:{_NEAR_DAYS}|{_OTHER_DAYS}{_AGO}|{_DAY}s?|{_MONTH})\b"
    r"|昨天|前天|明天|后天|後天|[上下](?:个|個)?(?:周|週|星期|礼拜|月)[一二三四五六日天]?|去年|明年|今年|(?:周|週|星期)[一二三四五六日天]"
    r"|\d+(?:天|周|週|个月|個月|年|日|か月|週間)前|昨日|明日|先週|来週|先月|来月|来年|[月火水木金土日]曜"
    r"|어제|내일|모레|지난\s?(?:주|달|해)|다음\s?(?:주|달|해)|작년|내년|[월화수목금토일]요일",
    re.IGNORECASE,
)
"""Time expressions: a weekday, a month, yesterday, last week, two years ago."""
_LATIN_TIME, _LATIN_TIME_AGO = (
    re.compile(rf"\b(?=[adefghjlmnoprstvwyü])(?:{_NEAR_DAYS}|{_OTHER_DAYS}|{_DAY}s?|{_MONTH})\b"),
    re.compile(rf"\b(?:{_NEAR_DAYS}|{_OTHER_DAYS}{_AGO}|{_DAY}s?|{_MONTH})\b"),
)
"""The part of `TIME` for lower case without Chinese, Japanese and Korean, eight times as fast."""

_PAST = (
    "was|were|had|did|went|got|made|took|saw|met|bought|found|came|gave|told|said|left|lost|won|began|started|wrote|read|ran"
    "|sold|built|felt|knew|thought|heard|kept|spent|taught|caught|drove|ate|flew|broke|chose|grew|hit|hurt|led|paid|sent"
    "|sang|sat|slept|spoke|stood|swam|wore|been"
)
# A syllable is 0xAC00 + 28 * (which of 399 beginnings) + its final consonant; 20 is the mark of the past tense.
_KOREAN_PAST = "".join(chr(0xAC00 + 28 * beginning + 20) for beginning in range(399))
_KOREAN_PAST = _KOREAN_PAST.replace("있", "").replace("겠", "")
"""Syllables that end in the mark of the past tense, without that of "there is" and that of what will be."""
_PAST_EVENT = re.compile(
    rf"\b(?:I|we)(?:['’](?:ve|d|m|re))? (?:(?:\w+ly|just|also|even|once|then|both|always|never|still) )*"
    rf"(?:{_PAST}|\w+ed)\b"
    rf"|[我咱俺][^，。！？,.!?]{{0,12}}[了过過]|(?:ました|かった|った|んだ|した)(?=[。！、!\s]|$)"
    rf"|[{_KOREAN_PAST}](?:다|어|습|지|는|던)",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """Splits a text into sentences of at most 300 characters, with single spaces."""
    for sentence in _split(text):
        for piece in _PIECE.findall(sentence.strip()):
            yield " ".join(piece.split())


def _split(text: str) -> Iterator[str]:
    begin = 0
    for possible in _POSSIBLE_END.finditer(text):
        if possible.start() >= begin and (end := _SENTENCE_END.match(text, possible.start())):
            yield text[begin : end.start()]
            begin = end.end()
    yield text[begin:]


def words(text: str) -> list[str]:
    """Finds words and numbers as they are written."""
    return _WORD.findall(text)


def numbers(found: Sequence[str]) -> list[str]:
    """Selects the numbers among words."""
    return [word for word in found if word[0].isdigit()]


def ordinals(text: str) -> int:
    """Counts the Chinese and Japanese numbers that only say which one of several it is, as in 第3个."""
    return len(_ORDINAL.findall(text))


def names(text: str, but: Set[str] = frozenset()) -> list[str]:
    """Finds capitalized words that do not begin a sentence."""
    candidates = (word for sentence in _split(text) for word in words(sentence)[1:])
    return [word for word in candidates if word[0].isupper() and word not in but and not _SELF.fullmatch(word)]


def negations(text: str) -> int:
    """Counts negations."""
    return len(_NEGATION.findall(text))


def questions(text: str) -> int:
    """Counts question marks, but for those in code and addresses."""
    return len(_QUESTION.findall(_NO_QUESTION.sub(" ", text))) if _QUESTION.search(text) else 0


def asks(sentence: str) -> bool:
    """Whether a sentence asks something, with or without a question mark."""
    return _ASKS.search(sentence) is not None


def times(text: str) -> int:
    """Counts time expressions."""
    if CJK.search(text):
        return len(TIME.findall(text))
    lower = text.lower()
    return len((_LATIN_TIME_AGO if " ago" in lower else _LATIN_TIME).findall(lower))


def past_events(text: str) -> int:
    """Counts statements of the speaker about past events."""
    return len(_PAST_EVENT.findall(text))


def stems(text: str, found: Sequence[str]) -> set[str]:
    """Word prefixes, and character pairs where a script has no spaces."""
    pairs = (run[at : at + 2] for run in CJK.findall(text) for at in range(len(run)))
    return {*pairs, *(word.lower()[:_STEM] for word in found if not CJK.match(word))}
