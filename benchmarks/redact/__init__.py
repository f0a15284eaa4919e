"""Recall and false alarms of redaction, compared with the seven patterns of Shannon.

A table of texts from ten countries (`table`), half of them without personal data.
Personal data in labelled sentences (`pii_synth`), dates in airline transcripts (`tau_airline`), landlines in Chinese
dialogues (`crosswoz`), and replacements in logs of agents (`whowhen`, `sweagent`), which contain little personal data.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from purser.benchmarks.data import Row, rows
from purser.benchmarks.outcome import Cell, Outcome, Table
from purser.benchmarks.progress import log_step
from purser.benchmarks.redact.table import PLACEHOLDER, Score, score, table
from purser.context.redaction import Redactor

KINDS = {
    "EMAIL_ADDRESS": "EMAIL",
    "CREDIT_CARD": "CARD",
    "IBAN_CODE": "IBAN",
    "US_SSN": "SSN",
    "IP_ADDRESS": "IP",
    "PHONE_NUMBER": "PHONE",
}
"""Purser's labels for the types of structured data in the labelled sentences."""
STRUCTURED = {*KINDS, "US_DRIVER_LICENSE"}
WHOLE = ("EMAIL", "CARD", "IBAN", "SSN")
"""The gate requires that every value of these kinds is found with the right label."""
PHONES = 0.87
"""The gate requires at least this share of the phone numbers."""
FALSE_ALARMS = 8 / 575
"""The gate allows changes in at most this share of the sentences without structured data, and of no date."""

