"""Conversations with questions and the messages that answer them, from the data sets."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from purser.benchmarks.data import Row, rows
from purser.context.conversation.messages import Message
from purser.context.retrieval.dates import date_terms, dates_in, is_day

Place = tuple[str, int]
"""Session, and position of a message in it."""


@dataclass(frozen=True)
class Corpus:
    """Conversations that are searched together, as sessions of one user, and questions about them."""

    sessions: Mapping[str, Sequence[Message]]
    questions: Sequence[tuple[str, frozenset[Place]]]
    """Questions with their evidence."""


def corpora(data: Path) -> dict[str, list[Corpus]]:
    """The corpora of each installed set; LoCoMo must be there.

    Raises:
        MissingData: LoCoMo is missing.
    """
    found = {"locomo": [_annotated(row) for row in rows(data, "locomo", having="qa")]}
    for name, read in _SETS.items():
        if (data / name).is_dir():
            found |= {f"{name} {part}".strip(): list(read_part) for part, read_part in read(data).items()}
    return found


def message(row: Row) -> Message:
    """A message of a data set: its text with the caption of its image, its speaker and its time."""
    caption = row.get("image_caption")
    text = f"{row['content']}\n{caption}" if caption else row["content"]
    return Message(row["role"], text, name=row.get("name"), created_at=_time(row.get("time")))


def _annotated(row: Row) -> Corpus:
    """A conversation whose questions name their evidence by `turn_id`."""
    at = {one["turn_id"]: (row["id"], place) for place, one in enumerate(row["messages"])}
    missing = (row["id"], -1)
    questions = [(one["question"], frozenset(at.get(turn, missing) for turn in one["evidence"])) for one in row["qa"]]
    return Corpus({row["id"]: [message(one) for one in row["messages"]]}, questions)


def _bfcl(data: Path) -> dict[str, list[Corpus]]:
    return {"": [_annotated(row) for row in rows(data, "bfcl_memory", having="qa")]}


def _kdconv(data: Path) -> dict[str, list[Corpus]]:
    """Dialogues of a domain together: a message answers questions about the attributes that it is annotated with."""
    domains: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows(data, "kdconv"):
        domains[row["domain"]].append(row)
    return {"": [_asked(given, _attributes) for given in domains.values()]}


def _crosswoz(data: Path) -> dict[str, list[Corpus]]:
    """A hundred dialogues together: a message answers questions about what it states of the place recommended last."""
    given = rows(data, "crosswoz")
    return {"": [_asked(given[first : first + 100], _stated) for first in range(0, len(given), 100)]}


def _memorybank(data: Path) -> dict[str, list[Corpus]]:
    """Chats of ten days: for a question that names a day, its messages. Other questions have no evidence."""
    parts: defaultdict[str, list[Corpus]] = defaultdict(list)
    for row in rows(data, "memorybank", having="qa"):
        messages = [message(one) for one in row["messages"]]
        questions = []
        for question in (one["question"] for one in row["qa"]):
            day = next(filter(is_day, dates_in(question)), None)
            that_day = frozenset(
                (row["id"], place)
                for place, one in enumerate(messages)
                if one.created_at and day in date_terms(one.created_at.date())
            )
            if that_day:
                questions.append((question, that_day))
        if questions:
            parts[row["lang"]].append(Corpus({row["id"]: messages}, questions))
    return dict(parts)


_SETS: dict[str, Callable[[Path], dict[str, list[Corpus]]]] = {
    "bfcl_memory": _bfcl,
    "kdconv": _kdconv,
    "crosswoz": _crosswoz,
    "memorybank": _memorybank,
}


def _asked(given: Sequence[Row], answered: Callable[[Row], Iterator[tuple[int, str]]]) -> Corpus:
    evidence: defaultdict[str, set[Place]] = defaultdict(set)
    for row in given:
        for place, question in answered(row):
            evidence[question].add((row["id"], place))
    sessions = {row["id"]: [message(one) for one in row["messages"]] for row in given}
    return Corpus(sessions, [(question, frozenset(places)) for question, places in evidence.items()])


def _attributes(row: Row) -> Iterator[tuple[int, str]]:
    """Questions such as "北京的面积是什么？", with the messages that answer them."""
    for place, one in enumerate(row["messages"]):
        for attribute in one.get("attrs", ()):
            # `Information` is a whole article; a message may state any part of it.
            if attribute["attrname"] != "Information":
                yield place, f"{re.split('[（(]', attribute['name'])[0]}的{attribute['attrname']}是什么？"


_RECOMMENDED = re.compile(
    r"推荐(?:您|你)?(?:去|入住|到)?(?:的是)?([^，。,！!、]{2,20}?)(?:用餐|游玩|住宿|入住|吃饭|就餐|[，。,！!]|$)"
)
_STATES = re.compile(r"(电话|地址|评分|门票|票价|人均消费|营业时间|价格|游玩时间|酒店类型|推荐菜)(?:是|为|:|：)")


def _stated(row: Row) -> Iterator[tuple[int, str]]:
    named = None
    for place, one in enumerate(row["messages"]):
        if one["role"] == "assistant":
            named = next(iter(reversed(_RECOMMENDED.findall(one["content"]))), named)
            if named:
                yield from ((place, f"{named}的{attribute}是什么？") for attribute in _STATES.findall(one["content"]))


def _time(text: str | None) -> datetime | None:
    """The time of a message as LoCoMo and MemoryBank write it, such as `1:56 pm on 8 May, 2023` or `2023-05-08`."""
    for form in ("%I:%M %p on %d %B, %Y", "%Y-%m-%d"):
        try:
            return datetime.strptime(text or "", form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
