"""The facts of a thread while its messages are followed: what is repeated, superseded or corrected."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from purser.context.facts.candidates import Candidate
from purser.context.facts.corrections import composed, within
from purser.context.facts.likeness import (
    ASSISTANT,
    STATEMENTS,
    STEM,
    differ_in_purpose,
    is_about,
    is_choice,
    is_of,
    is_said_by,
    may_correct,
    may_replace,
    noun_of,
    of_same,
    same_value,
    share_a_word,
    share_words,
    without_value,
)
from purser.context.facts.values import IS, MENTIONS, Fact, Kind

REACH = 40
"""Messages that a correction without subject, such as "make it 5 pm", reaches back."""
_NEAR = 4
"""Messages within which a named correction corrects a value that was mentioned without name."""
_JUST_SAID = 2
"""Messages within which "cancel that" means what its speaker said last: an answer may stand between."""
_RETRACTED = (Kind.DATE, Kind.TIME, Kind.MONEY, Kind.NUMBER, Kind.ADDRESS, Kind.DECISION)
"""What can be taken back in few words: plans, not what somebody is, likes or forbids."""
_COUNTED = (Kind.NUMBER, Kind.MONEY, Kind.TIME)
_GENERIC = re.compile(
    "(?:time|date|pric|amou|addr|hour|hora|fech|prec|dire|uhrz|datu|prei|zeit|betr|adre|heur|prix|mont"
    "|时间|日期|价格|地址|時間|日程|住所)"
)
"""Beginnings of nouns that say no more of a value than its kind."""
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
        if candidate.retracts:
            self._retract(fact)
            return
        if fact.kind is Kind.NAME and self._is_speaker(fact):
            return
        target = self._corrected(candidate) if candidate.corrects else None
        if target is None:
            if candidate.bare:
                return
            self._add(self._adopted(candidate))
            return
        corrected = _correcting(candidate, target)
        if is_said_by(corrected.kind, corrected.value, target):
            return
        self._add(corrected)
        for one in [target, *self._same_as(target, fact.seq)]:
            self._supersede(one.identity, fact.seq)

    def _add(self, fact: Fact) -> None:
        if _statement(fact) in self._stated:
            return
        if fact.topic:
            for identity in list(self._topics[fact.topic]):
                if self._facts[identity].seq < fact.seq and not differ_in_purpose(self._facts[identity], fact):
                    self._supersede(identity, fact.seq)
        self._hold(fact)
        self._changed[fact.identity] = None

    def _retract(self, fact: Fact) -> None:
        """Supersedes what a message takes back: the values of a noun, or what its speaker said last."""
        known = self._recent(fact, *_RETRACTED)
        if fact.relation:
            known = [one for one in known if is_of(one, fact.subject, fact.relation)]
            newest = next((one.subject for one in known if one.topic), None)
            targets = [one for one in known if not one.topic or one.subject == newest]
        else:
            said = [one for one in known if one.speaker == fact.speaker and one.seq >= fact.seq - _JUST_SAID]
            targets = [one for one in said if one.seq == said[0].seq]
        for target in targets:
            for one in [target, *self._same_as(target, fact.seq)]:
                self._supersede(one.identity, fact.seq)

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
                fact,
                lambda one: one.seq >= near and is_choice(one) and may_correct(fact, one),
                Kind.DECISION,
                Kind.PREFERENCE,
            )
        if candidate.bare:
            return self._first(
                fact,
                lambda one: composed(one.value, fact.value) is not None and is_about(one, candidate.about),
                *_COUNTED,
            )
        if fact.kind is Kind.DECISION:
            return self._first(fact, lambda one: not candidate.related or share_words(one.value, fact.value), fact.kind)
        if fact.kind in STATEMENTS:
            return self._first(fact, lambda one: of_same(one, fact) and share_a_word(one, fact), fact.kind)
        if candidate.related:
            said = without_value(fact)
            return self._first(
                fact, lambda one: may_replace(fact, one) and share_words(without_value(one), said), fact.kind
            )
        if fact.topic:
            return self._named_like(candidate)
        known, joined = self._alike(fact, fact.kind, fact.value), self._joined(candidate)
        if fact.kind is Kind.NAME or (known and None in joined):
            return None
        anchors = {one.seq for one in joined if one and not known}

        def fits(one: Fact) -> bool:
            return may_replace(fact, one) and one.unit == fact.unit and is_about(one, candidate.about)

        anchored = self._first(fact, lambda one: fits(one) and one.seq in anchors, fact.kind) if anchors else None
        return self._whole(anchored or self._first(fact, fits, fact.kind))

    def _joined(self, candidate: Candidate) -> list[Fact | None]:
        """The live facts that equal the values beside a corrected one: only what is new in them is a correction."""
        return [self._alike(candidate.fact, kind, value) for kind, value in candidate.joined]

    def _alike(self, fact: Fact, kind: Kind, value: str) -> Fact | None:
        return next((one for one in self._recent(fact, kind) if is_said_by(kind, value, one)), None)

    def _named_like(self, candidate: Candidate) -> Fact | None:
        """The fact of the same noun, or the last value of the kind that was mentioned near without a noun."""
        fact = candidate.fact
        noun = noun_of(fact)

        def fits(one: Fact) -> bool:
            if one.unit != fact.unit or not may_replace(fact, one):
                return False
            known = noun_of(one)
            if known:
                return known.endswith(noun) or noun.endswith(known)
            named = {word[:STEM] for word in noun.split(" ") if not _GENERIC.match(word)}
            return one.seq >= fact.seq - _NEAR if not named else any(word in one.text.casefold() for word in named)

        exact = [
            one
            for one in self._recent(fact, fact.kind)
            if noun_of(one) == noun
            and may_replace(fact, one)
            and (one.topic == fact.topic or IS in (one.relation, fact.relation))
        ]
        return exact[0] if exact else self._first(fact, fits, fact.kind)

    def _containing(self, candidate: Candidate) -> Fact | None:
        """The newest fact that contains the words that are replaced; named values and statements before mentions."""
        fact, old = candidate.fact, candidate.old.casefold()
        kinds = tuple(Kind) if candidate.bare or fact.kind in (*STATEMENTS, Kind.NAME) else (fact.kind,)
        found = [
            one
            for one in self._recent(fact, *kinds)
            if (within(one.value, old) or (one.value.casefold() in old and len(one.value) * 2 > len(old)))
            and may_correct(fact, one)
        ]
        return max(found, key=lambda one: (one.topic is not None or one.kind in STATEMENTS, one.seq), default=None)

    def _first(self, fact: Fact, fits: Callable[[Fact], bool], *kinds: Kind) -> Fact | None:
        """The newest fitting fact, preferably not one that the assistant states."""
        found = [one for one in self._recent(fact, *kinds) if fits(one)]
        return next((one for one in found if one.speaker != ASSISTANT), found[0] if found else None)

    def _whole(self, target: Fact | None) -> Fact | None:
        """The named fact with the value of a mere mention, if there is one."""
        if target is None or target.topic:
            return target
        named = (one for one in self._recent(target, target.kind) if one.topic and same_value(one, target))
        return next(named, target)

    def _same_as(self, target: Fact, seq: int) -> list[Fact]:
        """Mentions of a superseded value, and names in a superseded statement."""
        alike = [
            one
            for one in self._recent(replace(target, seq=seq, text=""), target.kind)
            if same_value(one, target) and one.topic in (None, target.topic) and one.kind not in STATEMENTS
        ]
        if target.kind in STATEMENTS:
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
        # Stored facts of a message have no order of their own: named ones come first, a beginning before its end.
        return sorted(found, key=lambda one: (-one.seq, one.topic is None, one.relation != IS, one.identity))

    def _adopted(self, candidate: Candidate) -> Fact:
        """The fact with subject and relation of a known one that it may be about: `the budget` is `my budget`."""
        fact = candidate.fact
        if fact.topic is None or self._topics.get(fact.topic):
            return fact
        named = [self._facts[identity] for identity in self._named[noun_of(fact), fact.kind, fact.unit]]
        for one in sorted(named, key=lambda one: (-one.seq, one.identity)):
            if candidate.definite != (one.relation == IS):
                return replace(fact, subject=one.subject, relation=one.relation)
        alike = (one for one in self._recent(fact, fact.kind) if one.topic and same_value(one, fact))
        known = next((one for one in alike if candidate.definite and noun_of(one).endswith(f" {noun_of(fact)}")), fact)
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
            self._named[noun_of(fact), fact.kind, fact.unit].append(identity)

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
            self._named[noun_of(fact), fact.kind, fact.unit].remove(identity)


def _correcting(candidate: Candidate, target: Fact) -> Fact:
    """The fact that replaces another one: named as that one where it has no name of its own."""
    fact = candidate.fact
    kind, value = fact.kind, fact.value
    if candidate.bare:
        statement = target.kind in STATEMENTS
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


def _statement(fact: Fact) -> Stated:
    """Equal for facts that state the same."""
    return fact.kind, fact.subject, fact.relation, fact.value.casefold()
