"""Corrections in text: which words replace an earlier value, and with what."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from purser.context.conversation.wording import asks
from purser.context.facts.languages import Language
from purser.context.facts.patterns import Span

_COUNTS = {
    word: str(number)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "un deux trois quatre cinq six sept huit neuf dix onze douze",
    )
    for number, word in enumerate(words.split(), 1)
}
_NUMBER = rf"\d+(?:[.,]\d+)*|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}|[一二两三四五六七八九十]{{1,3}}"
_A_NUMBER = re.compile(rf"(?<![\w.,-])(?:{_NUMBER})(?![\w%€-]|[.,]\d)", re.IGNORECASE)
_RANGE = re.compile(r"\d+(?:[.,]\d+)*(?:\s?[-–~〜～至到]\s?| (?:to|and|bis|und|a|y|à|et) )\d+(?:[.,]\d+)*")
_LEADING = re.compile(rf"^(?:{_NUMBER})(?=[\W_]|[^\W\d_])", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"\s*(?:$|[.,;!。，；！]|\b(?:please|instead|then|bitte|por favor|s['’]il)\b|吧|了)", re.IGNORECASE
)
_ELLIPSIS_END = re.compile(
    rf"{_CLAUSE_END.pattern}|\s*(?:[–—)]|(?:です|でした)(?![がけ])|だ(?=[。、]|$)|でお願い|に(?:します|して)|がいい|예요|이에요|입니다)"
    r"|\s(?:each|(?:a|an|at|for|in|on|per|für|am|im|pro|al|en|para|por|par|pour|à)"
    r"(?: (?:the|my|our|den|der|die|das|el|la|le))? [\w'’-]+\s*(?=$|[.,;!]))",
    re.IGNORECASE,
)
"""What may follow a value that stands for its clause, up to an adjunct such as `a month`: never a predicate."""
_LEAD = re.compile(
    r"^(?:(?:it['’]s|that['’]s|it is|i meant?|actually|no|nope|sorry|wait|use|take|let['’]s|we|is|are|at|on|for"
    r"|be|the|a|an"
    r"|es|ist|sind|nein|doch|nimm|nehmen|son|mejor|usa|c['’]est|non|prends|sont|um|am|à|le|la|el|der|die|das)\b[\s,:]*"
    r"|应该|其实|还是|是|用|在|，|、)+",
    re.IGNORECASE,
)

_RECONSIDERED = re.compile(
    r"\b(?:actually|now|rather|no longer|any ?more|jetzt|inzwischen|nicht mehr|eigentlich|lieber|ahora|ya no"
    r"|en realidad"
    r"|maintenant|en fait|désormais|ne [^.]* plus)\b|现在|不再|其实|もう|今は|이제",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^(?:actually|on second thought|in the end|now|doch|eigentlich|jetzt|am Ende|al final|en realidad|finalmente|ahora"
    r"|mejor|finalement|en fait|maintenant|désormais)\b|^(?:其实|还是|最后|最终|结果|やっぱり|やはり)",
    re.IGNORECASE,
)
_GENERIC = re.compile(
    "actually|also|and|are|back|but|date|day|datum|der|die|das|den|dem|des|doch|dann|each|end|ende|everything|fecha"
    "|finally|first|for|have|heure|hold|hora|hour|ich|ihr|instead|keep|last|lieber|leave|les|let|los|las|mejor|montant"
    "|next|now|number|one|other|our|per|plan|please|plutôt|precio|preis|price|prix|put|rather|schedule|sie|take|that"
    "|the|them|then|they|this|time|uhrzeit|und|una|une|uns|want|was|wir|with|you|zeit"
    "|can|could|kann|können|könnten?|lasst?|müssen|muss|must|should|sollten?|sollen|soll"
)
"""Words beside a corrected value that do not say what it is a value of."""
_NOUN = re.compile(
    r"\b(?:(?:the|my|our|der|die|das|den|mein\w*|unser\w*|el|la|los|las|mis?|nuestr[oa]s?|le|les"
    r"|mon|ma|mes|notre|nos) |l['’])"
    r"([^\W\d_]{3,})(?: ([^\W\d_]{3,}))?",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b([^\W\d_]{3,})(?:-l(?:e|a|es)\b| (?:it|them|that|this|es|ihn|sie)\b)"
    r"|\b([^\W\d_]*(?:[áéíóú][^\W\d_]*|[aei]r))l[oa]s?\b",
    re.IGNORECASE,
)
"""A verb with a pronoun as its object."""
_MEASURED = re.compile(r"^ (?:of |de |d['’]|von |(?=(?-i:[A-ZÄÖÜ])))([^\W\d_]{3,})", re.IGNORECASE)
"""What an amount is an amount of."""
_CJK_WORDS = re.compile(r"[\u30a0-\u30ff\u3400-\u9fff]+")
_SPACED = r"[^\W_\u3040-\u30ff\u3400-\u9fff]"
"""A letter or digit of a word that has spaces around it."""
_CJK_GENERIC = re.compile(
    r"我们|咱们|你们|他们|大家|那么|还是|但是|因为|所以|现在|最后|已经?|可以|需要|麻烦|应该|时间|日期|地点|价格|金额|数量|不对|好的|算了|然后|時間|日程|日時|変更|予定|正解|正直"
    r"|[我你您他她它咱那就帮请把将给也都要想会再又了吧的是在于从到这个好不私今]"
)
_CLAUSE_BEGIN = re.compile(r".*[.,;!?，；。！？、]", re.DOTALL)
_OUTDATED = re.compile(
    r"\b(?:that|this|it)(?:['’]s| is| was) (?:(?:my|our|the|an?) )?(?:old|former|previous|wrong|outdated|no longer)\b"
    r"|\bdas (?:ist|war) (?:(?:die|der|das|mein\w*|unser\w*) )?(?:alte|frühere|vorige|falsch)"
    r"|\bes[ao]? (?:es|era) (?:(?:el|la|mi|nuestr[oa]) )?(?:antigu|anterior|viej)"
    r"|\bc['’](?:est|était) (?:l['’]|(?:le|la|mon|ma|notre) )?(?:ancien|vieil|précédent)"
    r"|那是?我?们?的?(?:以前|之前|旧|老)|それは(?:以前|前の|古い)",
    re.IGNORECASE,
)
_NOW_IS = re.compile(
    r"^(?:now |jetzt |ahora |maintenant )?(?:it['’]s|it is|the new one is|(?:es|sie) ist|(?:die|der|das) neue ist"
    r"|es(?: en)?|(?:la nueva|el nuevo) es|c['’]est|现在是|新的是|新しいのは|今は)"
    r"(?: (?:now|at|on|in|jetzt|ahora|maintenant|der|die|la|el|le|au))*\s*$",
    re.IGNORECASE,
)
_CODE = re.compile(r"[\d@]")
_IN_WORD = re.compile(r"(?<=\d),(?=\d)|(?<=\w)\.(?=\w)|(?<=\d)\.(?= )")
"""A point or comma that ends no clause, as in `$1,500`, `3. Mai` and `Fly.io`."""
_CAPITAL = re.compile(r"(?<!^)\b[^\W\d_a-z]\w|^[^\W\d_a-z]\w+$")
_STEM = 4
_SHORT = 3
"""Words of a short phrase."""


@dataclass(frozen=True, slots=True)
class Replacing:
    """Words that replace others."""

    new: Span
    old: Span
    new_text: str
    old_text: str


def replaced(sentence: str, languages: tuple[Language, ...]) -> Replacing | None:
    """The first place of a sentence that names an old and a new value, such as `21, not 12`."""
    if asks(sentence) or unsure(sentence, languages):
        return None
    patterns = [(pattern, False) for language in languages for pattern in language.replaces]
    patterns += [(pattern, True) for language in languages for pattern in language.denies]
    clauses = _IN_WORD.sub("_", sentence)
    for pattern, denies in patterns:
        if match := pattern.search(clauses):
            new, old = (sentence[slice(*match.span(group))].strip() for group in ("new", "old"))
            said = _LEAD.sub("", new)
            # A mere "no" before what is denied, as in `no, not Redis`, is no value.
            if said and old and new.casefold() != old.casefold() and (_are_alike(new, old) or not denies):
                return Replacing(match.span("new"), match.span("old"), said, old)
    return None


def _are_alike(new: str, old: str) -> bool:
    """Whether one may be said instead of the other: both with numbers, both with names, or both short."""
    if _CODE.search(new) or _CODE.search(old):
        return bool(_CODE.search(new) and _CODE.search(old))
    return bool(_CAPITAL.search(new) and _CAPITAL.search(old)) or max(len(new.split()), len(old.split())) <= _SHORT


def unsure(sentence: str, languages: tuple[Language, ...]) -> bool:
    """Whether a sentence is a condition or a denial, which corrects nothing."""
    return any(language.is_unsure.search(sentence) for language in languages)


def reconsiders(sentence: str) -> bool:
    """Whether a statement may replace one about the same thing."""
    return _RECONSIDERED.search(sentence) is not None


def outdates(sentence: str) -> bool:
    """Whether a sentence says that a value that was named holds no more, such as `that's my old flat`."""
    return _OUTDATED.search(sentence) is not None


def is_new(before: str) -> bool:
    """Whether the words before a value name what holds instead, such as `it's now`."""
    return _NOW_IS.match(before) is not None


def leads_over(sentence: str) -> bool:
    """Whether a sentence begins by changing something that was said."""
    return _LEADS.search(sentence) is not None


def is_cued(before: str, after: str, rest: str, languages: tuple[Language, ...]) -> bool:
    """Whether the words around a value say that it replaces another one, such as `make it`.

    Args:
        before: the sentence up to the value.
        after: the sentence after it.
        rest: the sentence after the values that are joined to it, such as `on Friday at 3 pm`. After a mere "no", a
            predicate there shows that the value is talked about: `No, 3 pm is too early`.
        languages: the languages that the sentence may be in.
    """
    elliptic = _ELLIPSIS_END.match(rest) is not None
    return any(
        language.is_cue.search(before)
        or language.is_cue_after.search(after)
        or (elliptic and language.is_interjection.search(before))
        for language in languages
    )


def named_words(before: str, after: str, languages: tuple[Language, ...]) -> frozenset[str]:
    """Words of a correction that say what it corrects: its nouns, and the verb of a pronoun, as in `deliver it`.

    Args:
        before: the sentence up to the value, without other values.
        after: the sentence after it; an amount is one of what follows, as in `2 kg of flour`.
        languages: the languages that the sentence may be in.

    Returns:
        Beginnings of words in lower case; none if it may correct anything.
    """
    begun = _CLAUSE_BEGIN.match(before)
    begin = begun.end() if begun else 0
    # In `il faut la décaler à`, an article that stands for a noun precedes the verb of the cue.
    starts = [cue.start() for language in languages if (cue := language.is_cue.search(before))]
    uncued = before[begin : min(starts, default=len(before))]
    found = [word for match in _NOUN.finditer(before, begin) if match.start(1) not in starts for word in match.groups()]
    found += [word for match in _VERB.finditer(uncued) for word in match.groups()]
    found += [match[1] for match in [_MEASURED.match(after)] if match]
    named = {word.casefold()[:_STEM] for word in found if word and not _GENERIC.fullmatch(word.casefold())}
    for run in _CJK_WORDS.findall(_CJK_GENERIC.sub(" ", uncued)):
        named.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return frozenset(named)


def bare_numbers(sentence: str, languages: tuple[Language, ...]) -> Iterator[re.Match[str]]:
    """Numbers that replace another one without repeating its unit, such as `make it three`."""
    for match in _A_NUMBER.finditer(sentence):
        before, after = sentence[: match.start()], sentence[match.end() :]
        if _CLAUSE_END.match(after) and is_cued(before, after, after, languages):
            yield match


def retracted(sentence: str, languages: tuple[Language, ...]) -> tuple[str, str] | None:
    """Owner and noun of what a sentence takes back, such as `Ben` and `flight` of `Cancel Ben's flight`.

    Returns:
        Nothing but empty texts for what was said last, as in `cancel that`; `None` if nothing is taken back.
    """
    for language in languages:
        if match := language.is_retracted.search(sentence):
            said = {name.partition("_")[0]: text.casefold() for name, text in match.groupdict().items() if text}
            return language.named_by(said.get("whose", "")) or "", said.get("noun", "")
    return None


def alternative(sentence: str, languages: tuple[Language, ...]) -> str | None:
    """The choice of a sentence that only replaces an earlier one, such as `MySQL instead`."""
    for language in languages:
        if match := language.is_alternative.search(sentence):
            return match["new"].strip()
    return None


def composed(value: str, new: str, old: str = "") -> str | None:
    """The value that a correction makes of an earlier one; `None` if it does not fit.

    Args:
        value: the earlier value, such as `12 Main Street`.
        new: the words that replace a part of it, such as `21`.
        old: the words that they replace; if empty, the first number.
    """
    if not old:
        number = _RANGE.search(value) or _A_NUMBER.search(value) or re.search(r"\d+(?:[.,]\d+)*", value)
        return value[: number.start()] + new + value[number.end() :] if number else None
    said, leads = _LEADING.match(old), _A_NUMBER.findall(new)
    if said and leads and len(old) > said.end():
        return str(leads[-1]) + old[said.end() :]
    numbers = _A_NUMBER.findall(old)
    if len(numbers) == 1 and leads and not _A_NUMBER.sub("", _LEAD.sub("", new)).strip():
        return _A_NUMBER.sub(leads[-1], old)
    place = within(value, old)
    return None if place is None else value[: place[0]] + _same_form(new, old) + value[place[1] :]


def within(value: str, part: str) -> Span | None:
    """Where a value contains a part as whole words; Chinese and Japanese words have no space around them."""
    found = _whole_words(part).search(value) if part else None
    return found.span() if found else None


@lru_cache
def _whole_words(part: str) -> re.Pattern[str]:
    begin = rf"(?<!{_SPACED})" if re.match(_SPACED, part) else ""
    end = rf"(?!{_SPACED})" if re.match(_SPACED, part[-1]) else ""
    return re.compile(begin + re.escape(part) + end, re.IGNORECASE)


def _same_form(new: str, old: str) -> str:
    """The end of the new words that corresponds to the old ones: a number, a name, or as many words."""
    if any(letter.isdigit() for letter in old) and (numbers := re.findall(r"\S*\d\S*", new)):
        return str(numbers[-1])
    if old[:1].isupper() and (names := re.findall(r"(?:[^\W\d_a-z][\w+#.-]*\s?)+$", new)):
        return str(names[-1]).strip()
    return " ".join(new.split()[-len(old.split()) :])
