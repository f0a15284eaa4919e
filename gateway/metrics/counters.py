"""Request statistics of this process since its start, from its own counters."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample


@dataclass(frozen=True, slots=True)
class Answered:
    """Request statistics of one process."""

    requests: int
    by_class: Mapping[str, int]
    """Requests by `2xx`, `4xx`, …; `gone`: the client disconnected."""
    p50_s: float | None
    p95_s: float | None
    """Median and 95th percentile of the time to the start of the response, interpolated from a histogram; `None`:
    beyond its last bucket, or no requests."""


def answered(registry: CollectorRegistry) -> Answered:
    """Sums a registry's counters over routes and methods."""
    samples = [sample for metric in registry.collect() for sample in metric.samples]
    classes: Counter[str] = Counter()
    for sample in samples:
        if sample.name == "purser_http_requests_total":
            status = sample.labels["status"]
            classes["gone" if status == "0" else f"{status[:1]}xx"] += int(sample.value)
    steps = _steps(samples)
    return Answered(sum(classes.values()), dict(sorted(classes.items())), quantile(steps, 0.5), quantile(steps, 0.95))


def _steps(samples: Iterable[Sample]) -> list[tuple[float, float]]:
    found: Counter[float] = Counter()
    for sample in samples:
        if sample.name == "purser_http_request_seconds_bucket":
            found[float(sample.labels["le"])] += sample.value  # type: ignore[assignment] # counts are floats
    return sorted(found.items())


def quantile(steps: list[tuple[float, float]], share: float) -> float | None:
    """A quantile of a cumulative histogram, interpolated linearly; `None` beyond the last bucket."""
    if not steps or steps[-1][1] == 0:
        return None
    wanted = steps[-1][1] * share
    for (begin, below), (end, upto) in pairwise([(0.0, 0.0), *steps]):
        if upto >= wanted:
            return None if end == float("inf") else begin + (end - begin) * (wanted - below) / ((upto - below) or 1)
    return None
