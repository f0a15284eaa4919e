"""Counters and histograms of one registry."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram


class Instruments:
    """Makes the metrics of one registry; their names begin with `purser_`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def counter(self, name: str, text: str, *labels: str, values: Iterable[str] = ()) -> Counter:
        """Makes a counter.

        Args:
            name, text: its name without the prefix, and what it counts.
            labels: names of its labels.
            values: values of its only label that show 0 from the beginning.
        """
        made = Counter(f"purser_{name}", text, labels, registry=self._registry)
        for value in values:
            made.labels(value)
        return made

    def histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        """Makes a histogram."""
        return Histogram(f"purser_{name}", text, labels, buckets=buckets, registry=self._registry)
