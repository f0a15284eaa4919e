"""The example of the page."""

import litellm
import pytest
from doors import Door
from examples import is_budgeted


async def test_the_example_is_under_a_budget(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "callbacks", [])  # and afterwards without that of the example
    door.session = "session:chat-7"
    await is_budgeted("litellm_call", door)
