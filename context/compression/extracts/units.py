"""Units of a conversation that an extract picks whole: messages, parts of long messages, and records of tool calls."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial

from purser.context.compression.extracts.idle import is_idle
from purser.context.compression.extracts.pages import is_page, is_sentence, opening, page_text
from purser.context.compression.extracts.parts import is_announced, parts
from purser.context.compression.extracts.records import is_change, outcome, records
from purser.context.compression.extracts.uptake import Uptake
from purser.context.compression.requests import CountText, Passage, SummarySource
from purser.context.conversation.dates import absolute_dates
from purser.context.conversation.kinds import Composition, Kind
from purser.context.conversation.wording import CJK, asks, numbers, questions, sentences, times, words

_WHOLE_SHARE, _WHOLE_SHARE_OF_ANSWERS = 2, 8
"""A message picked as a whole takes at most half of the room, or an eighth if a model wrote it; longer ones are picked
by part."""
_SHORT = 80
"""Tokens up to which a message is picked as a whole or not at all, if it fits half of the room."""
_RECORD_SHARE = 4
_RECORD_CHARACTERS = 3
_RECORD_TRIES = 4
"""A record of a tool call takes at most a quarter of the room; a token of a record has about three characters."""
_USERS = 2.0
"""Weight of what users write where it is short and its answers are long."""
_CHANGES = 2.0
"""Weight of a tool call that changes something, or is about what a user or such a call names."""
_ELLIPTICAL = 7
"""Words up to which an answer is taken to depend on its question; a few more after yes or no."""
_ELLIPTICAL_REPLY = 15
"""Words up to which the reply of an assistant is taken to depend on its question."""
_LONGEST_QUESTION = 120
"""Characters of a question, and of what it refers to, that stand before an answer."""
_OUTCOMES = 2.0
"""Weight of what agents with tools conclude: most of what they write repeats the task, plans or quotes."""

_HOLLOW = 0.25
"""Weight of a message to an assistant that only asks: once it is answered, the answer counts."""
_LISTED, _QUOTED = 0.25, 0.5
"""Weight of entries that an agent lists, and of sentences of a page that it quotes, where nobody takes them up."""
_DENIED = 0.5
"""Weight of what the next speaker denies at once: the denial says how it is."""
_LONGEST_DENIED = 300
"""Characters of a message up to which all of it is taken to be denied."""
_OFFERED = 0.5
"""Weight of entries that a lone agent lists for its user."""
_LEAST_ALIKE = 3
"""Sentences of pages with the same opening from which on only the last one counts."""

_LINE = re.compile(r"(?P<speaker>[^:(]{1,200}?)(?: \((?:asked “(?P<question>[^”]*)”)?[^)]*\)){0,2}: (?P<text>.*)")
"""A line of an extract, see `_label`; the speaker may have a name after its role."""
_CALL = re.compile(r"([\w.-]+)\(")
_REFERS = re.compile(
    r"[这那该此](?:个|家|里|儿|边|些|款|部|种|位|间|条)|它|\b(?:it|its|there|this|that|these|those|they|them)\b", re.I
)
_REQUEST = re.compile(
    r"\b(?:please|bitte|por favor|s['’]il (?:te|vous) pla[iî]t|svp)\b"
    r"|[请請]|麻[烦煩]|ください|下さい|お願い|주세요|부탁",
    re.I,
)
_OUTCOME = re.compile(
    r"\b(?:final answer|the answer is|answer:|in conclusion|conclude|therefore|confirm(?:s|ed)|verified|turned out"
    r"|unable to|(?:could|did|was|were|does|do|is|are)n['’]t|no (?:\w+ ){1,4}(?:was|were)|failed"
    r"|result(?:s|ed)? (?:is|are|in|show))\b"
    r"|最终|结论|答案|因此|无法|未找到",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\b(?:total|altogether|balance|refund\w*|gesamt\w*|summe|insgesamt|en total|importe total|montant total)\b"
    r"|总计|合计|总价|共计|一共|合計",
    re.IGNORECASE,
)
"""What an agent asks its user to confirm."""
_DENIAL = re.compile(
    r"[\W_]*(?:(?:oh|ah|ach|hm+|wait|sorry|ay|euh|äh|あ|え)[\s,、.]+)*"
    r"(?:(?:no|nope|nein|nee|non|wrong|falsch|incorrecto|faux)\s?[,.;:!—–-]"
    r"|(?:that|this|it)(?:['’]s| is) (?:wrong|not (?:right|true))\b"
    r"|das (?:stimmt nicht|ist falsch)\b|eso no (?:es|está)\b|c['’]est faux\b|ce n['’]est pas\b"
    r"|不对|不是[,，。的]|不[,，。]|错了|いや[、，,。]|いいえ|違い?ます|違う|아니(?:요|오|에요)?[,. ]|틀렸)",
    re.I,
)
_YES_OR_NO = re.compile(
    r"\s*(?:yes|yeah|yep|no|nope|sure|correct|right|exactly|not)\b|\s*(?:是的|对|好的|不|嗯|はい|いいえ|네|아니)", re.I
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A candidate of an extract."""

    line: str
    """Speaker, the question that it answers where it depends on that, and text."""
    text: str
    """The words that decide its value."""
    passage: int | None = None
    """Index of its message; `None` for a line of the last version."""
    answers: bool = False
    """Whether it follows a question of another speaker."""
    weight: float = 1.0
    """Factor of its value."""
    quotes: tuple[tuple[int, str], ...] = ()
    """What the line quotes, each with the index of its message: the question, and what that refers to."""
    bare: str = ""
    """The line without what it quotes."""


