"""What a process asks of budgets and of model providers. Labels are codes of ours, never a model or an id."""

import logging
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram

from purser.budget.decisions import Decision
from purser.budget.pricing.quotes import Unpriced
from purser.budget.usage import Usage

_log = logging.getLogger(__name__)
_DELAYS = (0.05, 0.1, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60)
_LATENCIES = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.5, 2.0)
CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


class Decided(Protocol):
    """Told of every verdict."""

    def __call__(self, decision: Decision) -> None: ...


def nobody(decision: Decision) -> None:
    """Tells nobody."""


class CallMetrics:
    """Verdicts and requests to providers of one process, whether it is a gateway, a worker or both."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._decisions = Counter(
            "purser_decisions",
            "Verdicts on asks, with the mode and the reason of the scope that decided.",
            ("verdict", "mode", "reason"),
            registry=registry,
        )
        self._backpressure = Histogram(
            "purser_backpressure_seconds",
            "Delays that calls were told to take because a budget comes to its end.",
            buckets=_DELAYS,
            registry=registry,
        )
        self._estimates = Histogram(
            "purser_estimate_ratio", "Tokens charged by tokens held for a call.", buckets=_SHARES, registry=registry
        )
        self._requests = Counter(
            "purser_provider_requests", "Requests to model providers that have ended.", ("kind",), registry=registry
        )
        self._errors = Counter(
            "purser_provider_errors",
            "Requests to model providers that failed.",
            ("kind", "code", "status_class"),
            registry=registry,
        )
        self._seconds = Histogram(
            "purser_provider_seconds",
            "From a request to the end of its answer, where there was one.",
            ("kind",),
            buckets=_LATENCIES,
            registry=registry,
        )
        self._tokens = Counter(
            "purser_provider_tokens", "Tokens that providers reported.", ("kind", "class"), registry=registry
        )
        self._unavailable = Counter(
            "purser_ledger_unavailable",
            "Requests and activities that failed because Postgres did not answer.",
            ("caller",),
            registry=registry,
        )
        for caller in ("http", "activity"):
            self._unavailable.labels(caller)
        self._unpriced = Counter(
            "purser_unpriced_calls",
            "Calls whose model has no price: refused because money is limited, free of money, or charged as estimated.",
            ("outcome",),
            registry=registry,
        )
        for outcome in Unpriced:
            self._unpriced.labels(outcome)
        self._usage_refused = Counter(
            "purser_provider_usage_refused",
            "Usage reports of providers that were not believed; the estimate was charged instead.",
            ("reason",),
            registry=registry,
        )
        for kind in ("chat", "embedding"):
            self._requests.labels(kind)
            self._seconds.labels(kind)

    def decided(self, decision: Decision) -> None:
        """The gate gave a verdict."""
        decisive = decision.decisive
        self._decisions.labels(str(decision.verdict), str(decisive.mode), decisive.reason).inc()
        if decision.unpriced:
            self.unpriced(Unpriced.REFUSED)
        if decision.verdict.admits and decision.delay_ms > 0:
            self._backpressure.observe(decision.delay_ms / 1_000)

    def unpriced(self, outcome: Unpriced) -> None:
        """Nobody knows the price of a call."""
        self._unpriced.labels(outcome).inc()

    def estimated(self, held: int, charged: int) -> None:
        """A call was charged.

        Args:
            held: tokens set aside for it.
            charged: tokens that it cost.
        """
        if held > 0:
            self._estimates.observe(charged / held)

    def ledger_unavailable(self, caller: Literal["http", "activity"]) -> None:
        """A request or an activity failed because Postgres did not answer."""
        self._unavailable.labels(caller).inc()

    def answered(self, kind: str, seconds: float) -> None:
        """A provider answered; kind is `chat` or `embedding`."""
        self._requests.labels(kind).inc()
        self._seconds.labels(kind).observe(seconds)

    def failed(self, kind: str, code: str, status: int | None) -> None:
        """A request failed; the code is a stable one of ours, the status that of the provider's answer, if any."""
        self._requests.labels(kind).inc()
        self._errors.labels(kind, code, _class(status)).inc()

    def usage_refused(self, reason: str) -> None:
        """A provider's usage report was not believed, for example because it holds `NaN`."""
        _log.warning("a provider's usage report was not believed: %s; an estimate is charged", reason)
        self._usage_refused.labels(reason).inc()

    def used(self, kind: str, usage: Usage | None) -> None:
        """What a provider reported, if it did."""
        if usage is None:
            return
        for name in CLASSES:
            if tokens := getattr(usage, name):
                self._tokens.labels(kind, name).inc(tokens)


def _class(status: int | None) -> str:
    return f"{status // 100}xx" if status is not None and 300 <= status <= 599 else "none"
