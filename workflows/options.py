"""Timeouts and retry policies of the activities.

Activities that only write rows are retried until the database answers: while it is unavailable nothing is admitted and
nothing is lost. An activity that must not be retried raises a non-retryable error.
"""

from datetime import timedelta

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig, LocalActivityConfig

_RETRY_UNTIL_DONE = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=5))

LOCALLY = LocalActivityConfig(
    schedule_to_close_timeout=timedelta(seconds=1), retry_policy=RetryPolicy(maximum_attempts=1)
)
"""One attempt inside the workflow task. On a lock, a long conversation or a slow database the regular form follows."""

ADMIT = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=_RETRY_UNTIL_DONE)

CALL_MODEL = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=30),
    # Delivers cancellation and reveals a dead worker; accounting never depends on it.
    heartbeat_timeout=timedelta(seconds=10),
    # The activity settles its attempt when it is cancelled: wait for that.
    cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)),
)
"""The activity counts its requests to the provider and ends with a final result after the last one."""

COMPRESS = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=10),
    heartbeat_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(maximum_attempts=3),
)
"""A failed compression never blocks the turn."""

BUSY_PAUSE = timedelta(seconds=5)
"""Pause before a compression checks again whether another one has finished."""

TOOL = ActivityConfig(
    schedule_to_close_timeout=timedelta(minutes=15),
    start_to_close_timeout=timedelta(minutes=5),
    retry_policy=RetryPolicy(maximum_attempts=3),
)

RECORD = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=_RETRY_UNTIL_DONE)
"""For activities that only write rows."""

DECISION_GRACE = timedelta(seconds=5)
"""Time that an agent waits past the deadline of an approval before it asks Postgres for the result."""
