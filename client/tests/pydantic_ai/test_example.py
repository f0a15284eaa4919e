"""The examples of the page."""

import pytest
from doors import Door
from examples import is_budgeted


@pytest.mark.parametrize(
    ("example", "session"),
    [("pydantic_ai_agent", "session:chat-5"), ("pydantic_ai_capability", "session:chat-13")],
)
async def test_the_example_is_under_a_budget(door: Door, example: str, session: str) -> None:
    door.session = session
    await is_budgeted(example, door)
