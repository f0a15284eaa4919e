"""Metrics of a worker. Labels are bounded: codes and names of counters, never a session, task, agent or tenant."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram

from purser.activities.models.metrics import CallMetrics

MOST_VALUES = 40
"""Values of one label that keep their names; those that come later share `other`."""
_TOKENS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 60, 120)
_DRIFTS = (0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0)


class Metrics:
    """What the activities of one process do, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = CallMetrics(self.registry)
        """Verdicts and requests to providers. A process that is a gateway too counts its own here as well."""
        self._compressions = self._counter("compressions", "Summaries stored.", "trigger", "method")
        self._failures = self._counter("compression_failures", "Compressions without a summary.", "reason")
        self._fallbacks = self._counter(
            "compression_fallbacks", "Summaries picked from the conversation because the model's was no use.", "reason"
        )
        self._cooldowns = self._counter("compression_cooldowns", "Pauses after failures in a row.")
        self._redactions = self._counter("redactions", "Values replaced by placeholders.", "label")
        self._before = self._histogram("compression_before_tokens", "What a summary replaces.", _TOKENS)
        self._after = self._histogram("compression_after_tokens", "What the summary takes.", _TOKENS)
        self._ratio = self._histogram("compression_ratio", "Tokens after by tokens before.", _RATIOS)
        self._seconds = self._histogram("compression_seconds", "Time to a stored summary.", _SECONDS, "method")
        self._drift = self._histogram(
            "token_drift_ratio", "Input tokens that a provider reported by those counted before.", _DRIFTS, "tokenizer"
        )
        self._searches = self._counter("memory_searches", "Searches of memory.", "outcome")
        self._seen: dict[str, set[str]] = {}

    def compressed(self, trigger: str, method: str, tokens_before: int, tokens_after: int, seconds: float) -> None:
        """A summary was stored.

        Args:
            trigger: why it was made, as a code.
            method: what wrote it.
            tokens_before: of what it replaces.
            tokens_after: of the message that shows it.
            seconds: from the beginning of the compression.
        """
        method = self._known("method", method)
        self._compressions.labels(self._known("trigger", trigger), method).inc()
        self._before.observe(tokens_before)
        self._after.observe(tokens_after)
        if tokens_before > 0:
            self._ratio.observe(tokens_after / tokens_before)
        self._seconds.labels(method).observe(seconds)

    def compression_failed(self, reason: str) -> None:
        """A compression ended without a summary; the reason is a code."""
        self._failures.labels(self._known("failure", reason)).inc()

    def fell_back(self, reason: str) -> None:
        """Sentences of the conversation stand in for what a model should have written; the reason is a code."""
        self._fallbacks.labels(self._known("fallback", reason)).inc()

    def cooling_down(self) -> None:
        """A conversation is left alone for a while, after failures in a row."""
        self._cooldowns.inc()

    def redacted(self, counts: Mapping[str, int]) -> None:
        """Values were replaced: how many by label."""
        for label, count in counts.items():
            self._redactions.labels(self._known("label", label)).inc(count)

    def counted(self, tokenizer: str, counted: int, reported: int) -> None:
        """A provider reported the input tokens of a call.

        Args:
            tokenizer: `Tokenizer.encoding` of the model.
            counted: by us, before the call.
            reported: by the provider.
        """
        if counted > 0:
            self._drift.labels(self._known("tokenizer", tokenizer)).observe(reported / counted)

    def searched(self, outcome: str) -> None:
        """Memory was searched; the outcome tells whether vectors took part, and if not, why."""
        self._searches.labels(self._known("outcome", outcome)).inc()

    def _known(self, kind: str, value: str) -> str:
        seen = self._seen.setdefault(kind, set())
        if value not in seen and len(seen) >= MOST_VALUES:
            return "other"
        seen.add(value)
        return value

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"purser_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"purser_{name}", text, labels, buckets=buckets, registry=self.registry)
