"""Candidates for facts: what one message states, before it is compared with what is known."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from purser.context.compression.extracts.pages import is_page, is_sentence, page_text
from purser.context.compression.extracts.parts import is_announced
from purser.context.conversation.dates import dated
from purser.context.conversation.messages import StoredMessage
from purser.context.conversation.wording import asks, sentences
from purser.context.facts.clauses import around
from purser.context.facts.corrections import (
    alternative,
    bare_numbers,
    composed,
    is_cued,
    is_new,
    leads_over,
    named_words,
    outdates,
    reconsiders,
    replaced,
    retracted,
    unsure,
)
from purser.context.facts.languages import Language, languages_of
from purser.context.facts.patterns import Span, values
from purser.context.facts.statements import Owner, owner, statements
from purser.context.facts.tools import fields_of
from purser.context.facts.values import MENTIONS, Fact, Kind

_LONGEST_DIALOGUE = 2_000
"""Characters above which a message is a document, of which only statements, paths and named values count."""
_EDGES = " ,;:，；：–—-"
_JOINS = re.compile(
    r"[\s,]*(?:\b(?:at|on|by|for|from|to|until|in|the|a|al|el|de|del|um|am|ab|bis|den|à|le|en"
    r"|rather|better|lieber|besser|mejor|plutôt)\b|[的之の、に]"
    r"|\s)*[\s,]*",
    re.IGNORECASE,
)
"""Words between two values of the same owner, such as `on Friday at 3 pm`."""
_AND = re.compile(r",? (?:and|y|e|und|et) |, ", re.IGNORECASE)
"""Words after which the verb of the value before may be left out, as in `move lunch to noon and the dinner to 8 pm`, or
its subject, as in `the show starts at 7 pm and ends at 9 pm`."""
_DATED = frozenset({Kind.DATE, Kind.TIME, Kind.MONEY})
_LOOSE = frozenset({Kind.DATE, Kind.TIME, Kind.ID, Kind.ADDRESS})
_COUNTED = frozenset({Kind.MONEY, Kind.NUMBER})
_TIMES = frozenset({Kind.DATE, Kind.TIME})
_NO_MESSAGE = 0
"""Stands for the number of a message, which a sentence does not know."""
_KINDS = {"home": frozenset({Kind.ADDRESS, Kind.NAME}), "name": frozenset({Kind.NAME})}
"""Kinds of the values that some relations have: in `call me Monday`, the day is no name."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a message states."""

    fact: Fact
    definite: bool = False
    """Whether an article names its subject, which may be what an earlier fact is about."""
    corrects: bool = False
    """Whether it replaces an earlier fact."""
    related: bool = False
    """Whether it only replaces one whose sentence has a word in common with its own."""
    old: str = ""
    """Words of the earlier fact that it replaces."""
    bare: bool = False
    """Whether kind and value follow from the earlier fact."""
    about: frozenset[str] = frozenset()
    """Beginnings of words of which the earlier fact has one."""
    retracts: bool = False
    """Whether it only takes back what has its subject and relation, or what its speaker said last if they are empty."""
    joined: tuple[tuple[Kind, str], ...] = ()
    """Kinds and values of dates and times that are joined to its own, as in `Saturday at 11 am`."""


def candidates(stored: StoredMessage, text: str) -> Iterator[Candidate]:
    """Yields what a message states, in sequence.

    Args:
        stored: the message.
        text: its redacted text.
    """
    speaker = stored.message.speaker
    if stored.message.role == "tool":
        yield from _of_tool(stored.seq, speaker, text)
        return
    page = stored.message.role == "assistant" and is_page(text)
    text = page_text(text) if page else text
    languages = languages_of(text)
    is_dialogue = len(text) <= _LONGEST_DIALOGUE
    outdated = False
    for sentence in sentences(text):
        if stored.message.role == "assistant" and (is_announced(sentence) or (page and not is_sentence(sentence))):
            continue
        stated = _said(_Sentence(speaker, sentence, languages, outdated), corrections=is_dialogue)
        outdated = outdated or outdates(sentence)
        for candidate in stated:
            fact = candidate.fact
            if is_dialogue or fact.kind is Kind.PATH or fact.relation != MENTIONS:
                value = _dated(fact.kind, fact.value, stored)
                joined = tuple((kind, _dated(kind, said, stored)) for kind, said in candidate.joined)
                yield replace(candidate, fact=replace(fact, seq=stored.seq, value=value), joined=joined)


def _dated(kind: Kind, value: str, stored: StoredMessage) -> str:
    return dated(value, stored.created_at) if kind is Kind.DATE else value


