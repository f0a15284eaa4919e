"""How long activities may take and how they are tried again.

Activities that only move rows are tried until the database answers: nothing is admitted while it is away, and nothing
is forgotten. What must not be tried again says so itself, as a non-retryable error.
"""

from datetime import timedelta

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig, LocalActivityConfig

_PATIENT = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=5))

ADMIT_AT_ONCE = LocalActivityConfig(
    schedule_to_close_timeout=timedelta(seconds=1), retry_policy=RetryPolicy(maximum_attempts=1)
)
"""One try inside the workflow task. A lock, a long conversation or a slow database falls back to `ADMIT`."""

ADMIT = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=_PATIENT)

CALL_MODEL = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=30),
    # Carries cancellation and tells that a worker died; accounting never depends on it.
    heartbeat_timeout=timedelta(seconds=10),
    # Settlement runs in the activity: wait for it.
    cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)),
)
"""The activity counts its requests to the provider itself and gives up for good."""

COMPRESS = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=10),
    heartbeat_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(maximum_attempts=3),
)
"""A compression that fails never blocks the turn."""

BUSY_PAUSE = timedelta(seconds=5)
"""Before a compression looks again whether another one is done."""

TOOL = ActivityConfig(
    schedule_to_close_timeout=timedelta(minutes=15),
    start_to_close_timeout=timedelta(minutes=5),
    retry_policy=RetryPolicy(maximum_attempts=3),
)

RECORD = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=_PATIENT)
"""Moves rows."""

DECISION_GRACE = timedelta(seconds=5)
"""Past the deadline of an approval, before Postgres is asked what became of it."""
