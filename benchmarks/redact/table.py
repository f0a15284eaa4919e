"""The table of redaction: texts with marked values, and texts without personal data, by country.

A row is `LABEL … | text`, with one label for each marked ‹value› in order, or `- | text`, which must not change.
⏎ is a line break and ␣ a zero-width space.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files

RECALL, PRECISION = 0.98, 0.97
"""The gate requires these shares; precision also of the texts without personal data that stay as they are."""
_VALUE = re.compile("‹([^›]*)›")
_SIGNS = str.maketrans({"⏎": "\n", "␣": "\u200b"})
PLACEHOLDER = r"\[([A-Z_]+)_\d+\]"


@dataclass(frozen=True)
class Row:
    """A text and what is to be found in it."""

    place: str
    """File and line."""
    text: str
    labels: tuple[str, ...]
    between: tuple[str, ...]
    """What stays: before, between and after the marked values."""


@dataclass(frozen=True)
class Score:
    """What was found in a table."""

    values: int
    right: int
    """Values replaced as a whole, by the right label."""
    wrong: int
    """Other replacements."""
    plain: int
    """Texts without personal data."""
    changed: int
    """Texts of these that were changed."""
    by_label: dict[str, tuple[int, int]]
    """Values and right ones of each label."""
    failures: tuple[str, ...]
    """Place, text and result of each row that is not right."""

    @property
    def recall(self) -> float:
        """Share of the values that were found."""
        return self.right / self.values

    @property
    def precision(self) -> float:
        """Share of the replacements that are right."""
        return self.right / (self.right + self.wrong)

    @property
    def gate_passed(self) -> bool:
        """Whether enough is found, and enough left alone."""
        untouched = 1 - self.changed / self.plain
        return self.recall >= RECALL and min(self.precision, untouched) >= PRECISION


def table() -> list[Row]:
    """All rows of all countries."""
    places = sorted((files("purser.benchmarks.redact") / "texts").iterdir(), key=lambda place: place.name)
    return [row for place in places for row in read(place.name, place.read_text(encoding="utf-8"))]


def read(name: str, text: str) -> Iterator[Row]:
    """The rows of a file."""
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            labels, _, marked = line.translate(_SIGNS).partition(" | ")
            yield Row(
                place=f"{name}:{number}",
                text=marked.replace("‹", "").replace("›", ""),
                labels=() if labels == "-" else tuple(labels.split()),
                between=tuple(_VALUE.split(marked)[::2]),
            )


def score(rows: Iterable[Row], redact: Callable[[str], str]) -> Score:
    """Redacts the texts of all rows."""
    there, found, failures = Counter[str](), Counter[str](), []
    wrong = plain = changed = 0
    for row in rows:
        result = redact(row.text)
        right = _right(row, result)
        there.update(row.labels)
        found.update(right)
        others = Counter(re.findall(PLACEHOLDER, result)).total() - len(right)
        wrong += others
        plain += not row.labels
        changed += not row.labels and result != row.text
        if others or len(right) < len(row.labels):
            failures.append(f"{row.place} {row.text!r} -> {result!r}")
    by_label = {label: (there[label], found[label]) for label in sorted(there)}
    return Score(there.total(), found.total(), wrong, plain, changed, by_label, tuple(failures))


def _right(row: Row, result: str) -> list[str]:
    """The labels of the values that were replaced as a whole, by a placeholder of their label."""
    match = re.fullmatch("(.*?)".join(map(re.escape, row.between)), result, re.DOTALL)
    if match is None:
        return []
    expected = [
        (label, re.fullmatch(PLACEHOLDER, written)) for label, written in zip(row.labels, match.groups(), strict=True)
    ]
    return [label for label, placeholder in expected if placeholder and placeholder[1] == label]
