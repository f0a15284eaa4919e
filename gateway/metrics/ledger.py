"""Figures of the ledger as metrics. They are read when somebody scrapes, and kept for a few seconds."""

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
_LETTING_GO_S = 1.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often figures are read, in seconds."""

    fresh_s: float = 3
    """Scrapes within it see the same figures."""
    looks_every_s: float = 60
    """Between two looks at every balance: for drift, and for what runs out soon."""
    timeout_s: float = 7
    """After which the database counts as away; less than what a scraper waits."""


@dataclass(frozen=True, slots=True)
class _Read:
    figures: Figures
    deliveries: DeliveryFigures
    seconds: float


class LedgerMetrics(Collector):
    """What the rows say that all processes share. Where they cannot be read nothing is shown, rather than what was."""

    def __init__(self, exporter: Exporter, burn: Burn, pace: Pace | None = None) -> None:
        """Args:
        exporter, burn: of the same database.
        pace: how often they are asked.
        """
        pace = pace or Pace()
        self.registry = CollectorRegistry()
        self._exporter = exporter
        self._timeout_s = pace.timeout_s
        self._figures = _Kept(self._everything, pace.fresh_s, pace.timeout_s)
        self._drift = _Kept(lambda: exporter.drift(pace.timeout_s), pace.looks_every_s, pace.timeout_s)
        self._exhausting = _Kept(burn.exhausting, pace.looks_every_s, pace.timeout_s)
        self._shown: tuple[_Read | None, int | None, list[Exhausting] | None] = None, None, None
        self.registry.register(self)

    async def text(self) -> bytes:
        """The families in the text format. Reads what is older than `Pace` allows, and answers in time even if the
        database does not."""
        kept = self._figures.value(), self._drift.value(), self._exhausting.value()
        self._shown = await asyncio.gather(*kept)
        return generate_latest(self.registry)

    async def _everything(self) -> _Read:
        began = monotonic()
        figures = await self._exporter.figures(self._timeout_s)
        deliveries = await delivery_figures(self._exporter.pool)
        return _Read(figures, deliveries, monotonic() - began)

    def collect(self) -> Iterator[Metric]:
        """The families, as they were read last."""
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


class _Kept(Generic[T]):
    """What a statement said, for a while; nothing where it says nothing in time."""

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
        # It ends by itself in time, unless the driver does not let go of a server that hangs: then it is left alone.
        done, _ = await asyncio.wait((self._reading,), timeout=self._timeout_s + _LETTING_GO_S)
        return self._value if done else None

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                self._value = await self._read()
            self._at = monotonic()
        except Exception as error:
            self._value = None
            _log.warning("figures of the ledger could not be read", error=type(error).__name__)
