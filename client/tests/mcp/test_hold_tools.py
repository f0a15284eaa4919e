"""Paid tools of servers that know nothing of budgets, held by the client that calls them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doors import Door
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent
from shop import PRICE, PRICES, Shop, is_paid

from purser_client import BudgetBody
from purser_client.mcp import hold_tools


@pytest.fixture
def shop() -> Shop:
    return Shop()


@asynccontextmanager
async def holding(door: Door, shop: Shop, **options: Any) -> AsyncIterator[Client]:
    server = MCPServer("shop")
    for tool in (shop.search, shop.cheaper, shop.broken, shop.endless, shop.free):
        server.add_tool(tool)
    async with Client(server) as client:
        hold_tools(client, door.purser, PRICES, path=door.path, wait_s=0, **options)
        yield client


def _text(result: CallToolResult) -> str:
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_answer(door: Door, shop: Shop) -> None:
    await door.limit(100, limit_nano_usd=5 * PRICE)
    async with holding(door, shop) as client:
        assert _text(await client.call_tool("search", {"query": "tea"})) == "found tea"
        assert _text(await client.call_tool("free")) == "free"
    assert (door.asks, shop.ran) == (1, ["tea", "free"])
    await is_paid(door, PRICE)


async def test_a_client_that_is_asked_to_hold_again_holds_once(door: Door, shop: Shop) -> None:
    async with holding(door, shop) as client:
        hold_tools(client, door.purser, PRICES, path=door.path)
        await client.call_tool("search", {"query": "tea"})
    assert door.asks == 1
    await is_paid(door, PRICE)


async def test_the_price_is_charged_whatever_the_server_says_or_does(door: Door, shop: Shop) -> None:
    async with holding(door, shop) as client:
        await client.call_tool("cheaper")
        assert (await client.call_tool("broken")).is_error
    await is_paid(door, 2 * PRICE)


@pytest.mark.parametrize(("action", "fails"), [("accept", False), ("decline", True)])
async def test_a_round_in_which_a_tool_asks_before_it_runs_costs_nothing(
    door: Door, asked: Callable[..., Client], action: str, fails: bool
) -> None:
    async with asked(action) as client:
        hold_tools(client.session, door.purser, PRICES, path=door.path)
        assert (await client.call_tool("search", {"query": "tea"})).is_error == fails
    assert door.asks == 2
    await is_paid(door, PRICE)
    await door.is_charged(0)


async def test_a_cancelled_call_is_charged_its_price(door: Door, shop: Shop) -> None:
    async with holding(door, shop) as client:
        calling = asyncio.create_task(client.call_tool("endless"))
        await shop.running.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await is_paid(door, PRICE)


async def test_refusal_is_one_request_to_the_gate_and_none_to_the_server(door: Door, shop: Shop) -> None:
    await door.limit(100, limit_nano_usd=PRICE - 1)
    door.sent.clear()
    async with holding(door, shop) as client:
        result = await client.call_tool("search", {"query": "tea"})
    assert result.is_error
    assert _text(result).startswith(f"refuse: {door.session} may spend")
    assert (result.meta or {})["purser/verdict"] == "refuse"
    assert (door.sent, shop.ran) == (["/v1/holds"], [])
    await is_paid(door, 0)


async def test_approval(door: Door, shop: Shop) -> None:
    await door.limit(100, mode="approval", limit_nano_usd=0)
    async with holding(door, shop) as client:
        assert "purser/approval_id" in ((await client.call_tool("search", {"query": "tea"})).meta or {})
        assert shop.ran == []
        await door.approve()
        assert not (await client.call_tool("search", {"query": "tea"})).is_error
    await is_paid(door, PRICE)


async def test_parallel_calls_do_not_overspend(door: Door, shop: Shop) -> None:
    await door.limit(100, limit_nano_usd=3 * PRICE)
    async with holding(door, shop) as client:
        results = await asyncio.gather(*(client.call_tool("search", {"query": str(n)}) for n in range(8)))
    assert [one.is_error for one in results].count(False) == len(shop.ran) == 3
    await is_paid(door, 3 * PRICE)


async def test_a_session_that_a_framework_takes_holds_too(door: Door, shop: Shop) -> None:
    server = MCPServer("shop")
    server.add_tool(shop.search)
    async with Client(server) as client:
        hold_tools(client.session, door.purser, PRICES, path=door.path)
        await client.session.call_tool("search", {"query": "tea"})
    await is_paid(door, PRICE)


async def test_the_prices_are_those_of_the_moment_it_was_asked_to_hold(door: Door, shop: Shop) -> None:
    server, prices = MCPServer("shop"), dict(PRICES)
    server.add_tool(shop.search)
    async with Client(server) as client:
        hold_tools(client, door.purser, prices, path=door.path)
        prices.clear()
        await client.call_tool("search", {"query": "tea"})
    await is_paid(door, PRICE)


async def test_the_tag_of_the_tool_joins_those_of_the_calls(door: Door, shop: Shop) -> None:
    team = f"tag:team={door.session.partition(':')[2]}"
    await door.purser.budgets.change(team, BudgetBody.model_validate({"limit_nano_usd": PRICE - 1, "mode": "hard"}))
    async with holding(door, shop, tags={"team": team.partition("=")[2]}) as client:
        assert _text(await client.call_tool("search", {"query": "tea"})).startswith(f"refuse: {team} may spend")
    assert shop.ran == []
