"""Recorded conversations of real data sets, as tasks for Purser and recordings for its provider."""

from compose.recordings.datasets import MAKERS, make_tasks
from compose.recordings.errors import DatasetError
from compose.recordings.tasks import MODEL, TOOL_ACTIVITY, RecordedTask

__all__ = ["MAKERS", "MODEL", "TOOL_ACTIVITY", "DatasetError", "RecordedTask", "make_tasks"]
