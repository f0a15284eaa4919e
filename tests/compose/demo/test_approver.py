"""Approvals in the demo: decided by a pressed key, or by anyone elsewhere."""

import asyncio
import io
import os
import pty
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from purser.compose.demo.api import Api
from purser.compose.demo.approver import Approver
from tests.compose.conftest import System
from tests.support.servers.clients import plain_client


@dataclass(frozen=True)
class Asked:
    """An approval request, and the terminal that shows it."""

    approver: Approver
    request: dict[str, Any]
    written: io.StringIO
    """The output of the terminal."""


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], object]]:
    """Presses a key of the keyboard that the demo reads."""
    ours, theirs = pty.openpty()
    with open(theirs) as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        yield lambda key: os.write(ours, key.encode())
    os.close(ours)


@pytest.fixture
async def asked(system: System, name: str) -> AsyncIterator[Asked]:
    headers = {"Authorization": f"Bearer {system.ready['admin_key']}"}
    async with plain_client(base_url=system.ready["gateway"], headers=headers) as client:
        await client.put(f"/v1/budgets/session:{name}", json={"limit_tokens": 100, "mode": "approval"})
        hold = {"key": name, "path": [f"session:{name}", f"task:{name}", f"agent:{name}/solo"], "tokens": 900}
        asks = (await client.post("/v1/holds", json=hold)).json()
        request = (await client.get(f"/v1/approvals/{asks['approval_id']}")).json()
        written = io.StringIO()
        approver = Approver(Api(client), Console(file=written, width=100), Path("data"), interactive=True)
        yield Asked(approver, request, written)


async def decided(asked: Asked, press: Callable[[str], object], keys: str) -> Any:
    """The decided request, after these keys are pressed once the terminal prompts for them."""
    deciding = asyncio.create_task(asked.approver.wait_for_decision(asked.request))
    while "Press a" not in asked.written.getvalue():
        await asyncio.sleep(0.01)
    for key in keys:
        press(key)
    return await deciding


async def test_d_denies_and_other_keys_do_nothing(asked: Asked, press: Callable[[str], object]) -> None:
    assert (await decided(asked, press, "xd"))["state"] == "denied"


async def test_a_grants_what_is_missing_rounded_up(asked: Asked, press: Callable[[str], object]) -> None:
    request = await decided(asked, press, "a")
    assert (request["state"], request["given"]["tokens"]) == ("approved", 1_000)
    assert request["decisions"][0]["note"] is None, "it was not decided automatically"


async def test_another_person_may_decide_first(asked: Asked, press: Callable[[str], object]) -> None:
    deciding = asyncio.create_task(asked.approver.wait_for_decision(asked.request))
    decision = {"decision_id": "elsewhere", "decision": "approve", "grant_tokens": 800, "note": "from my desk"}
    await asked.approver.api.post(f"/v1/approvals/{asked.request['approval_id']}/decision", decision)
    assert (await deciding)["decisions"][-1]["note"] == "from my desk"
    command = f"approvals approve {asked.request['approval_id']} --tokens 1000 --data data"
    assert command in asked.written.getvalue(), "the command for another terminal is shown"
