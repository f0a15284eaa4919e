"""The table of paid tools: in each cell, what is charged is the price of the tools that have run."""

import asyncio
from collections.abc import Callable

import httpx
import pytest
from doors import Door
from mcp import Client
from mcp.types import CallToolResult, TextContent
from shop import PRICE, PRICES, Clients, Shop, is_paid

from purser_client import BudgetBody, Patience
from purser_client.mcp import PaidTools

NOWHERE = httpx.URL("http://127.0.0.1:9")


def _text(result: CallToolResult) -> str:
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_answer(door: Door, client_of: Clients, shop: Shop) -> None:
    await door.limit(100, limit_nano_usd=5 * PRICE)
    async with client_of() as client:
        result = await client.call_tool("search", {"query": "tea"})
    assert (_text(result), result.is_error, shop.ran) == ("found tea", False, ["tea"])
    await is_paid(door, PRICE)
    await door.is_charged(0)


async def test_a_result_may_say_what_the_call_has_cost(door: Door, client_of: Clients) -> None:
    async with client_of() as client:
        await client.call_tool("cheaper")
    await is_paid(door, PRICE // 2)


async def test_a_tool_that_fails_is_charged_because_it_has_run(door: Door, client_of: Clients) -> None:
    async with client_of() as client:
        assert (await client.call_tool("broken")).is_error
    await is_paid(door, PRICE)


async def test_a_retry_is_a_call_of_its_own(door: Door, client_of: Clients) -> None:
    async with client_of() as client:
        assert (await client.call_tool("broken")).is_error
        assert not (await client.call_tool("search", {"query": "tea"})).is_error
    assert door.asks == 2
    await is_paid(door, 2 * PRICE)


@pytest.mark.parametrize(("action", "fails"), [("accept", False), ("decline", True)])
async def test_a_round_in_which_a_tool_asks_before_it_runs_costs_nothing(
    door: Door, asked: Callable[..., Client], action: str, fails: bool
) -> None:
    paid = PaidTools(door.purser, PRICES, path=door.path)
    async with asked(action, paid) as client:
        assert (await client.call_tool("search", {"query": "tea"})).is_error == fails
    assert door.asks == 2
    await is_paid(door, PRICE)
    await door.is_charged(0)


async def test_a_cancelled_call_is_charged_its_estimate(door: Door, client_of: Clients, shop: Shop) -> None:
    async with client_of() as client:
        calling = asyncio.create_task(client.call_tool("endless"))
        await shop.running.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await is_paid(door, PRICE)
    await door.is_charged(1)


async def test_refusal_is_one_request_to_the_gate_and_the_model_reads_why(
    door: Door, client_of: Clients, shop: Shop
) -> None:
    await door.limit(100, limit_nano_usd=PRICE - 1)
    door.sent.clear()
    async with client_of() as client:
        result = await client.call_tool("search", {"query": "tea"})
    assert result.is_error
    assert _text(result).startswith(f"refuse: {door.session} may spend")
    assert result.meta is not None
    assert result.meta["purser/verdict"] == "refuse"
    assert (door.sent, shop.ran) == (["/v1/holds"], [])
    await is_paid(door, 0)


async def test_wait(door: Door, client_of: Clients, shop: Shop) -> None:
    await door.limit(100)
    async with door.taken(100), client_of() as client:
        assert "wait" in _text(await client.call_tool("search", {"query": "tea"}))
    async with client_of(wait_s=60) as client:
        async with door.taken(100):
            calling = asyncio.create_task(client.call_tool("search", {"query": "milk"}))
            await door.asked(2)
            assert shop.ran == []
        assert not (await calling).is_error
    await is_paid(door, PRICE)


async def test_approval(door: Door, client_of: Clients, shop: Shop) -> None:
    await door.limit(100, mode="approval", limit_nano_usd=0)
    async with client_of() as client:
        result = await client.call_tool("search", {"query": "tea"})
        assert result.meta is not None
        assert (await door.purser.approvals.show(result.meta["purser/approval_id"])).scope == door.session
        assert shop.ran == []
        await door.approve()
        assert not (await client.call_tool("search", {"query": "tea"})).is_error
    await is_paid(door, PRICE)


async def test_parallel_calls_do_not_overspend(door: Door, client_of: Clients, shop: Shop) -> None:
    await door.limit(100, limit_nano_usd=3 * PRICE)
    async with client_of() as client:
        results = await asyncio.gather(*(client.call_tool("search", {"query": str(n)}) for n in range(8)))
    assert [one.is_error for one in results].count(False) == len(shop.ran) == 3
    await is_paid(door, 3 * PRICE)


async def test_other_tools_are_free(door: Door, client_of: Clients) -> None:
    await door.limit(0)
    async with client_of() as client:
        assert _text(await client.call_tool("free")) == "free"
    assert door.asks == 0


async def test_a_shared_server_charges_whom_the_connection_names(door: Door, client_of: Clients) -> None:
    async with client_of(path=["session:nobody"], path_of=lambda params, ctx: door.path) as client:
        await client.call_tool("search", {"query": "tea"})
    await is_paid(door, PRICE)


async def test_nothing_runs_without_the_gateway(door: Door, client_of: Clients, shop: Shop) -> None:
    door.purser.patience = Patience(retries=0)
    door.purser._http.base_url = NOWHERE
    async with client_of() as client:
        assert (await client.call_tool("search", {"query": "tea"})).is_error
    assert shop.ran == []


async def test_a_tool_that_has_run_answers_even_if_the_gateway_is_gone(
    door: Door, client_of: Clients, shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    async def leave() -> None:
        door.purser._http.base_url = NOWHERE

    door.purser.patience = Patience(retries=0)
    shop.at_the_end = leave
    async with client_of(lease_s=4) as client:
        assert _text(await client.call_tool("search", {"query": "tea"})) == "found tea"
    assert "the lease charges the price of search" in caplog.text


async def test_a_tool_has_a_budget_of_its_own_by_its_tag(door: Door, client_of: Clients, shop: Shop) -> None:
    tag = "tag:tool=broken"
    await door.purser.budgets.change(tag, BudgetBody.model_validate({"limit_nano_usd": PRICE - 1, "mode": "hard"}))
    try:
        async with client_of() as client:
            assert _text(await client.call_tool("broken")).startswith(f"refuse: {tag} may spend")
    finally:
        await door.purser.budgets.change(tag, BudgetBody(limit_nano_usd=None))
    assert shop.ran == []


async def test_clients_see_the_prices(client_of: Clients) -> None:
    async with client_of() as client:
        extensions = client.server_capabilities.extensions or {}
    assert extensions["purser/paid-tools"]["nano_usd"]["search"] == PRICE
