"""Prometheus metrics of verdicts and of requests to providers.

Labels are stable codes, and providers and models up to a bound; never the id of anything.
"""

import logging
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry

from purser.activities.models.instruments import Instruments
from purser.activities.models.labels import Labels
from purser.budget.gate import GateAnswer
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.usage import CLASSES, Usage
from purser.context.retrieval.embedding import Outcome

_log = logging.getLogger(__name__)
_DELAYS = (0.05, 0.1, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60)
_LATENCIES = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900)
_ESTIMATES = (0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class Requested:
    """What a request to a provider is for."""

    kind: str
    """`chat` or `embedding`."""
    provider: str = "none"
    """LiteLLM's name of the provider, host and port of an `api_base`, or `none`: there is no way to that model."""
    model: str = "none"
    """As the request names it; `none` without a provider, so that misspelled names take no place."""


class OnVerdict(Protocol):
    """A callback for every verdict of the gate."""

    def __call__(self, answer: GateAnswer) -> None: ...


def ignore_verdict(answer: GateAnswer) -> None:
    """Ignores a verdict."""


class CallMetrics:
    """Metrics of verdicts and provider requests of one process, be it a gateway, a worker or both."""

    def __init__(self, registry: CollectorRegistry) -> None:
        made = Instruments(registry)
        verdicts = made.counter(
            "decisions",
            "Verdicts on asks, with kind, mode and reason of the scope that decided.",
            "verdict", "kind", "mode", "reason",
        )  # fmt: skip
        self._verdicts = cache(verdicts.labels)  # looking up labels takes longer than counting
        self._ladder = made.counter(
            "ladder_steps",
            "Calls that took a step of a ladder to spend less, by kind of its scope and number of the step.",
            "kind", "step",
        )  # fmt: skip
        self._backpressure = made.histogram(
            "backpressure_seconds", "Backpressure delays of calls on budgets that are nearly used up.", _DELAYS
        )
        self._estimates = made.histogram(
            "estimate_ratio",
            "Ratio of tokens estimated for a call to those that its provider reported, for the prompt and the output.",
            _ESTIMATES, "model", "part",
        )  # fmt: skip
        self._used = made.histogram(
            "hold_use_ratio", "Ratio of tokens charged to tokens held for a call.", _SHARES, "model"
        )
        requested = ("kind", "provider", "model")
        self._requests = made.counter("provider_requests", "Requests to model providers that have ended.", *requested)
        self._errors = made.counter(
            "provider_errors", "Requests to model providers that failed.", *requested, "code", "status_class"
        )
        self._seconds = made.histogram(
            "provider_seconds", "Seconds from a request to the end of its answer.", _LATENCIES, *requested
        )
        self._tokens = made.counter("provider_tokens", "Tokens that providers reported.", *requested, "class")
        self._unavailable = made.counter(
            "ledger_unavailable",
            "Requests and activities that failed because Postgres did not answer.",
            "caller",
            values=("http", "activity"),
        )
        self._unpriced = made.counter(
            "unpriced_calls",
            "Calls whose model has no price: refused because money is limited, free of money, or charged as estimated.",
            "outcome",
            values=Unpriced,
        )
        self._paced = made.histogram(
            "provider_paced_seconds",
            "Delays of calls that the pace of their provider allows only later.",
            _DELAYS,
            "model",
        )
        self._usage_refused = made.counter(
            "provider_usage_refused",
            "Usage reports of providers that were refused; the estimate was charged instead.",
            "reason",
        )
        self._searches = made.counter(
            "memory_searches",
            "Searches of memory by whether vectors were used, and if not, why.",
            "outcome",
            values=Outcome,
        )
        self._known = Labels().known

    def count_verdict(self, answer: GateAnswer) -> None:
        """Counts a verdict of the gate."""
        decisive = answer.decisive
        view = decisive.view
        self._verdicts(answer.verdict, view.scope.kind, view.mode, decisive.reason).inc()
        if answer.unpriced:
            self.unpriced(Unpriced.REFUSED)
        if answer.verdict.admits and answer.delay_ms > 0:
            self._backpressure.observe(answer.delay_ms / 1_000)

    def climbed(self, kind: str, step: int) -> None:
        """Counts a call that took a step of a ladder.

        Args:
            kind: kind of the scope whose policy has the ladder.
            step: number of the step, from 1.
        """
        self._ladder.labels(kind, str(step)).inc()

    def unpriced(self, outcome: Unpriced) -> None:
        """Counts a call of unknown price."""
        self._unpriced.labels(outcome).inc()

    def paced(self, model: str, seconds: float) -> None:
        """Counts a delay of a call by the pace of its provider."""
        self._paced.labels(self._known("model", model)).observe(seconds)

    def searched(self, outcome: Outcome) -> None:
        """Counts a search of memory."""
        self._searches.labels(outcome).inc()

    def estimated(self, model: str, part: Literal["prompt", "output"], estimate: int, reported: int) -> None:
        """Compares the tokens estimated for a call with those that its provider reported.

        Args:
            model: as the agent names it.
            part: the prompt, or the output of a hold that learns. One for the whole output cap estimates no output.
            estimate: what the hold covered at first.
            reported: what was used.
        """
        if reported > 0:
            self._estimates.labels(self._known("model", model), part).observe(estimate / reported)

    def hold_used(self, model: str, held: int, charged: int) -> None:
        """Compares the tokens held for a call with those charged."""
        if held > 0:
            self._used.labels(self._known("model", model)).observe(charged / held)

    def ledger_unavailable(self, caller: Literal["http", "activity"]) -> None:
        """Counts a request or an activity that failed because Postgres did not answer."""
        self._unavailable.labels(caller).inc()

    def answered(self, requested: Requested, seconds: float) -> None:
        """Counts an answered request."""
        labels = self._labels(requested)
        self._requests.labels(*labels).inc()
        self._seconds.labels(*labels).observe(seconds)

    def failed(self, requested: Requested, code: str, status: int | None) -> None:
        """Counts a failed request by Purser's stable code and the HTTP status of the provider's answer, if any."""
        labels = self._labels(requested)
        self._requests.labels(*labels).inc()
        self._errors.labels(*labels, code, _class(status)).inc()

    def usage_refused(self, reason: str) -> None:
        """Counts a usage report that was refused, for example because it contains `NaN`."""
        _log.warning("a provider's usage report was refused: %s; an estimate is charged", reason)
        self._usage_refused.labels(reason).inc()

    def used(self, requested: Requested, usage: Usage | None) -> None:
        """Counts the tokens that a provider reported; `None`: it reported none."""
        if usage is None:
            return
        for name in CLASSES:
            if tokens := getattr(usage, name):
                self._tokens.labels(*self._labels(requested), name).inc(tokens)

    def _labels(self, requested: Requested) -> tuple[str, str, str]:
        provider, model = self._known("provider", requested.provider), self._known("model", requested.model)
        return requested.kind, provider, model


def _class(status: int | None) -> str:
    return f"{status // 100}xx" if status is not None and 300 <= status <= 599 else "none"
