"""A task from its submission to its end."""

from compose.provider import charged_tokens
from tests.support.world import World


async def test_a_graph_of_three_agents_completes_and_is_charged_what_the_provider_served(house: World) -> None:
    agents = (
        house.agent("left", "Left says so."),
        house.agent("right", "Right says so."),
        house.agent("judge", "Both are right.", depends_on=["left", "right"]),
    )
    task = await house.run(*agents)
    assert task["status"] == "completed"
    assert {name: agent["status"] for name, agent in task["agents"].items()} == dict.fromkeys(
        ("left", "right", "judge"), "completed"
    )
    assert task["agents"]["judge"]["reply"] == "Both are right."
    served = house.provider.served()
    assert len(served) == 3
    for name, agent in task["agents"].items():
        usage = agent["usage"]
        charged = sum(usage[kind] for kind in ("input", "cache_read", "output"))
        assert charged == charged_tokens(served, agent=name)
        assert (agent["turns"], agent["holds"], usage["estimated"]) == (1, 1, False)
    assert await house.spent(f"task:{task['task_id']}") == charged_tokens(served)
    await house.audited()
