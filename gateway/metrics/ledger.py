"""Collector of ledger metrics. Figures are read on a scrape and cached for a few seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from purser.budget.postgres.reports.burn import Burn, Exhausting
from purser.budget.postgres.reports.exporter import Exporter, Figures
from purser.gateway.metrics.families import exhausting, families
from purser.gateway.postgres.delivery_figures import DeliveryFigures, delivery_figures

T = TypeVar("T")
_CANCEL_GRACE_S = 1.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals of reading figures, in seconds."""

    fresh_s: float = 3
    """Time for which figures are cached, or that they could not be read."""
    scan_every_s: float = 60
    """Time between two scans of all balances, for drift and for scopes that are exhausted soon."""
    timeout_s: float = 7
    """Time after which the database counts as unavailable; less than the timeout of a scraper."""


@dataclass(frozen=True, slots=True)
class _Read:
    figures: Figures
    deliveries: DeliveryFigures
    seconds: float


class LedgerMetrics(Collector):
    """Collects figures from the database that all processes share. If they cannot be read, their series are absent."""

    def __init__(self, exporter: Exporter, burn: Burn, pace: Pace | None = None) -> None:
        """Args:
        exporter, burn: readers of the same database.
        pace: intervals of reading.
        """
        pace = pace or Pace()
        self.registry = CollectorRegistry()
        self._exporter = exporter
        self._timeout_s = pace.timeout_s
        self._figures = _Cached(self._everything, pace.fresh_s, pace.timeout_s)
        self._drift = _Cached(lambda: exporter.drift(pace.timeout_s), pace.scan_every_s, pace.timeout_s)
        self._exhausting = _Cached(burn.exhausting, pace.scan_every_s, pace.timeout_s)
        self._shown: tuple[_Read | None, int | None, list[Exhausting] | None] = None, None, None
        self.registry.register(self)

    async def text(self) -> bytes:
        """The families in the text format. Reads what is not cached any more; returns in time even if the database
        does not answer."""
        values = self._figures.value(), self._drift.value(), self._exhausting.value()
        self._shown = await asyncio.gather(*values)
        return generate_latest(self.registry)

    async def _everything(self) -> _Read:
        began = monotonic()
        figures = await self._exporter.figures(self._timeout_s)
        deliveries = await delivery_figures(self._exporter.pool)
        return _Read(figures, deliveries, monotonic() - began)

    def collect(self) -> Iterator[Metric]:
        """The families as they were read last."""
        read, drift, soon = self._shown
        yield GaugeMetricFamily(
            "purser_exporter_up",
            "Whether the figures of the ledger could be read. At 0 they are left out.",
            0 if read is None else 1,
        )
        if drift is not None:
            yield GaugeMetricFamily(
                "purser_ledger_drift_balances", "Balances that are not what their last entry says.", drift
            )
        if soon is not None:
            yield exhausting(soon)
        if read is not None:
            yield GaugeMetricFamily("purser_exporter_read_seconds", "How long reading them took.", read.seconds)
            yield from families(read.figures, read.deliveries)


class _Cached(Generic[T]):
    """The cached result of a reader; `None`, cached alike, if it fails or does not answer in time."""

    def __init__(self, read: Callable[[], Awaitable[T]], fresh_s: float, timeout_s: float) -> None:
        self._read = read
        self._fresh_s = fresh_s
        self._timeout_s = timeout_s
        self._value: T | None = None
        self._at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def value(self) -> T | None:
        if self._reading is None or self._reading.done():
            if monotonic() - self._at < self._fresh_s:
                return self._value
            self._reading = asyncio.create_task(self._renew())
        # The task ends in time, unless the driver hangs on a dead server: then it is abandoned.
        done, _ = await asyncio.wait((self._reading,), timeout=self._timeout_s + _CANCEL_GRACE_S)
        return self._value if done else None

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                self._value = await self._read()
        except Exception as error:
            self._value = None
            _log.warning("figures of the ledger could not be read", error=type(error).__name__)
        self._at = monotonic()
