"""The table of the proxy, for the Router of LiteLLM."""

import pytest
from proxy import *  # noqa: F403


@pytest.fixture
def frozen_requests() -> int:
    """403 is repeated like any failure that has no rule of its own."""
    return 3
