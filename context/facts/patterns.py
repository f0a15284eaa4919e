"""Patterns of values in text: amounts, dates, ids, names and paths. Precision goes before recall."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise

from purser.context.conversation.wording import asks
from purser.context.facts.languages import Language
from purser.context.facts.languages.english import DAY, MONTH
from purser.context.facts.languages.language import started
from purser.context.facts.languages.prefilter import Prefiltered
from purser.context.facts.values import Kind

_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""Of a word or an id: not of a script without spaces, whose words stand beside ids."""
_BEGIN, _END = rf"(?<!{_LETTER})", rf"(?!{_LETTER})"
"""Where a number or unit begins and ends, also beside words of a script without spaces."""
_WORD = r"[A-ZÀ-ÖØ-Þ](?:[\w&-]|['’](?!s\b)|\.(?=(?:ai|app|com|dev|io|net|org)\b))+\b"
_LEADING = (
    r"(?:The|An?|My|Our|Your|His|Her|Their|This|That|These|Those|It|He|She|We|They|You|When|While|If|As|Since|After|Before|Because"
    r"|One|Both|All|Some|Every|Each|Glad|Great|Please|Well|Oh|Okay|OK|Entonces|Pues|Bueno|Donc|Alors|Yesterday|Today|Tomorrow|Now|Then|And|But|So|Also|Dear|Hi|Hello|Hey|Thanks|Yes|No|Not|Only|Maybe|Once|In|On|At|To|From|For"
    r"|With|By|El|La|Los|Las|Un|Una|Mi|Tu|Su|En|De|Con|Para|Si|Cuando|Ayer|Hoy|Le|Les|Une|Mon|Ma|Mes|Notre|Quand|Hier|Avec|Chez)"
)
"""Words that begin a sentence before a name."""
_FINITE = (
    r"(?:is|was|has|had|will|would|can|could|may|says?|said|told|sent|went|came|took|got|wants|needs|works|lives|likes|\w+ed|es|está"
    r"|era|fue|ha|tiene|dice|quiere|vive|est|était|a|va|dit|veut|habite)"
)
"""Verbs after a name that begins a sentence."""
_AMOUNT = r"\d(?:(?:[\d.,]|['’](?=\d{3}))*\d)?"
"""A number with the thousands separators of any country but spaces."""
_SPACED = r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?"
_REACHED = (
    r"(?<![a-z0-9_.+-])[a-z0-9][a-z0-9_.+-]*+@(?:[a-z0-9-]++\.)+[a-z]{2,}(?![a-z0-9_:-])"
    r"|\[(?:EMAIL|PHONE)_\d+\]"
)
"""An e-mail address, or what stands for one or for a phone number in redacted text."""
_AFTER_DIGITS = (
    r"(?:\b|(?=[的了吗呢吧啊呀是和跟或已也还在这那のはがをにとで은는이을를의와과입]|가(?!지)|에(?!이커)|으?로))"
)
"""After an id of digits: no letter, and of a script without spaces a particle, while `10000步` counts something."""
_COMMON: tuple[tuple[Kind, str], ...] = (
    (
        Kind.PATH,
        r"https?://[^\s\"'<>（）()，。]*[\w/]|(?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@-]+){2,}|\b[A-Z]:\\[\w\\.-]+"
        r"|(?<![\w/.])[\w-]+(?:/[\w.-]+)*\.(?:py|js|tsx?|json|ya?ml|md|txt|csv|sql|toml|sh|cfg|ini|log|pdf|docx?"
        r"|xlsx?"
        r"|html?|css|java|go|rs|cpp|png|jpe?g)\b",
    ),
    (
        Kind.MONEY,
        rf"(?:(?<!\S)[-−])?(?:US)?[$€£¥₩]\s?{_AMOUNT}(?:\s?[-–]\s?[$€£¥₩]?\s?{_AMOUNT})?"
        r"(?:\s?(?:k|million|billion|Mio|Mrd)\b|[mb]n?\b)?"
        rf"|(?:(?<!\S)[-−]|{_BEGIN}(?<![.,'’]))(?:{_SPACED}|(?:{_AMOUNT}\s?[-–]\s?)?{_AMOUNT})"
        rf"\s?(?:[€£₩]|(?-i:CHF|EUR|USD|GBP){_END})",
    ),
    (
        Kind.DATE,
        rf"{_BEGIN}\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?{_END}"
        r"|(?<![\w.])\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b(?!\.\d)",
    ),
    (Kind.ADDRESS, ""),
    (Kind.TIME, r"\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap](?:\.m\.|m\b))?"),
    (Kind.DATE, ""),
    (
        Kind.ID,
        rf"{_REACHED}"
        r"|(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
        rf"|(?<!{_LETTER})#\d{{2,}}(?!{_LETTER})|(?-i:\b[A-Z]{{1,2}}\d[A-Z\d]? \d[A-Z]{{2}}\b)"
        rf"|(?<!{_LETTER})(?<![\[-])(?=(?:{_LETTER}|-)*\d)(?=(?:{_LETTER}|-)*[A-Za-z])(?-i:[A-Z0-9]{{5,}}|[A-Z]{{1,4}}[-_]?\d{{2,}}[A-Z0-9-]*"
        rf"|{_LETTER}+[_-]\d{{3,}}{_LETTER}*)(?!{_LETTER}|-)"
        r"|(?<=[\"“'])(?-i:[A-Z0-9]{6})(?=[\"”'])|(?<![\dA-Za-z_.,-])(?:(?:\d{2,4}-)?\d{5,}|\d{3}-\d{4})"
        + _AFTER_DIGITS
        + rf"|(?<=[号號单單码碼话話])\d{{5,}}(?!{_LETTER}|[个個件份张張台箱笔筆名万萬亿億])",
    ),
    (
        Kind.NUMBER,
        rf"{started('to|bis|à|a')}(?:(?<!\S)[-−])?{_BEGIN}\d+(?:[.,]\d+)*\s?"
        rf"(?:%|percent\b|°[CF]?|(?-i:kg|km|cm|mm|mg|ml|m²|m2|m|g|l|lbs?|GB|MB|KB|TB|ms|mph"
        rf"|miles?|kWh){_END})",
    ),
    (
        Kind.NAME,
        r"(?<=[\"“])(?-i:[A-Z][^\"”]{1,39}[^\"”.,!?])(?=[.,!?]?[\"”])"
        rf"|^(?-i:(?!{_LEADING}\b){_WORD}(?: {_WORD})+)(?= {_FINITE}\b)"
        rf"|(?:(?<=[a-zà-ÿ,;] )|(?-i:\b(?:New|San|Los|Las|Saint|North|South|United) ))(?-i:{_WORD})(?: (?:(?:of"
        rf"|the|de|van|von|al) )?(?-i:{_WORD}))*(?: \d{{1,4}}(?=[.!;,]?$))?(?![:\w]|\*\*)"
        r"|(?<=[\u3040-\u30ff\u4e00-\u9fff])(?-i:[A-Z][A-Za-z][A-Za-z0-9.+-]*[A-Za-z0-9])",
    ),
)
_NO_NAME = re.compile(
    rf"(?:I(?:['’]\w+)?|OK|ID|{DAY}s?|Mon|Tues?|Wed|Thu|Fri|Sat|Sun|{MONTH}|Thanks?|Hey|Hi|Hello|Yeah|Yes|No"
    rf"|Congrats|Wow|Good|Mom|Dad|Happy|Merry"
    r"|AM|PM|USD|EUR)"
)
_PLACE = re.compile(
    r"(?:Part|Chapter|Section|Page|Step|Question|Teil|Kapitel|Abschnitt|Seite|Schritt|Frage|Parte|Capítulo|Sección|Página"
    r"|Paso|Pregunta|Partie|Chapitre|Étape) \d+"
)
"""Where something stands in a sequence, which names nothing."""
_DAY_AND_MONTH = re.compile(r"\d{1,2}\.\d{1,2}\.")
_OF_PRODUCT = re.compile(
    r"(?<![^\W_])(?!(?:am|ab|bis|zum|vom|seit|vor|nach|den|etwa|erst|spätestens|frühestens)\b"
    r"|\w*(?:tag|woch|termin|datum|frist|start|beginn|ende|abgabe|reise|flug|fahrt|ankunft|treffen)\b)"
    r"(?-i:[A-Z])[\w+#-]+ $",
    re.IGNORECASE,
)
"""A name before a number that ends the sentence: `Python 3.11.`, while German omits words in `Abflug 3.11.`."""
_VOCATIVE = re.compile(
    r"^(?:\w+,? ){1,2}(?<!\bis )(?<!\bam"
    r" )(?<!\bmet )(?<!call me )(?<!\bin )(?<!\bto )(?<!\bat )(?<!\bfrom )(?<!heiße )(?<!\bsoy )(?<!llamo )(?<!suis )"
    r"(?<!appelle )$|[a-z], $",
    re.IGNORECASE,
)
"""Text before the name of the addressee, if the sentence ends with that name."""
_NEGATED = re.compile(
    r"(?:\b(?:not|isn['’]t|aren['’]t|no longer|nicht(?: mehr)?|pas"
    r"|(?:do|does|did)(?:n['’]t| not) have(?: (?:an?|the) (?:\w+ ){0,2}\w+ of)?)|不是|不在)"
    r"(?:\s*\b(?:on|at|in|for|the|am|um|à|le"
    r"|la|der|die|das|den))*\s*$",
    re.IGNORECASE,
)
"""Words before a value that deny it."""
_WEIGHED = re.compile(r"\b(?:weigh|heav)[^.!?;]{1,40} pounds$", re.IGNORECASE)
"""Pounds that are no amount of money."""
_IN_QUESTIONS = frozenset({Kind.PATH, Kind.MONEY, Kind.ID, Kind.NUMBER})
"""Kinds that count in questions too."""
Span = tuple[int, int]


