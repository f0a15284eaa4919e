"""Errors of data sets.

ComposeError
└── DatasetError   a data set is unknown, absent, or not laid out as its README says
"""

from purser.compose.errors import ComposeError


class DatasetError(ComposeError):
    """A data set is unknown, absent, or not laid out as its README says."""
