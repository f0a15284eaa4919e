"""What a benchmark tells."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Cell = str | int | float | None
"""Text, a figure, or nothing to tell."""


@dataclass(frozen=True)
class Table:
    """Figures for people. The same figures are in the results, as JSON."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    """Floats are shown with one decimal; a benchmark that needs more writes text."""


@dataclass(frozen=True)
class Outcome:
    """Figures of one run, and whether they mean anything."""

    gate_passed: bool
    """Whether what was measured also did its work."""
    results: Mapping[str, Any]
    """Figures, as JSON."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the figures depend on, as JSON."""
    tables: Sequence[Table] = ()
    """How people see the results."""


def percentile_ms(took: Sequence[float], share: float) -> float:
    """Of durations in seconds; `share` is 0.99 for the 99th percentile."""
    return round(sorted(took)[int(len(took) * share)] * 1_000, 2)


def machine() -> dict[str, Any]:
    """On what the figures were measured."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "machine": platform.machine()}
