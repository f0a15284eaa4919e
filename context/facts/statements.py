"""Statements in text: what a value is a value of, preferences, refusals and decisions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from purser.context.conversation.wording import asks
from purser.context.facts.languages import Language
from purser.context.facts.values import ALLERGY, IS, Kind

_ASSISTANT = "assistant"
_ATTRIBUTE_WORDS = """
    price cost rating total fare fee duration time date number phone address name distance departure arrival balance
    precio costo hora fecha preis kosten uhrzeit datum prix coût heure
    电话 地址 评分 价格 门票 人均消费 人均 时间 营业时间 地点 票价 房价 距离 料金 値段 住所 電話
"""
_ATTRIBUTES = frozenset(_ATTRIBUTE_WORDS.split())
"""What an assistant lists of one thing after another: such a value replaces none."""
_NOT_NOUN_WORDS = "favorite favourite best first other one same thing answer it that this there what es lo ça ce"
_NOT_NOUN = frozenset(_NOT_NOUN_WORDS.split())
_OPEN = re.compile(r"(?:\b(?:if|whether|ob|wenn|si)|如果|是否|要是|かどうか|なら)[\s,，]*$", re.IGNORECASE)
"""Words right before a statement that leave it open."""
_OPEN_WITHIN = "是否"
_FILLER = re.compile(
    r"\b(?:really|still|now|new|just|correct|right|ahora|ya|actualmente|nuev[oa]s?|correct[oa]s?|jetzt|nun|schon|neue[nmr]?"
    r"|richtige[nmr]?|maintenant|désormais|nouve(?:au|lle)s?)\b ?|^新的?(?=[\u4e00-\u9fff]{2})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Owner:
    """What a value is a value of."""

    subject: str
    relation: str
    definite: bool
    """Whether it is named by an article, as in `the budget`, and so may be somebody's."""
    loose: bool = False
    """Whether no verb joins it to the value, which names times, ids and addresses only."""
    start: int = 0
    """Where its name begins."""
    verb: int = 0
    """Where the verb begins that joins it to the value; 0 if none does."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A preference, refusal or decision."""

    kind: Kind
    of: str
    """Who of the speaker's people it is about, such as `daughter`; empty for the speaker and for `who`."""
    who: str
    """The name of whom it is about; empty for the speaker and the speaker's people."""
    relation: str
    match: re.Match[str]


def statements(sentence: str, languages: tuple[Language, ...]) -> Iterator[Statement]:
    """Yields the statements of a sentence; those of a kind do not overlap. A question and a mere "if" have none."""
    if asks(sentence):
        return
    taken: dict[Kind, int] = {}
    found = [
        Statement(kind, _said(match, "of"), _said(match, "who"), _relation(relation, match), match)
        for language in languages
        for kind, relation, pattern in language.stated
        for match in pattern.finditer(sentence)
        if not _OPEN.search(sentence, 0, match.start()) and _OPEN_WITHIN not in match[0]
    ]
    for one in sorted(found, key=lambda one: (one.match.start(), -one.match.end())):
        if one.match.start() >= taken.get(one.kind, 0):
            taken[one.kind] = one.match.end()
            if not one.match.groupdict().get("other"):
                yield one


def owner(before: str, speaker: str, languages: tuple[Language, ...]) -> Owner | None:
    """Finds subject and relation in the words before a value, such as `my budget is` or `the deadline moved to`.

    Args:
        before: the sentence up to the value.
        speaker: name or role of the speaker.
        languages: the languages that the sentence may be in.
    """
    for language in languages:
        if match := language.is_owned.search(before):
            found = _owner(match, speaker, language)
            said = [name for name, text in match.groupdict().items() if text]
            start = min(match.start(name) for name in said if "verb" not in name)
            verb = max((match.start(name) for name in said if "verb" in name), default=0)
            return replace(found, start=start, verb=verb) if found else None
    return None


def _owner(match: re.Match[str], speaker: str, language: Language) -> Owner | None:
    groups: dict[str, str] = {}
    for name, text in match.groupdict().items():
        if text:
            groups[name.split("_")[0]] = " ".join(text.split()).lower()
    if "does" in groups:
        return Owner(speaker, language.relations.get(groups["does"], groups["does"]), definite=False)
    noun = _FILLER.sub("", groups.get("noun", "")).strip()
    if not noun or noun in _NOT_NOUN:
        return None
    verb, whose = groups.get("verb", ""), groups.get("whose", "")
    relation = "was" if verb in language.past else language.relations.get(verb, IS)
    if whose in language.selves:
        return Owner(speaker, noun if relation == IS else f"{noun} {relation}", definite=False)
    if whose in language.others:
        addressee = {"assistant": "user", "user": "assistant"}.get(speaker, "you")
        return Owner(addressee, noun if relation == IS else f"{noun} {relation}", definite=False)
    if whose not in language.articles and (possessor := language.named_by(whose)):
        return Owner(possessor, noun if relation == IS else f"{noun} {relation}", definite=False)
    if (whose and whose not in language.articles) or (speaker == _ASSISTANT and noun in _ATTRIBUTES):
        return None
    return Owner(noun, relation, definite=True, loose=not verb)


def _said(match: re.Match[str], group: str) -> str:
    return (match.groupdict().get(group) or "").lower()


def _relation(relation: str, match: re.Match[str]) -> str:
    """The relation of a statement; of a preference, its object in lower case."""
    if relation not in ("", ALLERGY):
        return relation
    people = match.re.groupindex.values()
    objects = (text for group, text in enumerate(match.groups(), 1) if text and group not in people)
    said = " ".join(next(objects, match[0]).split()).lower()
    return f"{relation} {said}".strip()
