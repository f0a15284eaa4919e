"""A gateway imports LiteLLM once it serves: the first call of its proxy does not wait for that."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from purser.compose.demo.provider import serve_provider
from purser.compose.processes.gateway import renew_admin_key
from tests.support.servers.purser import Purser

WITHIN_S = 120.0
FEW = 50
"""Of the many hundred modules of LiteLLM. It imports some by itself with the first request."""
PRICES = '{"gpt-4o": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06, "max_output_tokens": 4096}}'
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 50}


def imported(log: Path) -> list[str]:
    """The modules of LiteLLM that a process has imported, as Python itself reports them."""
    return re.findall(r"^import time:.*\| +(litellm[\w.]*)$", log.read_text(), re.MULTILINE)


@pytest.mark.stack
async def test_the_first_call_of_the_proxy_imports_little_of_litellm(
    dsn: str, temporal_address: str, task_queue: str, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(PRICES)
    async with serve_provider() as provider:
        purser = Purser.at(
            tmp_path,
            dsn=dsn,
            temporal_address=temporal_address,
            task_queue=task_queue,
            gateway_port="0",
            metrics_port="0",
            dashboard="false",
            log_level="debug",
            allowed_api_bases=provider.address,
            price_file=str(prices),
        )
        purser = Purser(purser.home, {**purser.env, "PYTHONPROFILEIMPORTTIME": "1"})
        headers = {
            "Authorization": f"Bearer {await renew_admin_key(dsn, tmp_path)}",
            "purser-session": "s1",
            "purser-api-base": provider.api_base,
        }
        started = await asyncio.to_thread(purser.start, "gateway")
        try:
            log = tmp_path / "stderr.log"
            async with asyncio.timeout(WITHIN_S):
                while "model libraries are imported" not in log.read_text():  # another process writes it
                    await asyncio.sleep(0.05)
            before = imported(log)
            async with httpx.AsyncClient(base_url=started.ready["gateway"], headers=headers, timeout=60) as http:
                (await http.post("/openai/v1/chat/completions", json=BODY)).raise_for_status()
        finally:
            await asyncio.to_thread(started.kill)
    assert len(before) > 10 * FEW
    assert len(imported(log)) - len(before) < FEW


COLLECTION = """
import gc, json, threading
from unittest.mock import Mock
from purser.activities.models import litellm_library
from purser.compose.processes.warming import warm_up_models
from purser.context import tokens
left = []
# As many objects as the import of LiteLLM leaves, without its seconds.
litellm_library.litellm_library = lambda: left.extend([] for _ in range(100_000))
tokens.warm_up = Mock()
warm_up_models()
[importing] = [thread for thread in threading.enumerate() if thread.name == "model libraries"]
importing.join()
print(json.dumps([len(left), gc.get_freeze_count(), len(gc.get_objects())]))
"""


def test_no_full_garbage_collection_traverses_what_the_import_has_left() -> None:
    done = subprocess.run([sys.executable, "-c", COLLECTION], capture_output=True, text=True, check=True)
    left, frozen, seen = json.loads(done.stdout.splitlines()[-1])
    assert frozen > left > 10_000 > seen
