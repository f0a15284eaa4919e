"""The server of budgets, as its clients see it."""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from doors import Door, eventually
from mcp import Client, StdioServerParameters

from purser_client import BudgetBody
from purser_client.mcp import budget_server


def served(door: Door) -> Client:
    """A client of the server, in this process."""
    return Client(budget_server(door.purser, door.path))


async def _told(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_a_model_learns_what_is_left_and_how_fast_it_goes(door: Door) -> None:
    async with served(door) as client:
        await door.limit(1_000)
        async with door.purser.call(door.path, input_tokens=1, max_output_tokens=299) as call:
            await call.start()
            await call.settle({"total": 300})
        [left] = (await _told(client, "budget_left"))["result"]
        assert (left["scope"], left["tokens"], left["nano_usd"], left["mode"]) == (door.session, 700, None, "hard")
        assert not left["frozen"]
        [forecast] = (await _told(client, "budget_forecast"))["result"]
        assert forecast["scope"] == door.session
        assert forecast["used_up_at"] is None


async def test_a_model_learns_of_further_limits_of_its_scope(door: Door) -> None:
    async with served(door) as client:
        await door.limit(1_000)
        rolling = f"{door.session}@5h"
        await door.purser.budgets.change(rolling, BudgetBody(limit_tokens=50))
        lefts = (await _told(client, "budget_left"))["result"]
        assert [(left["scope"], left["tokens"]) for left in lefts] == [(door.session, 1_000), (rolling, 50)]
        forecasts = (await _told(client, "budget_forecast"))["result"]
        assert [forecast["scope"] for forecast in forecasts] == [door.session, rolling]


async def test_a_model_asks_for_more_and_learns_that_it_was_granted(door: Door) -> None:
    async with served(door) as client:
        await door.limit(100, mode="approval")
        asked = await _told(client, "ask_for_more", tokens=5_000)
        assert asked["verdict"] == "ask"
        state = await _told(client, "approval_state", approval_id=asked["approval_id"])
        assert (state["state"], state["scope"], state["asked_tokens"]) == ("pending", door.session, 4_900)
        await door.approve()
        state = await _told(client, "approval_state", approval_id=asked["approval_id"])
        assert (state["state"], state["given_tokens"]) == ("approved", 4_900)
        [left] = (await _told(client, "budget_left"))["result"]
        assert left["tokens"] == 5_000


async def test_nobody_is_asked_for_what_fits_already_and_nothing_stays_held(door: Door) -> None:
    async with served(door) as client:
        await door.limit(100, mode="approval")
        asked = await _told(client, "ask_for_more", tokens=50)
        assert (asked["verdict"], asked["approval_id"]) == ("allow", None)
        assert await door.figures() == (0, 0)


async def test_a_model_is_told_what_the_gateway_says(door: Door) -> None:
    async with served(door) as client:
        result = await client.call_tool("approval_state", {"approval_id": "none"})
        assert result.is_error
        assert "none" in str(result.content)


async def test_reading_tools_say_that_they_only_read(door: Door) -> None:
    async with served(door) as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        reading = {name for name, hints in tools.items() if hints is not None and hints.read_only_hint}
        assert reading == {"budget_left", "budget_forecast", "approval_state"}
        assert tools.keys() - reading == {"ask_for_more"}


async def test_it_serves_stdin_and_stdout(door: Door) -> None:
    command = ["-m", "purser_client.mcp", *door.path]
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))) as client:
        await door.limit(1_000)
        [left] = (await _told(client, "budget_left"))["result"]
    assert (left["scope"], left["tokens"]) == (door.session, 1_000)


async def test_it_serves_http_on_a_port_of_this_machine(door: Door) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["-m", "purser_client.mcp", *door.path, "--port", str(port)]
    process = await asyncio.create_subprocess_exec(sys.executable, *command)

    async def listening() -> bool | None:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return True
        return None

    try:
        await eventually(listening)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            [left] = (await _told(client, "budget_left"))["result"]
        assert left["scope"] == door.session
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize(
    ("options", "env", "code", "said"),
    [
        ((), {"PURSER_URL": ""}, 1, "set PURSER_URL"),
        ((), {"PURSER_API_KEY": ""}, 1, "set PURSER_API_KEY"),
        ((), {"PURSER_URL": "http://u:s3cr3t@h"}, 1, "leave out what is before @"),
        (("--port", "65536"), {}, 2, "65536 is no port"),
    ],
)
def test_a_server_that_cannot_start_says_why(
    options: tuple[str, ...], env: dict[str, str], code: int, said: str
) -> None:
    given = {"PURSER_URL": "http://127.0.0.1:9", "PURSER_API_KEY": "k"} | env
    command = [sys.executable, "-m", "purser_client.mcp", "session:s1", *options]
    done = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "s3cr3t" not in done.stderr
