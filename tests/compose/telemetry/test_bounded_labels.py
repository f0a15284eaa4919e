"""Names that callers choose create no new series."""

from purser.compose.telemetry.bounded_labels import bounded
from purser.compose.telemetry.temporal_metrics import KNOWN
from purser.workflows.contract import ActivityName

TEXT = rb"""# HELP temporal_activity_execution_failed failures, as in {activity_type="x0"}
# TYPE temporal_activity_execution_failed counter
temporal_activity_execution_failed_total{activity_type="call_model",namespace="default"} 3
temporal_activity_execution_failed_total{activity_type="x1",namespace="default"} 4
temporal_activity_execution_failed_total{activity_type="x\"},2",namespace="default"} 5
temporal_activity_execution_failed_total{activity_type="x1",namespace="other"} 7
temporal_latency_seconds_bucket{le="+Inf",activity_type="x3"} 1
temporal_latency_seconds_sum{activity_type="x3"} 0.25
temporal_latency_seconds_sum{activity_type="other"} 0.5
temporal_request{operation="x"} 9
temporal_request{parent_activity_type="x4"} 10
temporal_request{activity_type="x5"} 123456789
"""


def test_unknown_values_share_one_series_and_their_samples_are_added() -> None:
    assert bounded(TEXT, "activity_type", {"call_model"}).decode().splitlines() == [
        '# HELP temporal_activity_execution_failed failures, as in {activity_type="x0"}',
        "# TYPE temporal_activity_execution_failed counter",
        'temporal_activity_execution_failed_total{activity_type="call_model",namespace="default"} 3',
        'temporal_activity_execution_failed_total{activity_type="other",namespace="default"} 9',
        'temporal_activity_execution_failed_total{activity_type="other",namespace="other"} 7',
        'temporal_latency_seconds_bucket{le="+Inf",activity_type="other"} 1',
        'temporal_latency_seconds_sum{activity_type="other"} 0.75',
        'temporal_request{operation="x"} 9',
        'temporal_request{parent_activity_type="x4"} 10',
        'temporal_request{activity_type="other"} 123456789',
    ]


def test_text_with_known_values_alone_is_not_changed() -> None:
    unknown = (b'"x0"', b'"x1"', b'"x3"', b'"x5"', b'"x\\')
    text = b"\n".join(line for line in TEXT.splitlines() if not any(name in line for name in unknown))
    assert bounded(text, "activity_type", {"call_model"}) is text


def test_every_activity_that_workers_run_keeps_its_series() -> None:
    assert set(ActivityName) == KNOWN
