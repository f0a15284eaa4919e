"""Money of a call follows the model that the worker knows by the name of the request."""

from doors import Door
from temporal_table import Project
from temporal_table import project as project


async def test_an_answer_is_charged_its_price(door: Door, project: Project) -> None:
    await door.limit(5_000, limit_nano_usd=10**9)
    assert "hello" in await project.says()
    await door.is_charged(*(one["charged_tokens"] for one in await door.served()))
    assert (await door.purser.budgets.show(door.session)).nano_usd.spent > 0
