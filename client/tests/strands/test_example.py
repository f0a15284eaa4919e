"""The example of the page."""

from doors import Door
from examples import is_budgeted


async def test_the_example_is_under_a_budget(door: Door) -> None:
    door.session = "session:chat-10"
    await is_budgeted("strands_workflow", door)
