"""Which facts are alike: what a value may replace, and what two statements share."""

import re

from purser.context.conversation.wording import words
from purser.context.facts.corrections import within
from purser.context.facts.values import ALLERGY, IS, Fact, Kind

STATEMENTS = (Kind.DECISION, Kind.PREFERENCE, Kind.NEGATION)
ASSISTANT = "assistant"
_LEAST_WORD, STEM = 3, 4
"""Characters of a word that two statements share if one corrects the other, and those of it that count."""
_PAST = re.compile(
    r"\b(?:yesterday|ago|last|gestern|vorgestern|letzte[nrsm]?|vorige[nrsm]?|vor|ayer|anteayer|antier|pasad[oa]|hace|hier"
    r"|derni(?:er|ère)|passée?|il y a)\b|昨|前天|^上|去年|前年|[天周月年日間]前|先[週月]|어제|지난|작년",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefer|rather|bevorzuge|lieber|prefiero|préfère)\b|偏好|更(?:想要|喜欢)|の(?:方|ほう)が", re.IGNORECASE
)
_PURPOSE = re.compile(r" (?:for|für|para|pour) ((?:[^\W\d_]+ ?){1,3})", re.IGNORECASE)
_PHASE = re.compile(
    r"\b(?:(?P<begins>starts?|begins?|opens?|leaves?|departs?|takes off|beginnt|startet|öffnet|fährt|empieza|comienza"
    r"|abre|sale|commence|débute|ouvre|part)|(?P<ends>ends?|finish(?:es)?|closes?|arrives?|lands?|endet|schließt|landet"
    r"|termina|acaba|cierra|llega|finit|se termine|ferme|arrive))\b",
    re.IGNORECASE,
)
"""Verbs that say which time of something a value is."""
_SHORT_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_DAY_OF_MONTH = re.compile(r"\d(?![\d年月월])")
"""What a calendar date has, and a weekday or a month has not."""
_COMMON = re.compile(
    "the|and|for|our|you|are|was|not|but|all|any|has|had|can|did|get|got|out|now|say|its|his|her|she|him|who|how|why|too|one"
    "|two|del|los|las|una|con|por|que|más|sin|son|hay|sus|mis|fue|der|die|das|und|ist|mit|ein|für|auf|aus|bei|von|vom|zum"
    "|zur|den|dem|des|wir|ich|sie|ihr|mir|uns|hat|bin|les|une|est|sur|par|pas|aux|nos|mon|mes|ses|qui|ils"
    "|just|this|that|with|have|then|they|them|there|like|been|will|would|really|very|time|what|when|from|about"
    "|into|more|some"
    "|also|make|made|want|going|think|feel|good|great|para|como|pero|esta|este|muy|auch|eine|einen|nicht|noch"
    "|aber|dann|avec"
    "|pour|dans|mais|plus|cette|actually|finalement|jetzt|ahora|doch"
)


def noun_of(fact: Fact) -> str:
    """What a value is a value of, without its possessor."""
    return fact.subject if fact.relation == IS else "" if fact.topic is None else fact.relation


def may_correct(fact: Fact, one: Fact) -> bool:
    """Whether the speaker of a fact may correct another one: assistants do not correct what others want."""
    return one.kind not in STATEMENTS or fact.speaker != ASSISTANT or one.speaker == ASSISTANT


def is_choice(one: Fact) -> bool:
    """Whether a statement chooses one thing among others: an allergy, a diet and what is liked or disliked hold
    whatever is chosen."""
    return one.kind is Kind.DECISION or _PREFERS.search(one.value) is not None


def of_same(one: Fact, other: Fact) -> bool:
    """Whether two statements of one speaker are about the same person."""
    return (one.speaker, one.subject) == (other.speaker, other.subject)


def share_a_word(one: Fact, other: Fact) -> bool:
    """Whether two statements share a content word."""
    return share_words(one.relation.removeprefix(ALLERGY), other.relation.removeprefix(ALLERGY))


def share_words(one: str, other: str) -> bool:
    """Whether two texts share a content word, however it ends."""
    return bool(_beginnings(one) & _beginnings(other))


def without_value(fact: Fact) -> str:
    """What the sentence of a fact says besides its value."""
    return fact.text.replace(fact.value, " ")


def _beginnings(text: str) -> set[str]:
    found = [word.casefold() for word in words(text)]
    return {word[:STEM] for word in found if len(word) >= _LEAST_WORD and not _COMMON.fullmatch(word)}


def differ_in_purpose(one: Fact, other: Fact) -> bool:
    """Whether two values of one noun are for different people or things: `$20 for children`, `$30 for adults`."""
    purposes = [_PURPOSE.match(fact.text.partition(fact.value)[2]) for fact in (one, other)]
    return all(purposes) and len({found[1].casefold() for found in purposes if found}) > 1


def _differ_in_phase(fact: Fact, one: Fact) -> bool:
    """Whether a time is an end and another one is none, or a beginning and the other one an end."""
    if fact.kind is not Kind.TIME:
        return False
    new, old = _phase(fact), _phase(one)
    return new != old and (new == "ends" or (new, old) == ("begins", "ends"))


def _phase(fact: Fact) -> str | None:
    """What the last verb before a value says that it is: when something `begins` or `ends`."""
    found = list(_PHASE.finditer(fact.text.partition(fact.value)[0]))
    return found[-1].lastgroup if found else None


def is_said_by(kind: Kind, value: str, one: Fact) -> bool:
    """Whether a fact has the value: of a calendar date, with or without its weekday and year."""
    if kind is not Kind.DATE or not _DAY_OF_MONTH.search(value) or not _DAY_OF_MONTH.search(one.value):
        return value.casefold() == one.value.casefold()
    shorter, longer = sorted((value.casefold(), one.value.casefold()), key=len)
    if _SHORT_NUMBER.findall(shorter) != _SHORT_NUMBER.findall(longer):
        return False
    return shorter in longer or {*words(shorter)} <= {*words(longer)}


def is_about(one: Fact, named: frozenset[str]) -> bool:
    """Whether a fact is about what a correction names, if it names something."""
    said = f"{noun_of(one)} {one.text}".casefold()
    return not named or one.unit[:STEM] in named or any(word in said for word in named)


def is_of(one: Fact, name: str, noun: str) -> bool:
    """Whether a fact is a value of a noun, and of a name if there is one; of a mention, its sentence has the noun."""
    if name and one.subject != name:
        return False
    known = noun_of(one)
    if known:
        return known.endswith(noun) or noun.endswith(known)
    return one.kind is not Kind.DECISION and within(one.text, noun) is not None


def may_replace(fact: Fact, one: Fact) -> bool:
    """Whether a value may replace another one: not one for somebody else, no beginning by an end, no calendar date by
    a weekday or a month, and none of the past."""
    if differ_in_purpose(fact, one) or _differ_in_phase(fact, one):
        return False
    if fact.kind is not Kind.DATE:
        return True
    if not fact.topic and _DAY_OF_MONTH.search(one.value) and not _DAY_OF_MONTH.search(fact.value):
        return False
    return bool(_PAST.search(fact.value)) == bool(_PAST.search(one.value))


def same_value(one: Fact, other: Fact) -> bool:
    """Whether two facts have the same value."""
    return is_said_by(other.kind, other.value, one)
