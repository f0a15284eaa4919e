"""The examples of the page."""

from doors import Door
from examples import is_budgeted


async def test_the_example_is_under_a_budget(door: Door) -> None:
    door.session = "session:chat-9"
    await is_budgeted("google_adk_agent", door)


async def test_the_example_in_a_workflow_is_under_a_budget(door: Door) -> None:
    door.session = "session:chat-11"
    await is_budgeted("google_adk_workflow", door)