def units(source: SummarySource, most_tokens: int, count: CountText) -> Iterator[tuple[Unit, int]]:
    """Yields the units of a source in their order, each with its tokens.

    Args:
        source: lines of the last version compete with new messages.
        most_tokens: room of the extract.
        count: counts tokens.
    """
    lines = list(filter(None, source.summary.splitlines()))
    heavy = _heavy(source.passages) if lines else frozenset[str]()
    yield from ((unit, count(unit.line + "\n")) for unit in _remembered(lines, heavy))
    found = [*_records(source.passages, most_tokens, count), *_said(source.passages, most_tokens, count)]
    yield from sorted(found, key=lambda one: -1 if one[0].passage is None else one[0].passage)


def _remembered(lines: Iterable[str], heavy: Set[str]) -> Iterator[Unit]:
    """Lines of the last version with the value that their messages had; with an assistant, `heavy` speakers count more.

    A question may stand in the line before, where its answer needs no quotation.
    """
    asked_by = ""
    for line in lines:
        found = _LINE.fullmatch(line)
        speaker, question, text = found.group("speaker", "question", "text") if found else ("", None, line)
        value = text if heavy or not question else f"{question} {text}"
        weight = _USERS if speaker in heavy else 1.0
        if speaker == "tool" and (call := _CALL.match(text)) and is_change(call[1]):
            weight = _CHANGES
        yield Unit(line, value, answers=bool(question) or asked_by not in ("", speaker), weight=weight)
        asked_by = speaker if questions(text) else ""


