"""The outcome of a benchmark: results, tables, and whether its gate passed."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Cell = str | int | float | None
"""Text, a figure, or None for an empty cell."""


@dataclass(frozen=True)
class Table:
    """Figures as a readable table. The same figures are in the results, as JSON."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    """Floats are shown with one decimal; a benchmark that needs more formats them as text."""


@dataclass(frozen=True)
class Outcome:
    """Figures of one run, and whether they are valid."""

    gate_passed: bool
    """Whether the measured work was also correct."""
    results: Mapping[str, Any]
    """The figures, as JSON."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters on which the figures depend, as JSON."""
    tables: Sequence[Table] = ()
    """The results as readable tables."""


def gate_table(gate: Mapping[str, bool]) -> Table:
    """Tabulates what a gate requires, and whether it holds."""
    return Table("gate", ("what", "holds"), list(gate.items()))


def percentile_ms(took: Sequence[float], share: float) -> float:
    """A percentile, in milliseconds, of durations in seconds; `share` is 0.99 for the 99th."""
    return round(sorted(took)[int(len(took) * share)] * 1_000, 2)


def machine() -> dict[str, Any]:
    """The machine on which the figures were measured."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "machine": platform.machine()}
