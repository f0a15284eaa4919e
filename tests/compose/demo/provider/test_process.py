"""The provider as a separate process."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from purser.compose.demo.provider import Outcome, Recording, Reply, read_log
from tests.support.servers.clients import plain_client


@asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "purser.compose.demo.provider", *arguments, stdout=pipe, stderr=pipe
    )
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
        await running.communicate()


@pytest.mark.stack
async def test_it_prints_its_address_serves_what_it_was_given_and_stops_on_a_signal(tmp_path: Path) -> None:
    recordings, log, script = tmp_path / "recordings", tmp_path / "log.jsonl", tmp_path / "script.json"
    recordings.mkdir()
    spoken = Recording(name="r1", agents={"a1": (Reply(content="Recorded."),)})
    (recordings / "r1.json").write_text(spoken.model_dump_json())
    script.write_text('{"faults": [{"kind": "unavailable"}]}')
    options = ["--port", "0", "--recordings", recordings, "--log", log, "--script", script, "--key", "right"]
    async with process(*map(str, options)) as provider:
        assert provider.stdout is not None
        async with asyncio.timeout(30):
            address = json.loads(await provider.stdout.readline())["address"]
        async with plain_client(headers={"Authorization": "Bearer right"}) as http:
            url = f"{address}/r/r1/a1/v1/chat/completions"
            chat = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
            assert (await http.post(url, json=chat)).status_code == 503
            answer = (await http.post(url, json=chat)).json()
        assert answer["choices"][0]["message"]["content"] == "Recorded."
        provider.terminate()
        async with asyncio.timeout(30):
            assert await provider.wait() == 0
    assert [one.end and one.end.outcome for one in read_log(log)] == [Outcome.REFUSED, Outcome.ANSWERED]


async def test_an_invalid_script_is_named(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"faults": [{"kind": "explode"}]}')
    async with process("--port", "0", "--script", str(script)) as provider:
        _, said = await provider.communicate()
        assert provider.returncode == 1
    assert "script.json" in said.decode()
    assert "faults.0.kind" in said.decode()
    assert "Traceback" not in said.decode()
