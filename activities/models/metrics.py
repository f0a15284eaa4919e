"""Prometheus metrics of verdicts and of requests to providers. Labels are stable codes, never a model or an id."""

import logging
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram

from purser.budget.gate import GateAnswer
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.usage import Usage

_log = logging.getLogger(__name__)
_DELAYS = (0.05, 0.1, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60)
_LATENCIES = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.5, 2.0)
CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


class OnVerdict(Protocol):
    """A callback for every verdict of the gate."""

    def __call__(self, answer: GateAnswer) -> None: ...


def ignore_verdict(answer: GateAnswer) -> None:
    """Ignores a verdict."""


class CallMetrics:
    """Metrics of verdicts and provider requests of one process, be it a gateway, a worker or both."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._verdicts = Counter(
            "purser_decisions",
            "Verdicts on asks, with the mode and the reason of the scope that decided.",
            ("verdict", "mode", "reason"),
            registry=registry,
        )
        self._backpressure = Histogram(
            "purser_backpressure_seconds",
            "Backpressure delays of calls on budgets that are nearly used up.",
            buckets=_DELAYS,
            registry=registry,
        )
        self._estimates = Histogram(
            "purser_estimate_ratio",
            "Ratio of tokens charged to tokens held for a call.",
            buckets=_SHARES,
            registry=registry,
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
            "Seconds from a request to the end of its answer.",
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
            "Usage reports of providers that were refused; the estimate was charged instead.",
            ("reason",),
            registry=registry,
        )
        for kind in ("chat", "embedding"):
            self._requests.labels(kind)
            self._seconds.labels(kind)

    def count_verdict(self, answer: GateAnswer) -> None:
        """Counts a verdict of the gate."""
        decisive = answer.decisive
        self._verdicts.labels(str(answer.verdict), str(decisive.mode), decisive.reason).inc()
        if answer.unpriced:
            self.unpriced(Unpriced.REFUSED)
        if answer.verdict.admits and answer.delay_ms > 0:
            self._backpressure.observe(answer.delay_ms / 1_000)

    def unpriced(self, outcome: Unpriced) -> None:
        """Counts a call of unknown price."""
        self._unpriced.labels(outcome).inc()

    def estimated(self, held: int, charged: int) -> None:
        """Compares the tokens held for a call with those charged.

        Args:
            held: tokens held for the call.
            charged: tokens that it cost.
        """
        if held > 0:
            self._estimates.observe(charged / held)

    def ledger_unavailable(self, caller: Literal["http", "activity"]) -> None:
        """Counts a request or an activity that failed because Postgres did not answer."""
        self._unavailable.labels(caller).inc()

    def answered(self, kind: str, seconds: float) -> None:
        """Counts an answered request; `kind` is `chat` or `embedding`."""
        self._requests.labels(kind).inc()
        self._seconds.labels(kind).observe(seconds)

    def failed(self, kind: str, code: str, status: int | None) -> None:
        """Counts a failed request by Purser's stable code and the HTTP status of the provider's answer, if any."""
        self._requests.labels(kind).inc()
        self._errors.labels(kind, code, _class(status)).inc()

    def usage_refused(self, reason: str) -> None:
        """Counts a usage report that was refused, for example because it contains `NaN`."""
        _log.warning("a provider's usage report was refused: %s; an estimate is charged", reason)
        self._usage_refused.labels(reason).inc()

    def used(self, kind: str, usage: Usage | None) -> None:
        """Counts the tokens that a provider reported; `None`: it reported none."""
        if usage is None:
            return
        for name in CLASSES:
            if tokens := getattr(usage, name):
                self._tokens.labels(kind, name).inc(tokens)


def _class(status: int | None) -> str:
    return f"{status // 100}xx" if status is not None and 300 <= status <= 599 else "none"
