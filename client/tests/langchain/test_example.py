"""The examples of the page."""

from doors import Door
from examples import is_budgeted


async def test_the_example_is_under_a_budget(door: Door) -> None:
    door.session = "session:chat-6"
    await is_budgeted("langchain_agent", door)


async def test_the_example_in_a_workflow_is_under_a_budget(door: Door) -> None:
    door.session = "session:chat-12"
    await is_budgeted("langgraph_workflow", door)
