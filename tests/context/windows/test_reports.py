"""What a call saw, derived from its window plan."""

from purser.activities.runtime.metrics import Metrics
from purser.context.windows.reports import Span, omissions, spans
from tests.activities.runtime.test_metrics import shown
from tests.support.calls import PLAN


def brief(span: Span) -> tuple[object, ...]:
    numbers = (span.first_seq, span.last_seq)
    return (span.part.value, span.state.value, span.reason, *numbers, span.messages, span.tokens, span.version)


def test_invariant_covered_and_verbatim_ranges_are_reported_for_a_live_call() -> None:
    assert [brief(span) for span in spans(PLAN)] == [
        ("settings", "verbatim", "fits", None, None, None, 20, None),
        ("session", "verbatim", "fits", 1, 2, 2, None, None),
        ("session", "summary", "summary", 3, 30, None, 400, 3),
        ("session", "verbatim", "fits", 31, 31, 1, None, None),
        ("session", "dropped", "over_budget", 32, 32, None, 0, None),
        ("session", "verbatim", "fits", 33, 33, 1, None, None),
        ("replies", "verbatim", "fits", 40, 40, 1, 50, None),
        ("replies", "clipped", "too_large", 38, 38, 1, 291, None),
        ("replies", "dropped", "over_budget", 39, 39, 1, 0, None),
        ("documents", "clipped", "too_large", None, None, None, 200, None),
        ("memory", "verbatim", "fits", None, None, 2, 100, None),
        ("input", "verbatim", "fits", 41, 41, 1, 10, None),
        ("agent", "verbatim", "fits", 42, 42, 1, None, None),
        ("agent", "cleared", "old_tool_result", 43, 43, 1, 17, None),
        ("agent", "verbatim", "fits", 44, 44, 1, None, None),
        ("agent", "clipped", "too_large", 45, 45, 1, 599, None),
    ]


def test_events_and_metrics_count_windows_by_strategy_and_what_they_leave_out_by_reason() -> None:
    assert omissions(PLAN) == {
        ("summary", "summary"),
        ("dropped", "over_budget"),
        ("cleared", "old_tool_result"),
        ("clipped", "too_large"),
    }
    metrics = Metrics()
    metrics.planned(PLAN)
    lines = shown(metrics)
    assert 'purser_windows_total{strategy="three_part"} 1.0' in lines
    for state, reason in omissions(PLAN):
        labels = f'reason="{reason}",state="{state}",strategy="three_part"'
        assert f"purser_window_omissions_total{{{labels}}} 1.0" in lines
