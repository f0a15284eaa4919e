"""What was measured on each way to the provider, and how the ways compare."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from purser.benchmarks.closed_loops import Measured
from purser.benchmarks.limiters.load import TIGHT, Overload
from purser.benchmarks.outcome import Outcome, Table, gate_table

PURSER, LITELLM = "Purser", "LiteLLM"
ADDED_MS, TIMES = 5.0, 2.0
"""Targets: most that Purser adds to the median of one caller, and least times the rate of LiteLLM's proxy."""


@dataclass(frozen=True)
class Line:
    """Calls of as many callers, straight to the provider and through proxies."""

    callers: int
    streams: bool
    bare: Measured
    through: Mapping[str, Measured]
    """By name of the proxy."""

    @property
    def answered(self) -> bool:
        """Whether every call, straight and through Purser, was answered with a reply."""
        return _failed(self.bare) == _failed(self.through[PURSER]) == 0

    @property
    def times(self) -> float | None:
        """Purser's rate over LiteLLM's; none if LiteLLM's was not measured."""
        peer = self.through.get(LITELLM)
        return round(self.through[PURSER].rate / peer.rate, 2) if peer else None

    def added_p50_ms(self, name: str) -> float:
        """What a proxy adds to the median."""
        return round(self.through[name].p50_ms() - self.bare.p50_ms(), 2)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The figures of each way, as JSON."""
        yield self._row("straight", self.bare, 0.0)
        for name, measured in self.through.items():
            yield self._row(name, measured, self.added_p50_ms(name))

    def _row(self, way: str, measured: Measured, added: float) -> dict[str, Any]:
        return {
            "callers": self.callers,
            "streams": self.streams,
            "way": way,
            "p50_ms": measured.p50_ms(),
            "p99_ms": measured.p99_ms(),
            "added_p50_ms": added,
            "per_s": round(measured.rate, 1),
            "failed": _failed(measured),
        }


def outcome_of(
    lines: Sequence[Line], tight: Mapping[str, Overload], gate: Mapping[str, bool], settings: Mapping[str, Any]
) -> Outcome:
    """The figures of a run. What LiteLLM's proxy overspends fails nothing."""
    rows = [row for line in lines for row in line.rows()]
    spending = [{"way": name, **asdict(one), "fits": TIGHT, "overspent": one.overspent} for name, one in tight.items()]
    alone = [line for line in lines if line.callers == 1]
    targets = [
        *(
            _target(line, "added p50 ms of Purser", f"{line.added_p50_ms(PURSER):.2f}", f"≤ {ADDED_MS:g}")
            for line in alone
        ),
        *(_target(line, "rate, times LiteLLM's", f"{line.times:.2f}", f"≥ {TIMES:g}") for line in lines if line.times),
    ]
    columns = ("callers", "streams", "way", "p50 ms", "p99 ms", "added p50 ms", "calls/s", "failed")
    return Outcome(
        gate_passed=all(gate.values()),
        results={
            "lines": rows,
            "added_p50_ms": {_kind(line): line.added_p50_ms(PURSER) for line in alone},
            "times_litellm": [
                {"callers": line.callers, "streams": line.streams, "times": line.times} for line in lines if line.times
            ],
            "targets": {"added_p50_ms": ADDED_MS, "times_litellm": TIMES},
            "tight_budget": spending,
            "gate": dict(gate),
        },
        settings=settings,
        tables=[
            Table("calls with room", columns, [tuple(row.values()) for row in rows]),
            Table("targets", ("callers", "streams", "figure", "measured", "target"), targets),
            Table(
                "a budget that is too small, in calls", tuple(spending[0]), [tuple(one.values()) for one in spending]
            ),
            gate_table(gate),
        ],
    )


def _failed(measured: Measured) -> int:
    """Calls without a reply."""
    return measured.answers.total() - measured.answers[200]


def _kind(line: Line) -> str:
    return "streams" if line.streams else "answers"


def _target(line: Line, figure: str, measured: str, target: str) -> tuple[int, bool, str, str, str]:
    return line.callers, line.streams, figure, measured, target
