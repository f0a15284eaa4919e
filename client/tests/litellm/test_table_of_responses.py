"""The table, for responses by LiteLLM."""

import pytest
from table import *  # noqa: F403


@pytest.fixture
def kind() -> str:
    return "aresponses"
