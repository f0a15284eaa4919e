"""Metric families for ledger figures, with a fixed set of series."""

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from purser.budget.approvals import ApprovalState
from purser.budget.gate import OUTCOMES
from purser.budget.policies.fields import Mode
from purser.budget.postgres.reports.burn import Exhausting
from purser.budget.postgres.reports.exporter import BANDS, WAITED_S, Figures, LastAudit, Queue, Waits
from purser.budget.scopes import Kind
from purser.gateway.postgres.delivery_figures import DeliveryFigures


def families(figures: Figures, deliveries: DeliveryFigures) -> Iterator[Metric]:
    """Yields the families of budgets, holds, approvals, messages and the last audit."""
    yield from _budgets(figures)
    yield from _amounts(figures)
    yield from _holds(figures)
    yield from _shadow(figures)
    yield from _approvals(figures)
    yield from _messages(figures, deliveries)
    yield from _audit(figures.audit)


def exhausting(found: Sequence[Exhausting]) -> Metric:
    """The family of scopes that are exhausted soon, which costs more to read than the others."""
    soon = GaugeMetricFamily(
        "purser_budget_scopes_exhausting",
        "Scopes that have something left, and nothing any more within that time at the rate at which they spend; "
        "without policies in shadow.",
        labels=("kind", "within"),
    )
    for kind in Kind:
        own = [one for one in found if one.kind is kind]
        soon.add_metric((kind, "1h"), sum(one.within_hour for one in own))
        soon.add_metric((kind, "24h"), sum(one.within_day for one in own))
    return soon


def _budgets(figures: Figures) -> Iterator[Metric]:
    scopes = GaugeMetricFamily(
        "purser_budget_scopes",
        "Limited scopes in use, by how much of their budget is spent and held in the current window; without policies "
        "in shadow.",
        labels=("kind", "mode", "band"),
    )
    highest = GaugeMetricFamily(
        "purser_budget_usage_ratio_max",
        "The highest share of a budget that is spent and held; without policies in shadow.",
        labels=("kind", "mode"),
    )
    for kind in Kind:
        for mode in Mode:
            found = figures.budgets.get((kind, mode))
            for band in BANDS:
                scopes.add_metric((kind, mode, band), found.scopes[band] if found else 0)
            highest.add_metric((kind, mode), found.highest_ratio if found else 0)
    yield from (scopes, highest)


_AMOUNTS = {
    "limit": (GaugeMetricFamily, "that the limited scopes in use may spend in their current window, without grants"),
    "spent": (GaugeMetricFamily, "charged in all windows; falls when a late report was less than presumed"),
    "held": (GaugeMetricFamily, "set aside for calls under way"),
    "granted": (GaugeMetricFamily, "given by approvals beyond the limits"),
    "overrun": (CounterMetricFamily, "charged beyond what was held; a late report that is less takes nothing back"),
}


def _amounts(figures: Figures) -> Iterator[Metric]:
    for name, (family, text) in _AMOUNTS.items():
        tokens = family(f"purser_{name}_tokens", f"Tokens {text}.", labels=("kind",))
        nano_usd = family(f"purser_{name}_nano_usd", f"Nano-dollars {text}.", labels=("kind",))
        for kind in Kind:
            amounts = [getattr(found, name) for (one, _), found in figures.budgets.items() if one is kind]
            tokens.add_metric((kind,), sum(amount.tokens for amount in amounts))
            nano_usd.add_metric((kind,), sum(amount.nano_usd for amount in amounts))
        yield from (tokens, nano_usd)


def _holds(figures: Figures) -> Iterator[Metric]:
    yield from _queue("purser_holds_open", "purser_hold_oldest_seconds", "open holds", figures.holds)
    yield GaugeMetricFamily("purser_holds_overdue", "Holds open past their lease and grace.", figures.overdue_holds)
    yield CounterMetricFamily(
        "purser_holds_expired", "Holds that were not settled, released or renewed.", figures.expired_holds
    )
    yield CounterMetricFamily(
        "purser_attempts_presumed",
        "Attempts that never reported: charged the most possible.",
        figures.presumed_attempts,
    )
    yield CounterMetricFamily(
        "purser_reports_late",
        "Reports of attempts that had been presumed, or whose hold had ended.",
        figures.late_reports,
    )
    yield from _queue(
        "purser_asks_waiting",
        "purser_ask_waiting_oldest_seconds",
        "asks that wait for open holds",
        figures.waiting_asks,
    )


def _shadow(figures: Figures) -> Iterator[Metric]:
    calls = CounterMetricFamily(
        "purser_shadow_calls",
        "Calls that policies would have held up while they only recorded.",
        labels=("kind", "outcome"),
    )
    for kind in Kind:
        for outcome in OUTCOMES:
            calls.add_metric((kind, outcome), figures.shadow_calls.get((kind, outcome), 0))
    yield calls


def _approvals(figures: Figures) -> Iterator[Metric]:
    yield from _queue(
        "purser_approvals_pending", "purser_approval_oldest_seconds", "approvals pending", figures.pending_approvals
    )
    deadline = GaugeMetricFamily(
        "purser_approval_deadline_seconds", "Until the next pending approval expires; nothing where none is pending."
    )
    if figures.next_deadline_s is not None:
        deadline.add_metric((), figures.next_deadline_s)
    yield deadline
    waits = HistogramMetricFamily(
        "purser_approval_wait_seconds", "How long approvals waited, by how they ended.", labels=("outcome",)
    )
    for state in ApprovalState:
        if state is not ApprovalState.PENDING:
            found = figures.ended_approvals.get(state) or Waits((0,) * len(WAITED_S), 0, 0.0)
            buckets = [(str(bound), count) for bound, count in zip(WAITED_S, found.counts, strict=True)]
            waits.add_metric((state,), [*buckets, ("+Inf", found.count)], found.sum_s)
    yield waits


def _messages(figures: Figures, deliveries: DeliveryFigures) -> Iterator[Metric]:
    yield from _queue(
        "purser_outbox_pending", "purser_outbox_oldest_seconds", "wake-ups on their way to workflows", figures.outbox
    )
    yield from _queue(
        "purser_webhook_deliveries_pending",
        "purser_webhook_delivery_oldest_seconds",
        "webhook deliveries to be made",
        Queue(deliveries.pending, deliveries.oldest_s),
    )
    yield GaugeMetricFamily(
        "purser_webhook_deliveries_failing", "Webhook deliveries that failed and are tried again.", deliveries.failing
    )
    yield GaugeMetricFamily(
        "purser_webhooks_disabled",
        "Webhooks that were disabled because their receiver answered 410.",
        deliveries.disabled,
    )
    yield GaugeMetricFamily(
        "purser_webhook_event_oldest_seconds",
        "Age of the oldest event for which no webhook deliveries have been created yet; 0 without any.",
        deliveries.unseen_s,
    )


def _audit(last: LastAudit | None) -> Iterator[Metric]:
    shown = (
        ("purser_audit_age_seconds", "Since the last audit ended; nothing where none has.", "age_s"),
        ("purser_audit_seconds", "How long the last audit took.", "seconds"),
        ("purser_audit_differences", "Differences that the last audit found.", "differences"),
    )
    for name, text, field in shown:
        family = GaugeMetricFamily(name, text)
        if last is not None:
            family.add_metric((), getattr(last, field))
        yield family


def _queue(count: str, age: str, text: str, queue: Queue) -> Iterator[Metric]:
    yield GaugeMetricFamily(count, f"How many {text} there are.", queue.count)
    yield GaugeMetricFamily(age, f"Age of the oldest of the {text}; 0 without any.", queue.oldest_s)
