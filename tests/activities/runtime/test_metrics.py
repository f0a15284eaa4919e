"""Metrics of a worker's compressions, redactions and counts."""

from prometheus_client import generate_latest

from purser.activities.models.labels import MOST_VALUES
from purser.activities.runtime.metrics import Metrics


def shown(metrics: Metrics) -> list[str]:
    return [line for line in generate_latest(metrics.registry).decode().splitlines() if "_created" not in line]


def test_a_compression_is_counted_by_trigger_and_method_with_its_size_and_time() -> None:
    metrics = Metrics()
    metrics.compressed("tokens", "model", 40_000, 4_000, 1.5)
    lines = shown(metrics)
    assert 'purser_compressions_total{method="model",trigger="tokens"} 1.0' in lines
    assert "purser_compression_before_tokens_sum 40000.0" in lines
    assert "purser_compression_after_tokens_sum 4000.0" in lines
    assert "purser_compression_ratio_sum 0.1" in lines
    assert 'purser_compression_seconds_sum{method="model"} 1.5' in lines


def test_failures_fallbacks_and_cool_downs_say_why() -> None:
    metrics = Metrics()
    metrics.compression_failed("redaction_failed")
    metrics.fell_back("error_text")
    metrics.cooling_down()
    lines = shown(metrics)
    assert 'purser_compression_failures_total{reason="redaction_failed"} 1.0' in lines
    assert 'purser_compression_fallbacks_total{reason="error_text"} 1.0' in lines
    assert "purser_compression_cooldowns_total 1.0" in lines


def test_redactions_are_counted_by_label() -> None:
    metrics = Metrics()
    metrics.redacted({"EMAIL": 2, "CARD": 1})
    metrics.redacted({"EMAIL": 1})
    lines = shown(metrics)
    assert 'purser_redactions_total{label="EMAIL"} 3.0' in lines
    assert 'purser_redactions_total{label="CARD"} 1.0' in lines


def test_drift_is_what_was_reported_by_what_was_counted() -> None:
    metrics = Metrics()
    metrics.counted("cl100k_base+30%", 1_000, 1_250)
    metrics.counted("o200k_base", 0, 7)
    lines = shown(metrics)
    assert 'purser_token_drift_ratio_sum{tokenizer="cl100k_base+30%"} 1.25' in lines
    assert not [line for line in lines if "o200k_base" in line], "nothing was counted, so nothing drifts"


def test_labels_stay_few_whatever_they_are_given() -> None:
    metrics = Metrics()
    for number in range(10 * MOST_VALUES):
        metrics.compression_failed(f"reason {number}")
    lines = [line for line in shown(metrics) if line.startswith("purser_compression_failures_total{")]
    assert len(lines) == MOST_VALUES + 1
    assert f'purser_compression_failures_total{{reason="other"}} {9.0 * MOST_VALUES}' in lines
