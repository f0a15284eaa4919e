"""`purser sign-in`, and keys that expire."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.compose.conftest import System
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands


def test_a_link_signs_a_browser_in_once(system: System) -> None:
    shown = system.purser.run("sign-in").stdout.strip()
    address, _, token = shown.partition("#")
    assert address == f"{system.ready['gateway']}/sign-in"
    answers = [httpx.post(address, json={"token": token}, timeout=PATIENCE_S).status_code for _ in range(2)]
    assert answers == [200, 401]


def test_a_role_that_opens_no_pages_gets_no_link(system: System, name: str, tmp_path: Path) -> None:
    made = system.purser.json("keys", "create", name, "--role", "agent")
    agent = Commands.at(tmp_path, url=system.ready["gateway"], api_key=made["key"])
    assert agent.json("sign-in", code=1)["status"] == 403


@pytest.mark.parametrize("where", [[], ["--tenant", "elsewhere"]])
def test_a_key_may_expire_and_have_its_own_rate_limit(purser: Commands, name: str, where: list[str]) -> None:
    options = ("--role", "viewer", "--expires", "30d", "--rate-limit", "50", "--path", "user:ana, session:s1")
    made = purser.json("keys", "create", name, *options, *where)
    left = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < left <= timedelta(days=30)
    assert made["rate_limit_per_s"] == 50
    assert made["path"] == ["user:ana", "session:s1"]
    if not where:
        changed = purser.json("keys", "change", made["key_id"], "--path", "task:t1")
        assert changed["path"] == ["task:t1"]
        assert "live until" in purser.run("keys", "list").stdout


@pytest.mark.parametrize("span", ["30", "d", "0d", "-1d", "1.5h", "3x", "99999w", ""])
def test_a_duration_is_a_number_and_a_unit(purser: Commands, name: str, span: str) -> None:
    problem = purser.json("keys", "create", name, "--role", "viewer", f"--expires={span}", code=2)
    assert problem["type"] == "urn:purser:bad-usage"
