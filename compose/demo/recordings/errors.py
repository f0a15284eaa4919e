"""What can be wrong with the data that tasks are made of.

ComposeError
└── DatasetError   a data set is unknown, absent, or not laid out as its README says
"""

from purser.compose.errors import ComposeError


class DatasetError(ComposeError):
    """A data set is unknown, absent, or not laid out as its README says."""
