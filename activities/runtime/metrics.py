"""Prometheus metrics of a worker. Labels are bounded: codes and tokenizers, never a session, task, agent or tenant."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from purser.activities.models.instruments import Instruments
from purser.activities.models.labels import Labels
from purser.activities.models.metrics import CallMetrics
from purser.context.windows.plans import WindowPlan
from purser.context.windows.reports import omissions

_TOKENS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 60, 120)
_DRIFTS = (0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0)


class Metrics:
    """Metrics of the activities of one process, in a separate registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = CallMetrics(self.registry)
        """Verdicts and requests to providers. A gateway in the same process counts its own here as well."""
        made = Instruments(self.registry)
        self._compressions = made.counter("compressions", "Summaries stored.", "trigger", "method")
        self._failures = made.counter("compression_failures", "Compressions without a summary.", "reason")
        self._fallbacks = made.counter(
            "compression_fallbacks", "Summaries extracted because the model's text was unfit.", "reason"
        )
        self._cooldowns = made.counter("compression_cooldowns", "Pauses after failures in a row.")
        self._redactions = made.counter("redactions", "Values replaced by placeholders.", "label")
        self._before = made.histogram("compression_before_tokens", "Tokens that a summary replaces.", _TOKENS)
        self._after = made.histogram("compression_after_tokens", "Tokens of a summary.", _TOKENS)
        self._ratio = made.histogram(
            "compression_ratio", "Ratio of tokens after a compression to tokens before it.", _RATIOS
        )
        self._seconds = made.histogram("compression_seconds", "Time to a stored summary.", _SECONDS, "method")
        self._drift = made.histogram(
            "token_drift_ratio",
            "Ratio of reported input tokens to those counted before the call.",
            _DRIFTS,
            "tokenizer",
        )
        self._windows = made.counter("windows", "Windows of calls, by the strategy that cuts them.", "strategy")
        self._omissions = made.counter(
            "window_omissions",
            "Windows of calls that show some message in part or not at all, by how and why.",
            "strategy",
            "state",
            "reason",
        )
        self._known = Labels().known

    def compressed(self, trigger: str, method: str, tokens_before: int, tokens_after: int, seconds: float) -> None:
        """Counts a stored summary.

        Args:
            trigger: why it was made, as a code.
            method: what wrote it, as a code.
            tokens_before: tokens of the messages that it replaces.
            tokens_after: tokens of the message that contains it.
            seconds: duration of the compression.
        """
        method = self._known("method", method)
        self._compressions.labels(self._known("trigger", trigger), method).inc()
        self._before.observe(tokens_before)
        self._after.observe(tokens_after)
        if tokens_before > 0:
            self._ratio.observe(tokens_after / tokens_before)
        self._seconds.labels(method).observe(seconds)

    def compression_failed(self, reason: str) -> None:
        """Counts a compression that ended without a summary; the reason is a code."""
        self._failures.labels(self._known("failure", reason)).inc()

    def fell_back(self, reason: str) -> None:
        """Counts a summary that was extracted because the model wrote none; the reason is a code."""
        self._fallbacks.labels(self._known("fallback", reason)).inc()

    def cooling_down(self) -> None:
        """Counts a conversation whose compression pauses after failures in a row."""
        self._cooldowns.inc()

    def redacted(self, counts: Mapping[str, int]) -> None:
        """Counts replaced values by label."""
        for label, count in counts.items():
            self._redactions.labels(self._known("label", label)).inc(count)

    def counted(self, tokenizer: str, counted: int, reported: int) -> None:
        """Compares counted input tokens with those that the provider reported.

        Args:
            tokenizer: `Tokenizer.encoding` of the model.
            counted: tokens that Purser counted before the call.
            reported: tokens that the provider reported.
        """
        if counted > 0:
            self._drift.labels(self._known("tokenizer", tokenizer)).observe(reported / counted)

    def planned(self, plan: WindowPlan) -> None:
        """Counts the window of a new call."""
        self._windows.labels(plan.strategy).inc()
        for state, reason in omissions(plan):
            self._omissions.labels(plan.strategy, state, self._known("omission", reason)).inc()
