"""One database for each worker, emptied before every test."""

import pytest


@pytest.fixture
def dsn(emptied_dsn: str) -> str:
    """A migrated database without rows."""
    return emptied_dsn