# The same sentences come again: phrases of assistants, and conversations that are extracted anew.
@lru_cache(maxsize=1_024)
def _said(sentence: "_Sentence", *, corrections: bool) -> tuple[Candidate, ...]:
    """What a sentence states. The caller fills in the number of the message."""
    return tuple(sentence.candidates(corrections=corrections))


@dataclass(frozen=True)
class _Sentence:
    speaker: str
    text: str
    languages: tuple[Language, ...]
    outdated: bool
    """Whether a sentence before it said that a value holds no more."""

    def candidates(self, *, corrections: bool) -> Iterator[Candidate]:
        replacing = replaced(self.text, self.languages) if corrections else None
        may_correct = corrections and not asks(self.text) and not unsure(self.text, self.languages)
        old_span = (replacing.old,) if replacing else ()
        found = list(self._values((*self._farewells(), *old_span), may_correct))
        stated = list(statements(self.text, self.languages))
        replaces_value = False
        for place, (kind, match, named, corrects) in enumerate(found):
            in_new = bool(replacing and replacing.new[0] <= match.start() and match.end() <= replacing.new[1])
            last = not any(replacing and one.end() <= replacing.new[1] for _, one, _, _ in found[place + 1 :])
            old = replacing.old_text if replacing and in_new and last else ""
            replaces_value = replaces_value or bool(old)
            fact = self._fact(
                kind, named.subject if named else self.speaker, named.relation if named else MENTIONS, match
            )
            related = may_correct and kind in _DATED and not corrects and leads_over(self.text)
            yield Candidate(
                fact,
                bool(named and named.definite),
                corrects or related or bool(old),
                related,
                old,
                about=self._about(match, [one.span() for _, one, _, _ in found])
                if corrects and not named
                else frozenset(),
                joined=tuple(self._joined(place, found)) if corrects else (),
            )
        for one in stated:
            touches = replacing and one.match.start() < replacing.new[1] and replacing.new[0] < one.match.end()
            strong = may_correct and any(language.is_changed.search(self.text) for language in self.languages)
            weak = may_correct and one.kind is Kind.PREFERENCE and reconsiders(self.text)
            again = may_correct and not (touches or strong) and one.kind is Kind.DECISION and leads_over(self.text)
            subject = f"{self.speaker}'s {one.of}" if one.of else one.who or self.speaker
            fact = self._fact(one.kind, subject, one.relation, one.match, replacing.old if replacing else None)
            yield Candidate(
                fact,
                corrects=bool(touches or strong or weak or again),
                related=again,
                old=replacing.old_text if replacing and touches else "",
            )
        taken_back = retracted(self.text, self.languages) if may_correct else None
        if taken_back and (any(taken_back) or not (found or stated)):
            yield Candidate(Fact(_NO_MESSAGE, Kind.FIELD, *taken_back, "", self.text, self.speaker), retracts=True)
        if may_correct:
            yield from self._bare(replacing.new_text if replacing else "", replacing.old_text if replacing else "",
                                  found=[(kind, match.span()) for kind, match, _, _ in found], is_stated=bool(stated),
                                  is_valued=replaces_value)  # fmt: skip

    def _values(
        self, but: tuple[Span, ...], may_correct: bool
    ) -> Iterator[tuple[Kind, re.Match[str], Owner | None, bool]]:
        """Values with their owners, and whether they correct; a value next to another one has its owner."""
        last: tuple[int, Owner | None, bool] = (0, None, False)
        lead = subject = ""
        asserts = not asks(self.text) and not unsure(self.text, self.languages)
        found = sorted(values(self.text, self.languages, but), key=lambda found: found[1].start())
        for (kind, match), end in zip(found, self._ends(found), strict=True):
            before, between = self.text[: match.start()], self.text[last[0] : match.start()]
            if joined := _AND.match(between):
                said = between[joined.end() :]
                if lead and owner(lead + said, self.speaker, self.languages):
                    before = lead + said
                elif subject and (of := owner(subject + said, self.speaker, self.languages)):
                    before = subject + said if of.verb == len(subject) else before
            named = owner(before, self.speaker, self.languages) if asserts else None
            if named and ((named.loose and kind not in _LOOSE) or kind not in _KINDS.get(named.relation, (kind,))):
                named = None
            lead = before[: named.start] if named else lead
            subject = before[: named.verb] if named else subject
            after, rest = self.text[match.end() :], self.text[end:]
            corrects = may_correct and (
                is_cued(before, after, rest, self.languages) or (self.outdated and is_new(before))
            )
            if last[0] and kind in _TIMES and _JOINS.fullmatch(between):
                named, corrects = last[1] or named, corrects or last[2]
            last = (match.end(), named, corrects)
            yield kind, match, named, corrects

    def _about(self, match: re.Match[str], but: list[Span]) -> frozenset[str]:
        before = self.text[: match.start()]
        for start, end in but:
            before = before[:start] + " " * (min(end, len(before)) - start) + before[end:]
        return named_words(before, self.text[match.end() :], self.languages)

    def _joined(
        self, place: int, found: list[tuple[Kind, re.Match[str], Owner | None, bool]]
    ) -> Iterator[tuple[Kind, str]]:
        """The date or time before and after one, if they are joined."""
        for first in (place - 1, place):
            if 0 <= first < len(found) - 1 and {found[first][0], found[first + 1][0]} <= _TIMES:
                kind, match, _, _ = found[first if first < place else first + 1]
                if _JOINS.fullmatch(self.text, found[first][1].end(), found[first + 1][1].start()):
                    yield kind, match[0]

    def _ends(self, found: list[tuple[Kind, re.Match[str]]]) -> list[int]:
        """Where the last value ends that is joined to each."""
        ends = [match.end() for _, match in found]
        for place in reversed(range(len(found) - 1)):
            if _JOINS.fullmatch(self.text, ends[place], found[place + 1][1].start()):
                ends[place] = ends[place + 1]
        return ends

    def _bare(
        self, new: str, old: str, *, found: list[tuple[Kind, Span]], is_stated: bool, is_valued: bool
    ) -> Iterator[Candidate]:
        """Corrections whose kind follows from what they correct."""
        if old and not is_valued and not is_stated:
            whole = composed(old, new, old)
            typed = list(values(whole, self.languages)) if whole and whole != new else []
            kind = typed[0][0] if len(typed) == 1 and typed[0][1][0] == whole else Kind.FIELD
            said = self.text
            value = whole if kind is not Kind.FIELD and whole else new
            yield Candidate(
                Fact(_NO_MESSAGE, kind, self.speaker, MENTIONS, value, said, self.speaker),
                corrects=True, old=old, bare=kind is Kind.FIELD,
            )  # fmt: skip
        if old:
            return
        spans = [span for _, span in found]
        for match in bare_numbers(self.text, self.languages):
            if not any(start < match.end() and match.start() < end for start, end in spans):
                fact = self._fact(Kind.FIELD, self.speaker, MENTIONS, match)
                yield Candidate(fact, corrects=True, bare=True, about=self._about(match, spans))
        is_typed = any(kind is not Kind.NAME for kind, _ in found)
        if not is_stated and not is_typed and (choice := alternative(self.text, self.languages)):
            fact = Fact(_NO_MESSAGE, Kind.DECISION, self.speaker, MENTIONS, choice, self.text, self.speaker)
            yield Candidate(fact, corrects=True, bare=True)

    def _fact(self, kind: Kind, subject: str, relation: str, match: re.Match[str], but: Span | None = None) -> Fact:
        end = match.end()
        if but and match.start() < but[0] < end:
            end = but[0]
        value = (_TAIL.sub("", match.string[match.start() : end]) if but else "") or match[0]
        # A dash before an amount is its sign.
        value = value.strip() if kind in _COUNTED else value.strip(_EDGES)
        return Fact(_NO_MESSAGE, kind, subject, relation, value, around(match), self.speaker)

    def _farewells(self) -> Iterator[Span]:
        """Greetings and farewells; with a time of day after it, it is an appointment."""
        for language in self.languages:
            for match in language.is_farewell.finditer(self.text):
                rest = self.text[match.end() :]
                appointment = any(kind is Kind.TIME for kind, _ in values(rest, self.languages))
                if match.end() > match.start() and not appointment:
                    yield match.span()


_TAIL = re.compile(
    r"[\s,，]*(?:\b(?:instead of|rather than|and not|not|statt|anstatt|und nicht|nicht|en (?:vez|lugar) de|y no"
    r"|no|sino|au lieu"
    r" (?:de|du)|au lieu d['’]|plutôt que|et non|pas|from|von|de|à|at|on|the)\b|而?不是|而?不用|代替|から"
    r"|ではなく)*[\s,，]*$",
    re.IGNORECASE,
)
"""Words between a new and an old value."""


def _of_tool(seq: int, speaker: str, text: str) -> Iterator[Candidate]:
    """The fields of a JSON object; only paths of any other result."""
    fields = fields_of(text)
    for subject, path, kind, content in fields or ():
        yield Candidate(Fact(seq, kind, subject, path, content, f"{subject} {path}: {content}".lstrip(), ""))
    for sentence in sentences(text) if fields is None else ():
        for kind, match in values(sentence, ()):
            if kind is Kind.PATH:
                yield Candidate(Fact(seq, kind, speaker, MENTIONS, match[0], around(match), speaker))
