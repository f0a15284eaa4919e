"""Conversations of real data sets, converted to tasks for Purser and recordings for its provider."""

from purser.compose.demo.recordings.datasets import MAKERS, make_tasks
from purser.compose.demo.recordings.errors import DatasetError
from purser.compose.demo.recordings.tasks import MODEL, RecordedTask

__all__ = ["MAKERS", "MODEL", "DatasetError", "RecordedTask", "make_tasks"]
