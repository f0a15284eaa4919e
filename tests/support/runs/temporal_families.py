"""Series of the Temporal SDK that rules and dashboards rely on, with their labels. A test asks the SDK for them."""

_WORK = {"namespace", "task_queue"}
TEMPORAL: dict[str, set[str]] = {
    "temporal_num_pollers": _WORK | {"poller_type"},
    "temporal_worker_task_slots_available": _WORK | {"worker_type"},
    "temporal_request_failure_total": {"namespace", "operation", "status_code"},
    "temporal_long_request_failure_total": _WORK | {"operation", "status_code"},
    "temporal_workflow_task_execution_failed_total": _WORK | {"workflow_type", "failure_reason"},
    "temporal_activity_execution_failed_total": _WORK | {"workflow_type", "activity_type", "failure_reason"},
    "temporal_workflow_task_schedule_to_start_latency_seconds_bucket": _WORK | {"le"},
    "temporal_activity_schedule_to_start_latency_seconds_bucket": _WORK | {"le"},
    "temporal_activity_execution_latency_seconds_bucket": _WORK | {"workflow_type", "activity_type", "le"},
}