# From the published description of Shannon. On the same data these patterns give the published counts: 2,016 phone
# numbers in the texts of tau_airline (without arguments of calls), 879 in whowhen, 435 in crosswoz.
SHANNON = {
    "EMAIL": r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
    "PHONE": r"\+?[0-9][0-9\-\s()]{8,}[0-9]",
    "SSN": r"\b\d{3}-\d{2}-\d{4}\b",
    "CARD": r"\b\d{4}[\s-]?\d{4}[\s-]?\d{4}[\s-]?\d{4}\b",
    "IP": r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    "API_KEY": r"(?i)(?:api[_-]?key|token)[\"'\s:=]+[a-zA-Z0-9_-]{20,}",
    "SECRET": r"(?i)(?:password|secret)[\"'\s:=]+\S{8,}",
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?")
_LANDLINE = re.compile(r"(?<!\d)010-?\d{8}(?!\d)")

Redact = Callable[[str], str]


@dataclass(frozen=True)
class Recall:
    """How many values of one kind were found."""

    there: int
    removed: int
    """Values that are no longer in the text."""
    right: int
    """Removed values that were replaced by the right label."""


@dataclass(frozen=True)
class Figures:
    """Figures of one redactor on all sets."""

    found: Mapping[str, Recall]
    sentences: int
    """Sentences without structured data."""
    false_alarms: int
    """Sentences of these that were changed."""
    dates: int
    dates_changed: int
    landlines: Recall
    replaced: Mapping[str, Mapping[str, int]]
    """Replacements by set and label."""
    table: Score

    @property
    def gate_passed(self) -> bool:
        """Whether recall is sufficient and false alarms are few enough."""
        phones = self.found["PHONE"]
        return (
            all(self.found[label].right == self.found[label].there for label in WHOLE)
            and phones.right >= PHONES * phones.there
            and self.false_alarms <= FALSE_ALARMS * self.sentences
            and self.dates_changed == 0
            and self.table.gate_passed
        )


def run(data: Path | None) -> Outcome:
    """Measures Purser's redactor and Shannon's patterns."""
    redactors: Mapping[str, Redact] = {"purser": lambda text: Redactor().redact(text), "shannon": shannon}
    figures: dict[str, Figures] = {}
    for name, redact in redactors.items():
        log_step(f"all sets by {name}")
        figures[name] = measure(data, redact)
    return Outcome(
        gate_passed=figures["purser"].gate_passed,
        results={name: asdict(one) for name, one in figures.items()},
        tables=[_recall_table(figures), _alarm_table(figures), _country_table(figures)],
    )


def measure(data: Path | None, redact: Redact) -> Figures:
    """Measures one redactor on all sets."""
    redact = cache(redact)  # most texts count towards several figures
    sentences = rows(data, "pii_synth", "spans")
    plain = [row["text"] for row in sentences if not STRUCTURED & {span["type"] for span in row["spans"]}]
    dates = list(_changes(_texts(data, "tau_airline"), _DATE, redact))
    landlines = list(_changes(_texts(data, "crosswoz"), _LANDLINE, redact))
    numbers = sum(there for there, _, _ in landlines)
    left = sum(left for _, left, _ in landlines)
    return Figures(
        found={label: _recall(sentences, kind, label, redact) for kind, label in KINDS.items()},
        sentences=len(plain),
        false_alarms=sum(redact(text) != text for text in plain),
        dates=sum(there for there, _, _ in dates),
        dates_changed=sum(there - left for there, left, _ in dates),
        landlines=Recall(numbers, numbers - left, sum(min(there - left, labels) for there, left, labels in landlines)),
        replaced={name: _replaced(_texts(data, name), redact) for name in ("tau_airline", "whowhen", "sweagent")},
        table=score(table(), redact),
    )


def shannon(text: str) -> str:
    """The text redacted by Shannon's patterns, with Purser's labels."""
    for label, pattern in SHANNON.items():
        text = re.sub(pattern, f"[{label}_1]", text)
    return text


def _recall(sentences: Iterable[Row], kind: str, label: str, redact: Redact) -> Recall:
    there = removed = right = 0
    for row in sentences:
        values = [span["value"] for span in row["spans"] if span["type"] == kind]
        if values:
            text = redact(row["text"])
            gone = sum(value not in text for value in values)
            there, removed = there + len(values), removed + gone
            right += min(gone, _labels(text)[label])
    return Recall(there, removed, right)


def _changes(texts: Iterable[str], pattern: re.Pattern[str], redact: Redact) -> Iterator[tuple[int, int, int]]:
    """For each text with matches of a pattern: their number, how many remain, and placeholders of phone numbers."""
    for text in texts:
        if before := Counter(pattern.findall(text)):
            after = redact(text)
            yield before.total(), (before & Counter(pattern.findall(after))).total(), _labels(after)["PHONE"]


def _replaced(texts: Iterable[str], redact: Redact) -> dict[str, int]:
    return dict(sum((_labels(redact(text)) for text in texts), Counter[str]()))


def _labels(text: str) -> Counter[str]:
    return Counter(re.findall(PLACEHOLDER, text))


def _texts(data: Path | None, name: str) -> Iterator[str]:
    for row in rows(data, name):
        for message in row["messages"]:
            yield message["content"] or ""
            yield from (call["function"]["arguments"] for call in message.get("tool_calls") or ())


def _recall_table(figures: Mapping[str, Figures]) -> Table:
    ours, theirs = figures["purser"], figures["shannon"]
    found = {label: (ours.found[label], theirs.found[label]) for label in KINDS.values()}
    found["PHONE, 010 landlines"] = ours.landlines, theirs.landlines
    return Table(
        "Values found",
        ("", "there", "purser: removed", "right label", "shannon: removed", "right label"),
        [(name, one.there, one.removed, one.right, two.removed, two.right) for name, (one, two) in found.items()],
    )


def _alarm_table(figures: Mapping[str, Figures]) -> Table:
    ours, theirs = figures["purser"], figures["shannon"]
    shown = [
        (f"sentences changed, of {ours.sentences} without structured data", ours.false_alarms, theirs.false_alarms),
        (f"dates and times changed, of {ours.dates} in tau_airline", ours.dates_changed, theirs.dates_changed),
    ]
    for name, labels in ours.replaced.items():
        others = theirs.replaced[name]
        shown += [
            (f"{name}: {label}", labels.get(label, 0), others.get(label, 0)) for label in sorted({*labels, *others})
        ]
    return Table("Left alone", ("", "purser", "shannon"), shown)


def _country_table(figures: Mapping[str, Figures]) -> Table:
    ours, theirs = figures["purser"].table, figures["shannon"].table
    shown: list[tuple[str, Cell, Cell]] = [
        (f"{label}, of {there}", right, theirs.by_label[label][1]) for label, (there, right) in ours.by_label.items()
    ]
    shown += [
        (f"recall, of {ours.values} values", f"{ours.recall:.1%}", f"{theirs.recall:.1%}"),
        ("precision", f"{ours.precision:.1%}", f"{theirs.precision:.1%}"),
        (f"texts changed, of {ours.plain} without personal data", ours.changed, theirs.changed),
    ]
    return Table("Texts of ten countries, right label", ("", "purser", "shannon"), shown)