def _said(passages: Sequence[Passage], most_tokens: int, count: CountText) -> list[tuple[Unit, int]]:
    """Messages, whole where they are short; parts of longer ones."""
    kind = _kind(passages)
    several = len({one.speaker for one in passages if one.role == "assistant"}) > 1
    agents = kind is Kind.TOOLS or (kind is Kind.ASSISTANT and several)
    uptake = Uptake(passages) if agents else None
    assisted, heavy = _is_assisted(passages), _heavy(passages)
    recorded, repeated = _answered(passages), set[int]()
    found: list[tuple[Unit, int]] = []
    worded: defaultdict[tuple[str, str], list[tuple[Unit, int]]] = defaultdict(list)
    asked_by, asked = "", ""
    for place, passage in enumerate(passages):
        text = " ".join(passage.said.split())
        of_agent = agents and passage.role == "assistant"
        page = of_agent and is_page(passage.said)
        weight = _USERS if passage.speaker in heavy else 1.0
        if assisted and passage.role == "user" and place + 1 < len(passages) and _is_hollow(text):
            weight = _HOLLOW
        if _is_denied(passages, place):
            weight *= _DENIED
        answers = asked_by not in ("", passage.speaker) or (place > 0 and _is_denied(passages, place - 1))
        share = _WHOLE_SHARE if not assisted or passage.role == "user" else _WHOLE_SHARE_OF_ANSWERS
        most = _ELLIPTICAL_REPLY if assisted and passage.role == "assistant" else _ELLIPTICAL
        question = asked if answers and _depends(text, most) else ""
        about = _referent(passages, place) if assisted and question and _REFERS.search(question) else ""
        quotes = ((place - 1, question), *([(place - 2, about)] if about else [])) if question else ()
        bare = _line(_label(passage, text), text)
        line = _line(_label(passage, text, question, about), text)
        value = text if assisted else f"{about} {question} {text}".strip()
        whole = Unit(line, value, place, answers, weight, quotes, bare)
        idle = is_idle(text) and not (question and passage.role == "user")
        if idle or place in recorded or (of_agent and all(map(is_announced, sentences(text)))):
            pass
        elif not page and count(_line(passage.speaker, text) + "\n") <= max(
            most_tokens // share, min(_SHORT, most_tokens // 2)
        ):
            found.append((whole, count(whole.line + "\n")))
            if assisted and _is_hollow(question) and question == " ".join(passages[place - 1].said.split()):
                repeated.add(place - 1)
        elif passage.role == "tool":
            room = most_tokens // min(_RECORD_SHARE, len(passages))
            text, tokens = _fitting(passage.speaker, partial(outcome, passage.said), room, count)
            if tokens <= room:
                found.append((Unit(_line(passage.speaker, text), text, place), tokens))
        else:
            for part in parts(page_text(passage.said) if of_agent else passage.said):
                if of_agent and is_announced(part):
                    continue
                line = _line(_label(passage, part), part)
                of_part = (
                    _weight_of_agent(part, place, uptake, page=page, alone=not several)
                    if uptake and of_agent
                    else weight
                )
                found.append((Unit(line, part, place, weight=of_part), count(line + "\n")))
                if page:
                    worded[passage.speaker, opening(part)].append(found[-1])
        requests = assisted and passage.role == "user"
        asked_by = passage.speaker if questions(text) or requests else ""
        asked = _question(passage.said, requests=requests) if asked_by else ""
    old = {id(one) for alike in worded.values() if len(alike) >= _LEAST_ALIKE for one in alike[:-1]}
    last = {unit.text: unit.line for unit, _ in found} if agents else {}
    # The answer shows them, a later sentence says how it stands now, or another agent passes on what one thought.
    return [
        one
        for one in found
        if one[0].passage not in repeated and id(one) not in old and last.get(one[0].text, one[0].line) == one[0].line
    ]


def _is_assisted(passages: Sequence[Passage]) -> bool:
    """Whether users talk to an assistant or to agents with tools, not to each other."""
    return _kind(passages) is not Kind.PEOPLE or any(one.role == one.speaker == "assistant" for one in passages)


def _heavy(passages: Sequence[Passage]) -> frozenset[str]:
    """Speakers whose words count twice: the one user of an assistant.

    Several users also write to each other, and the assistant's notes of what they agree on count as much.
    """
    users = {one.speaker for one in passages if one.role == "user"}
    return frozenset({"user", *users}) if len(users) == 1 and _is_assisted(passages) else frozenset()


def _is_hollow(text: str) -> bool:
    """Whether a text only asks, and gives neither a number nor a time to go by."""
    return bool(text) and all(map(asks, sentences(text))) and not numbers(words(text)) and not times(text)


def _is_denied(passages: Sequence[Passage], place: int) -> bool:
    """Whether the next speaker denies what a message states; of a question, "no" is an answer."""
    stated, reply = passages[place], passages[place + 1] if place + 1 < len(passages) else None
    if reply is None or reply.speaker == stated.speaker or len(stated.said) > _LONGEST_DENIED:
        return False
    return bool(_DENIAL.match(reply.said)) and not asks(stated.said.rstrip())


