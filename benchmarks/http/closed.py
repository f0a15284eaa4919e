"""Closed loops of holds and settlements: each connection sends its next request once it has an answer."""

from dataclasses import dataclass
from random import Random

import uvloop

from purser.benchmarks.closed_loops import call_in_loops
from purser.benchmarks.http.load import LoadResult, clients_of
from purser.benchmarks.http.mix import Record, Target
from purser.benchmarks.outcome import Table, percentile_ms

CONNECTIONS = (1, 16, 64)


@dataclass(frozen=True)
class Point:
    """The figures of so many connections."""

    connections: int
    requests_per_second: float
    p50_ms: float
    p99_ms: float
    hold_p50_ms: float
    hold_p99_ms: float
    settle_p50_ms: float
    settle_p99_ms: float
    gateway_cpu_us: float
    """Processor time of the gateway per request."""
    postgres_cpu_us: float

    @classmethod
    def of(cls, connections: int, result: LoadResult, cpu_s: dict[str, float]) -> "Point":
        """Reads the figures of a run."""
        took = {"all": result.record.all} | result.record.took
        figures = {
            name: [percentile_ms(took.get(name) or [0.0], share) for share in (0.50, 0.99)]
            for name in ("all", "hold", "settle")
        }
        cpu = (round(cpu_s[name] / max(1, result.requests) * 1e6) for name in ("gateway", "postgres"))
        return cls(connections, round(result.rate, 1), *figures["all"], *figures["hold"], *figures["settle"], *cpu)


def call_in_turns(target: Target, name: str, connections: int, seconds: float, seed: int) -> LoadResult:
    """Holds and settles on so many connections for some seconds. Entry point of a client process."""
    return uvloop.run(_call_in_turns(target, name, connections, seconds, seed))


async def _call_in_turns(target: Target, name: str, connections: int, seconds: float, seed: int) -> LoadResult:
    record = Record()
    async with clients_of(target, record, name, Random(seed), connections) as clients:
        found = await call_in_loops(lambda: clients.tried(clients.call), callers=connections, seconds=seconds)
    return LoadResult(record, len(record.all), found.seconds, gave_up=False)


def table(points: list[Point]) -> Table:
    """All points as a table."""
    return Table(
        "closed loops of holds and settlements",
        ("connections", "requests/s", "p50 ms", "p99 ms", "hold p50", "hold p99", "settle p50", "settle p99",
         "gateway µs", "Postgres µs"),
        [tuple(vars(point).values()) for point in points],
    )  # fmt: skip
