"""`/v1/sessions/{id}/window`: figures of strategies as query parameters."""

import httpx

from purser.context.figures import MOST
from tests.gateway.conftest import RunningGateway
from tests.gateway.sessions.conftest import TALK
from tests.support.context.session_requests import S1, append


async def test_4a_figures_of_a_strategy_are_query_parameters(session: httpx.AsyncClient) -> None:
    options = {"budget": "20000", "strategy": "sliding_window", "keeps_first_request": "false"}
    for rounds in (2, 5):
        shown = await session.get(f"{S1}/window", params={**options, "rounds": str(rounds)})
        assert shown.json()["seqs"] == [*range(60 - 2 * rounds + 1, 61)]
    sizes = {**options, "strategy": "smart_truncation", "rounds_by_size": "9:3"}
    assert (await session.get(f"{S1}/window", params=sizes)).json()["seqs"] == [*range(55, 61)]
    wrong = await session.get(f"{S1}/window", params={**options, "order": "system"})
    assert wrong.status_code == 422
    assert "window.order" in wrong.json()["detail"]


async def test_a_preview_takes_the_figures_of_the_session_and_a_default_budget(session: httpx.AsyncClient) -> None:
    figures = {"strategy": "sliding_window", "rounds": 3, "keeps_first_request": False, "max_tokens": 120}
    await session.put(f"{S1}/settings", json={"context": figures})
    shown = (await session.get(f"{S1}/window", params={"budget": 20_000})).json()
    assert (shown["seqs"], shown["strategy"]) == ([*range(55, 61)], "sliding_window")
    by_default = (await session.get(f"{S1}/window")).json()
    assert 60 < by_default["tokens"] <= 120


async def test_000_5_a_window_as_text_takes_the_budget_of_routers(
    agent: httpx.AsyncClient, gateway: RunningGateway
) -> None:
    await append(agent, *TALK * 9)
    shown = (await agent.get(f"{S1}/window", params={"format": "text", "strategy": "token_truncation"})).json()
    assert 5_000 < shown["tokens"] <= 8_000


async def test_the_largest_figures_are_read_and_larger_ones_refused(session: httpx.AsyncClient) -> None:
    for most, status in ((MOST, 200), (MOST + 1, 422)):
        for name in ("batch_count", "recents_count", "primers_count", "rounds", "history_window_size"):
            query = {"budget": "500", "model": "gpt-4o", name: str(most)}
            assert (await session.get(f"{S1}/window", params=query)).status_code == status, (name, most)