def _weight_of_agent(part: str, place: int, uptake: Uptake, *, page: bool, alone: bool) -> float:
    """Conclusions count more; entries, and sentences of a page, count less unless a later message takes them up.

    What a lone agent lists is for its user, who may answer without a name ("the first one"), and totals decide.
    """
    if _OUTCOME.search(part):
        return _OUTCOMES
    if uptake.takes_up(part, place):
        return 1.0
    if alone and not page:
        return 1.0 if is_sentence(part) or _TOTAL.search(part) else _OFFERED
    return _QUOTED if page and is_sentence(part) else 1.0 if is_sentence(part) else _LISTED


def _records(passages: Sequence[Passage], most_tokens: int, count: CountText) -> Iterator[tuple[Unit, int]]:
    room = max(most_tokens // min(_RECORD_SHARE, max(1, len(passages))), min(_SHORT, most_tokens // 3))
    for record in records(passages):
        text, tokens = _fitting("tool", record.text, room, count)
        if text and tokens <= room:
            weight = _CHANGES if record.named or is_change(record.call.name) else 1.0
            yield Unit(_line("tool", text), text, record.place, weight=weight), tokens


def _fitting(speaker: str, write: Callable[[int], str], most_tokens: int, count: CountText) -> tuple[str, int]:
    """Writes a record with fewer characters until it fits, with its tokens; it may still not fit in the end."""
    characters = most_tokens * _RECORD_CHARACTERS
    for _ in range(_RECORD_TRIES):
        text = write(characters)
        if (tokens := count(_line(speaker, text) + "\n")) <= most_tokens:
            break
        characters = characters * most_tokens * 9 // (tokens * 10)
    return text, tokens


def _kind(passages: Sequence[Passage]) -> Kind:
    lengths = Counter[str]()
    for passage in passages:
        lengths[passage.role] += len(passage.said)
    tools = sum(passage.role == "tool" or bool(passage.calls) for passage in passages)
    return Composition(lengths["user"], lengths["assistant"], len(passages), tools).kind


def _answered(passages: Sequence[Passage]) -> set[int]:
    """Indexes of results that a record shows with their call."""
    called = set[str]()
    found = set[int]()
    for place, passage in enumerate(passages):
        if passage.answers in called:
            found.add(place)
        called |= {call.id for call in passage.calls}
    return found


def _label(passage: Passage, text: str, question: str = "", about: str = "") -> str:
    """The speaker, the question that the text answers with what that is about, and the dates of its relative times."""
    dates = [f"{words} = {date}" for words, date in absolute_dates(text, passage.at).items()]
    asked = f"asked “{question}” after “{about}”" if about else f"asked “{question}”"
    notes = "; ".join([*([asked] if question else []), *dates])
    return f"{passage.speaker} ({notes})" if notes else passage.speaker


def _referent(passages: Sequence[Passage], place: int) -> str:
    """What the question right before a reply refers to: the reply before it, if that is short."""
    before = passages[place - 2] if place >= 2 else None
    said = " ".join(before.said.split()) if before and before.role == "assistant" else ""
    return said if len(said) <= _LONGEST_QUESTION and not is_idle(said) else ""


def _line(speaker: str, text: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def _depends(text: str, most_words: int) -> bool:
    """Whether an answer says little without its question."""
    most = most_words + 3 * (_YES_OR_NO.match(text) is not None)
    return len(text) <= 3 * most if CJK.search(text) else len(words(text)) <= most


def _question(text: str, *, requests: bool) -> str:
    """The last question of a message, or request; empty if it is long."""
    said = list(sentences(text))
    found = [one for one in said if questions(one) or (requests and (asks(one) or _REQUEST.search(one)))]
    return found[-1] if found and len(found[-1]) <= _LONGEST_QUESTION and not is_idle(found[-1]) else ""