def values(
    sentence: str, languages: tuple[Language, ...], but: tuple[Span, ...] = ()
) -> Iterator[tuple[Kind, re.Match[str]]]:
    """Yields the values of a sentence; none overlap.

    Args:
        sentence: at most some hundred characters.
        languages: the languages that it may be in.
        but: parts of the sentence that are ignored.
    """
    question = asks(sentence)
    taken = [False] * len(sentence)
    cuts = [(0, 0), *sorted(but), (len(sentence), len(sentence))]
    rest = [(end, start) for (_, end), (start, _) in pairwise(cuts)]
    for kind, pattern in _patterns(languages):
        for match in chain.from_iterable(pattern.finditer(sentence, *span) for span in rest):
            free = match.end() > match.start() and not any(taken[match.start() : match.end()])
            is_value = free and not (question and kind not in _IN_QUESTIONS) and not _is_word(kind, match)
            is_value = is_value and not (kind is Kind.MONEY and _WEIGHED.search(sentence, 0, match.end()))
            if is_value and not (kind is Kind.DATE and _is_version(match, languages)):
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                if not _NEGATED.search(sentence, max(0, match.start() - 30), match.start()):
                    yield kind, match


@lru_cache
def _patterns(languages: tuple[Language, ...]) -> tuple[tuple[Kind, Prefiltered], ...]:
    """The patterns of each kind: those of any language and, at the last place of the kind, those of these languages."""
    last = {kind: place for place, (kind, _) in enumerate(_COMMON)}
    found = []
    for place, (kind, common) in enumerate(_COMMON):
        own = [language.values.get(kind, "") for language in languages] if place == last[kind] else []
        # German capitalizes all nouns: there, only names that are introduced count.
        general = "" if kind is Kind.NAME and any(language.capitalizes_nouns for language in languages[:1]) else common
        pattern = "|".join(filter(None, (*own, general)))
        if pattern:
            found.append((kind, Prefiltered(pattern)))
    return tuple(found)


def _is_version(match: re.Match[str], languages: tuple[Language, ...]) -> bool:
    """Whether what looks like a German day and month is a version at the end of a sentence, such as `Python 3.11.`."""
    if match.end() < len(match.string) or not _DAY_AND_MONTH.fullmatch(match[0]):
        return False
    named = _OF_PRODUCT.search(match.string[: match.start()])
    # The first word of a sentence is capitalized whatever it is: `Lieber 3.11.`
    return named is not None and (named.start() > 0 or not languages[0].capitalizes_nouns)


def _is_word(kind: Kind, match: re.Match[str]) -> bool:
    """Whether a capitalized match is no name of interest: a common word, a place in a sequence, or the addressee."""
    if kind is Kind.NAME and _PLACE.match(match.string, match.start()):
        return True
    if kind is not Kind.NAME or match[0][-1].isdigit():
        return False
    spoken_to = _VOCATIVE.search(match.string[: match.start()]) and not match.string[match.end() :].strip(".!…~ ")
    return bool(spoken_to or _NO_NAME.fullmatch(match[0]))
