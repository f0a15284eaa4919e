"""Collector of ledger metrics. Figures are read on a scrape and cached for a few seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Generic, TypeVar

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from purser.budget.postgres.reports.burn import Burn
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
    timeout_s: float = 7
    """Time after which the database counts as unavailable; less than the timeout of a scraper."""
    scan_every_s: float = 60
    """Least time between two scans, for drift and for scopes that are exhausted soon."""
    scan_rest: float = 10
    """Least time between two scans, in times what the first took: a large ledger is not scanned without end."""
    scan_wait_s: float = 1
    """Time for which a scrape waits for a scan; then it shows the result of the one before."""
    scan_timeout_s: float = 120
    """Time after which a scan is given up."""


@dataclass(frozen=True, slots=True)
class _Read:
    figures: Figures
    deliveries: DeliveryFigures
    seconds: float


class LedgerMetrics(Collector):
    """Collects figures from the database that all processes share. If they cannot be read, their series are absent.
    The results of scans, which may take longer than a scrape, stay and have an age."""

    def __init__(self, exporter: Exporter, burn: Burn, pace: Pace | None = None) -> None:
        """Args:
        exporter, burn: readers of the same database.
        pace: intervals of reading.
        """
        pace = pace or Pace()
        self.registry = CollectorRegistry()
        self._exporter = exporter
        self._pace = pace
        self._figures = _Cached(self._everything, pace.fresh_s, pace.timeout_s)
        self._drift = _Scan(lambda: exporter.drift(pace.scan_timeout_s), pace)
        self._exhausting = _Scan(lambda: burn.exhausting(pace.scan_timeout_s), pace)
        # In short transactions: after an upgrade that finds very many, it goes on until none is left.
        self._dormant = _Scan(exporter.mark_dormant, replace(pace, scan_rest=0))
        self._scans: tuple[_Scan[Any], ...] = self._drift, self._exhausting, self._dormant
        self._read: _Read | None = None
        self.registry.register(self)

    async def text(self) -> bytes:
        """The families in the text format. Reads what is not cached any more; returns in time even if the database
        does not answer."""
        self._read, *_ = await asyncio.gather(self._figures.value(), *(scan.renew() for scan in self._scans))
        return generate_latest(self.registry)

    async def close_after(self, stop: asyncio.Event) -> None:
        """Ends scans once `stop` is set: the process would wait for their connections."""
        await stop.wait()
        for scan in self._scans:
            scan.close()

    async def _everything(self) -> _Read:
        began = monotonic()
        figures = await self._exporter.figures(self._pace.timeout_s)
        deliveries = await delivery_figures(self._exporter.pool)
        return _Read(figures, deliveries, monotonic() - began)

    def collect(self) -> Iterator[Metric]:
        """The families as they were read last."""
        read = self._read
        yield GaugeMetricFamily(
            "purser_exporter_up",
            "Whether the figures of the ledger could be read. At 0 they are left out.",
            0 if read is None else 1,
        )
        ages = GaugeMetricFamily(
            "purser_ledger_scan_age_seconds", "Since the last scan began whose result is shown.", labels=("scan",)
        )
        if self._drift.found is not None:
            drift: int = self._drift.found
            yield GaugeMetricFamily(
                "purser_ledger_drift_balances", "Balances that are not what their last entry says.", drift
            )
            ages.add_metric(("drift",), self._drift.age_s)
        if self._exhausting.found is not None:
            yield exhausting(self._exhausting.found)
            ages.add_metric(("exhausting",), self._exhausting.age_s)
        yield ages
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


class _Scan(Generic[T]):
    """The result of a reader that may take longer than a scrape. If reading it again fails, the one before stays."""

    def __init__(self, read: Callable[[], Awaitable[T]], pace: Pace) -> None:
        self.found: T | None = None
        self._read = read
        self._pace = pace
        self._began = self._due = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    @property
    def age_s(self) -> float:
        """Seconds since the reading of `found` began."""
        return monotonic() - self._began

    async def renew(self) -> None:
        """Begins to read if that is due, and waits for the end only for a moment."""
        if self._reading is None or self._reading.done():
            if monotonic() < self._due:
                return
            self._reading = asyncio.create_task(self._renew())
        await asyncio.wait((self._reading,), timeout=self._pace.scan_wait_s)

    def close(self) -> None:
        """Ends reading, for good."""
        self._due = float("inf")
        if self._reading is not None:
            self._reading.cancel()

    async def _renew(self) -> None:
        began = monotonic()
        try:
            async with asyncio.timeout(self._pace.scan_timeout_s):
                self.found = await self._read()
            self._began = began
        except Exception as error:
            _log.warning("a scan of the ledger failed", error=type(error).__name__)
        ended = monotonic()
        self._due = ended + max(self._pace.scan_every_s, self._pace.scan_rest * (ended - began))
