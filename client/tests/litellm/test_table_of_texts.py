"""The table, for completions of texts by LiteLLM."""

import pytest
from table import *  # noqa: F403


@pytest.fixture
def kind() -> str:
    return "atext_completion"
