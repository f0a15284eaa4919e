"""`/v1/sessions/{session_id}/window/compare`: all strategies on one stored session."""

import httpx

from purser.context.strategies import StrategyName
from tests.support.context.conversations import calling, result, talk, user
from tests.support.context.session_requests import S1, append


async def test_replay_harness_compares_all_strategies_on_a_stored_conversation(agent: httpx.AsyncClient) -> None:
    steps = [message for turn in range(4) for message in (calling(f"c{turn}"), result(f"c{turn}", "row " * 400))]
    stored = [message.to_dict() for message in [*talk(30), user("Look it up."), *steps, *talk(4)]]
    await append(agent, *stored)
    query: dict[str, str | int] = {"budget": 900, "model": "priced-model"}
    answer = await agent.get(f"{S1}/window/compare", params=query)
    assert answer.status_code == 200, answer.text
    rows = {one["strategy"]: one for one in answer.json()["windows"]}
    assert [*rows] == list(StrategyName)
    for strategy, row in rows.items():
        live = (await agent.get(f"{S1}/window", params=query | {"strategy": strategy})).json()
        assert (row["tokens"], row["applied"], row["reason"]) == (live["tokens"], live["strategy"], live["reason"])
        assert row["tokens_saved"] == live["stats"]["tokens_saved"]
        assert row["nano_usd"] == row["tokens"] * 1_000, "a dollar for a million tokens of input"
        counts = [row[name] for name in ("verbatim", "clipped", "cleared", "summarised", "dropped")]
        assert sum(counts) == len(stored), "each message is in one place"
    assert rows["three_part"]["summarised"] > 0 == rows["three_part"]["dropped"]
    assert rows["token_truncation"]["cleared"] > 0 == rows["token_truncation"]["summarised"]


async def test_a_comparison_states_what_does_not_fit_and_knows_no_price_of_an_unknown_model(
    agent: httpx.AsyncClient,
) -> None:
    await append(agent, *(message.to_dict() for message in talk(6)))
    tiny = (await agent.get(f"{S1}/window/compare", params={"budget": 5, "model": "no-such-model"})).json()
    assert all(one["tokens"] is None and "budget of 5 tokens" in one["reason"] for one in tiny["windows"])
    roomy = (await agent.get(f"{S1}/window/compare", params={"budget": 5_000, "model": "no-such-model"})).json()
    assert {(one["tokens_saved"], one["nano_usd"]) for one in roomy["windows"]} == {(0, None)}
    assert (await agent.get("/v1/sessions/none/window/compare", params={"budget": 5})).status_code == 404
