"""The facts of a thread while its messages are followed: what is repeated, superseded or corrected."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from purser.context.conversation.wording import words
from purser.context.facts.candidates import Candidate
from purser.context.facts.corrections import composed, within
from purser.context.facts.values import ALLERGY, IS, MENTIONS, Fact, Kind

REACH = 40
"""Messages that a correction without subject, such as "make it 5 pm", reaches back."""
_NEAR = 4
"""Messages within which a named correction corrects a value that was mentioned without name."""
_STATEMENTS = (Kind.DECISION, Kind.PREFERENCE, Kind.NEGATION)
_COUNTED = (Kind.NUMBER, Kind.MONEY, Kind.TIME)
_ASSISTANT = "assistant"
_LEAST_WORD, _STEM = 3, 4
"""Characters of a word that two statements share if one corrects the other, and those of it that count."""
_GENERIC = re.compile(
    "(?:time|date|pric|amou|addr|hour|hora|fech|prec|dire|uhrz|datu|prei|zeit|betr|adre|heur|prix|mont"
    "|时间|日期|价格|地址|時間|日程|住所)"
)
"""Beginnings of nouns that say no more of a value than its kind."""
_PAST = re.compile(
    r"\b(?:yesterday|ago|last|gestern|vorgestern|letzte[nrsm]?|vorige[nrsm]?|vor|ayer|anteayer|antier|pasad[oa]|hace|hier"
    r"|derni(?:er|ère)|passée?|il y a)\b|昨|前天|^上|去年|前年|[天周月年日間]前|先[週月]|어제|지난|작년",
    re.IGNORECASE,
)
_PURPOSE = re.compile(r" (?:for|für|para|pour) ((?:[^\W\d_]+ ?){1,3})", re.IGNORECASE)
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
Identity = tuple[int, str, str, str, str]
Stated = tuple[str, str, str, str]
Topic = tuple[str, str, str, str]


class KnownFacts:
    """Live facts, to which those of the next messages are added in sequence."""

    def __init__(self, live: Iterable[Fact]) -> None:
        """Args:
        live: facts of earlier messages; superseded ones are ignored.
        """
        self._facts: dict[Identity, Fact] = {}
        self._stated: dict[Stated, Identity] = {}
        self._topics: dict[Topic, list[Identity]] = defaultdict(list)
        self._named: dict[tuple[str, Kind, str], list[Identity]] = defaultdict(list)
        self._newest: dict[Kind, list[Identity]] = defaultdict(list)
        self._speakers: Counter[str] = Counter()
        self._changed: dict[Identity, None] = {}
        for fact in sorted(live, key=lambda fact: fact.seq):
            if fact.superseded_by is None:
                self._hold(fact)

    def changed(self) -> list[Fact]:
        """The facts that were added or superseded, in sequence."""
        return sorted((self._facts[identity] for identity in self._changed), key=lambda fact: fact.seq)

    def add(self, candidate: Candidate) -> None:
        """Adds what a message states, unless it is known, and supersedes what it replaces."""
        fact = candidate.fact
        if fact.kind is Kind.NAME and self._is_speaker(fact):
            return
        target = self._corrected(candidate) if candidate.corrects else None
        if target is None:
            if candidate.bare:
                return
            self._add(self._adopted(candidate))
            return
        corrected = _correcting(candidate, target)
        if _is_said_by(corrected.kind, corrected.value, target):
            return
        self._add(corrected)
        for one in [target, *self._same_as(target, fact.seq)]:
            self._supersede(one.identity, fact.seq)

    def _add(self, fact: Fact) -> None:
        if _statement(fact) in self._stated:
            return
        if fact.topic:
            for identity in list(self._topics[fact.topic]):
                if self._facts[identity].seq < fact.seq and not _differ_in_purpose(self._facts[identity], fact):
                    self._supersede(identity, fact.seq)
        self._hold(fact)
        self._changed[fact.identity] = None

    def _is_speaker(self, fact: Fact) -> bool:
        return fact.value == fact.speaker or self._speakers[fact.value] > 0

    # --- what a correction replaces ---

    def _corrected(self, candidate: Candidate) -> Fact | None:
        """The live fact that a correction replaces; `None` if none fits."""
        fact = candidate.fact
        if candidate.old and ((found := self._containing(candidate)) or candidate.bare or not fact.topic):
            return found
        if candidate.bare and fact.kind is Kind.DECISION:
            near = fact.seq - _NEAR
            return self._first(
                fact, lambda one: one.seq >= near and _may_correct(fact, one), Kind.DECISION, Kind.PREFERENCE
            )
        if candidate.bare:
            return self._first(
                fact,
                lambda one: composed(one.value, fact.value) is not None and _is_about(one, candidate.about),
                *_COUNTED,
            )
        if fact.kind is Kind.DECISION:
            return self._first(fact, lambda one: True, fact.kind)
        if fact.kind in _STATEMENTS:
            return self._first(fact, lambda one: _of_same(one, fact) and _share(one, fact), fact.kind)
        if candidate.related:
            said = _without_value(fact)
            return self._first(
                fact, lambda one: _may_replace(fact, one) and _shared_words(_without_value(one), said), fact.kind
            )
        if fact.topic:
            return self._named_like(candidate)
        known, joined = self._alike(fact, fact.kind, fact.value), self._joined(candidate)
        if fact.kind is Kind.NAME or (known and None in joined):
            return None
        anchors = {one.seq for one in joined if one and not known}

        def fits(one: Fact) -> bool:
            return _may_replace(fact, one) and one.unit == fact.unit and _is_about(one, candidate.about)

        anchored = self._first(fact, lambda one: fits(one) and one.seq in anchors, fact.kind) if anchors else None
        return self._whole(anchored or self._first(fact, fits, fact.kind))

    def _joined(self, candidate: Candidate) -> list[Fact | None]:
        """The live facts that equal the values beside a corrected one: only what is new in them is a correction."""
        return [self._alike(candidate.fact, kind, value) for kind, value in candidate.joined]

    def _alike(self, fact: Fact, kind: Kind, value: str) -> Fact | None:
        return next((one for one in self._recent(fact, kind) if _is_said_by(kind, value, one)), None)

    def _named_like(self, candidate: Candidate) -> Fact | None:
        """The fact of the same noun, or the last value of the kind that was mentioned near without a noun."""
        fact = candidate.fact
        noun = _noun(fact)

        def fits(one: Fact) -> bool:
            if one.unit != fact.unit or not _may_replace(fact, one):
                return False
            known = _noun(one)
            if known:
                return known.endswith(noun) or noun.endswith(known)
            named = {word[:_STEM] for word in noun.split(" ") if not _GENERIC.match(word)}
            return one.seq >= fact.seq - _NEAR if not named else any(word in one.text.casefold() for word in named)

        exact = [
            one
            for one in self._recent(fact, fact.kind)
            if _noun(one) == noun
            and _may_replace(fact, one)
            and (one.topic == fact.topic or IS in (one.relation, fact.relation))
        ]
        return exact[0] if exact else self._first(fact, fits, fact.kind)

    def _containing(self, candidate: Candidate) -> Fact | None:
        """The newest fact that contains the words that are replaced; named values and statements before mentions."""
        fact, old = candidate.fact, candidate.old.casefold()
        kinds = tuple(Kind) if candidate.bare or fact.kind in (*_STATEMENTS, Kind.NAME) else (fact.kind,)
        found = [
            one
            for one in self._recent(fact, *kinds)
            if (within(one.value, old) or (one.value.casefold() in old and len(one.value) * 2 > len(old)))
            and _may_correct(fact, one)
        ]
        return max(found, key=lambda one: (one.topic is not None or one.kind in _STATEMENTS, one.seq), default=None)

    def _first(self, fact: Fact, fits: Callable[[Fact], bool], *kinds: Kind) -> Fact | None:
        """The newest fitting fact, preferably not one that the assistant states."""
        found = [one for one in self._recent(fact, *kinds) if fits(one)]
        return next((one for one in found if one.speaker != _ASSISTANT), found[0] if found else None)

    def _whole(self, target: Fact | None) -> Fact | None:
        """The named fact with the value of a mere mention, if there is one."""
        if target is None or target.topic:
            return target
        named = (one for one in self._recent(target, target.kind) if one.topic and _equal(one, target))
        return next(named, target)

    def _same_as(self, target: Fact, seq: int) -> list[Fact]:
        """Mentions of a superseded value, and names in a superseded statement."""
        alike = [
            one
            for one in self._recent(replace(target, seq=seq, text=""), target.kind)
            if _equal(one, target) and one.topic in (None, target.topic) and one.kind not in _STATEMENTS
        ]
        if target.kind in _STATEMENTS:
            names = [self._facts[identity] for identity in self._newest[Kind.NAME]]
            alike += [one for one in names if one.seq == target.seq and not one.topic and one.value in target.value]
        return alike

    def _recent(self, fact: Fact, *kinds: Kind) -> list[Fact]:
        """Live facts within reach of a fact, newest first, without those of its sentence and of tools."""
        found: list[Fact] = []
        for kind in kinds:
            for identity in reversed(self._newest[kind]):
                one = self._facts[identity]
                if one.seq < fact.seq - REACH:
                    break
                if one.speaker and (one.seq, one.text) != (fact.seq, fact.text):
                    found.append(one)
        # Stored facts of a message have no order of their own: named ones come first.
        return sorted(found, key=lambda one: (-one.seq, one.topic is None, one.identity))

    def _adopted(self, candidate: Candidate) -> Fact:
        """The fact with subject and relation of a known one that it may be about: `the budget` is `my budget`."""
        fact = candidate.fact
        if fact.topic is None or self._topics.get(fact.topic):
            return fact
        named = [self._facts[identity] for identity in self._named[_noun(fact), fact.kind, fact.unit]]
        for one in sorted(named, key=lambda one: (-one.seq, one.identity)):
            if candidate.definite != (one.relation == IS):
                return replace(fact, subject=one.subject, relation=one.relation)
        alike = (one for one in self._recent(fact, fact.kind) if one.topic and _equal(one, fact))
        known = next((one for one in alike if candidate.definite and _noun(one).endswith(f" {_noun(fact)}")), fact)
        return replace(fact, subject=known.subject, relation=known.relation)

    # --- what is held ---

    def _hold(self, fact: Fact) -> None:
        identity = fact.identity
        self._facts[identity] = fact
        self._speakers[fact.speaker] += 1
        self._stated[_statement(fact)] = identity
        self._newest[fact.kind].append(identity)
        if fact.topic:
            self._topics[fact.topic].append(identity)
            self._named[_noun(fact), fact.kind, fact.unit].append(identity)

    def _supersede(self, identity: Identity, seq: int) -> None:
        fact = self._facts[identity]
        if fact.superseded_by is not None:
            return
        self._facts[identity] = replace(fact, superseded_by=seq)
        self._changed[identity] = None
        self._speakers[fact.speaker] -= 1
        self._stated.pop(_statement(fact), None)
        self._newest[fact.kind].remove(identity)
        if fact.topic:
            self._topics[fact.topic].remove(identity)
            self._named[_noun(fact), fact.kind, fact.unit].remove(identity)


def _correcting(candidate: Candidate, target: Fact) -> Fact:
    """The fact that replaces another one: named as that one where it has no name of its own."""
    fact = candidate.fact
    kind, value = fact.kind, fact.value
    if candidate.bare:
        statement = target.kind in _STATEMENTS
        new = value if statement else composed(target.value, value, candidate.old)
        kind, value = target.kind, new or value
    named = fact.topic is None or target.topic is not None
    of = target if named and kind is target.kind else fact
    subject, relation = of.subject, of.relation
    if target.relation == MENTIONS and named:
        subject = fact.speaker
    if kind is Kind.PREFERENCE and not candidate.bare:
        subject, relation = fact.subject, fact.relation
    return replace(fact, kind=kind, value=value, subject=subject, relation=relation)


def _noun(fact: Fact) -> str:
    """What a value is a value of, without its possessor."""
    return fact.subject if fact.relation == IS else "" if fact.topic is None else fact.relation


def _may_correct(fact: Fact, one: Fact) -> bool:
    """Whether the speaker of a fact may correct another one: assistants do not correct what others want."""
    return one.kind not in _STATEMENTS or fact.speaker != _ASSISTANT or one.speaker == _ASSISTANT


def _of_same(one: Fact, other: Fact) -> bool:
    """Whether two statements of one speaker are about the same person."""
    return (one.speaker, one.subject) == (other.speaker, other.subject)


def _share(one: Fact, other: Fact) -> bool:
    """Whether two statements share a content word."""
    return _shared_words(one.relation.removeprefix(ALLERGY), other.relation.removeprefix(ALLERGY))


def _shared_words(one: str, other: str) -> bool:
    return bool(_beginnings(one) & _beginnings(other))


def _without_value(fact: Fact) -> str:
    return fact.text.replace(fact.value, " ")


def _beginnings(text: str) -> set[str]:
    found = [word.casefold() for word in words(text)]
    return {word[:_STEM] for word in found if len(word) >= _LEAST_WORD and not _COMMON.fullmatch(word)}


def _differ_in_purpose(one: Fact, other: Fact) -> bool:
    """Whether two values of one noun are for different people or things: `$20 for children`, `$30 for adults`."""
    purposes = [_PURPOSE.match(fact.text.partition(fact.value)[2]) for fact in (one, other)]
    return all(purposes) and len({found[1].casefold() for found in purposes if found}) > 1


def _is_said_by(kind: Kind, value: str, one: Fact) -> bool:
    """Whether a fact has the value: of a calendar date, with or without its weekday and year."""
    if kind is not Kind.DATE or not _DAY_OF_MONTH.search(value) or not _DAY_OF_MONTH.search(one.value):
        return value.casefold() == one.value.casefold()
    shorter, longer = sorted((value.casefold(), one.value.casefold()), key=len)
    if _SHORT_NUMBER.findall(shorter) != _SHORT_NUMBER.findall(longer):
        return False
    return shorter in longer or {*words(shorter)} <= {*words(longer)}


def _is_about(one: Fact, named: frozenset[str]) -> bool:
    """Whether a fact is about what a correction names, if it names something."""
    said = f"{_noun(one)} {one.text}".casefold()
    return not named or one.unit[:_STEM] in named or any(word in said for word in named)


def _may_replace(fact: Fact, one: Fact) -> bool:
    """Whether a value may replace another one: not one for somebody else, no calendar date by a weekday or
    a month, and none of the past."""
    if _differ_in_purpose(fact, one):
        return False
    if fact.kind is not Kind.DATE:
        return True
    if not fact.topic and _DAY_OF_MONTH.search(one.value) and not _DAY_OF_MONTH.search(fact.value):
        return False
    return bool(_PAST.search(fact.value)) == bool(_PAST.search(one.value))


def _equal(one: Fact, other: Fact) -> bool:
    return _is_said_by(other.kind, other.value, one)


def _statement(fact: Fact) -> Stated:
    """Equal for facts that state the same."""
    return fact.kind, fact.subject, fact.relation, fact.value.casefold()
