"""The example of the page."""

from doors import Door
from examples import run_again, run_example
from shop import is_paid


async def test_the_example_is_under_a_budget(door: Door) -> None:
    door.session = "session:chat-8"
    assert await run_example("mcp_paid_tools", door) == "three pages about tea"
    await is_paid(door, 5_000_000)
    await door.limit(100, limit_nano_usd=5_000_000)
    assert (await run_again("mcp_paid_tools", door)).startswith(f"refuse: {door.session} may spend")
    await is_paid(door, 5_000_000)
