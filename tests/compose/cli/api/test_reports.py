"""`purser usage`, `purser ledger` and `purser events`."""

import json
import subprocess
from typing import Any

import httpx
import pytest

from tests.compose.conftest import System
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands
from tests.support.servers.purser import command


@pytest.fixture
def spent(system: System, name: str) -> str:
    """The scope of a session that was charged 90 of 100 held tokens."""
    scope = f"session:{name}"
    headers = {"Authorization": f"Bearer {system.ready['admin_key']}"}
    with httpx.Client(base_url=system.ready["gateway"], headers=headers, timeout=PATIENCE_S) as client:
        hold = client.post("/v1/holds", json={"key": name, "path": [scope], "tokens": 100, "model": f"m-{name}"}).json()
        body = {"attempt": 1, "usage": {"input": 80, "output": 10}}
        client.post(f"/v1/holds/{hold['hold_id']}/settle", json=body).raise_for_status()
    return scope


def test_usage_is_summed_by_what_is_asked(purser: Commands, spent: str, name: str) -> None:
    by_model = {line["id"]: line for line in purser.json("usage", "--limit", "1000")["items"]}
    assert by_model[f"m-{name}"]["charged_tokens"] == 90
    shown = purser.run("usage", "--by", "session", "--limit", "1000")
    assert shown.returncode == 0, shown.stderr
    assert any(name in line and " 90 " in line for line in shown.stdout.splitlines())
    [within] = purser.json("usage", "--within", spent, "--all")["items"]
    assert within == by_model[f"m-{name}"]
    assert purser.json("usage", "--by", "day", "--to", "2020-01-01T00:00:00Z")["items"] == []
    assert purser.run("usage", "--by", "day", "--timezone", "Mars/Base").returncode == 1


def test_entries_are_filtered_and_shown_with_what_they_moved(purser: Commands, spent: str) -> None:
    entries = purser.json("ledger", "--scope", spent)["items"]
    assert [entry["kind"] for entry in entries] == ["settle", "hold"]
    shown = purser.run("ledger", "--scope", spent, "--kind", "settle")
    assert "+90" in shown.stdout
    assert "-100" in shown.stdout
    assert "There are more" in purser.run("ledger", "--scope", spent, "--limit", "1").stdout


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_events_are_printed_up_to_the_last_one(purser: Commands, name: str) -> None:
    scope = f"session:{name}"
    purser.json("budget", "set", scope, "--limit-tokens", "5")
    purser.json("budget", "set", scope, "--limit-tokens", "6")
    answer = purser.run("events", "--scope", scope, "--json")
    assert answer.returncode == 0, answer.stderr
    found = events_of(answer.stdout)
    assert [(event["kind"], event["scope"]) for event in found] == [("budget", scope)] * 2
    later = purser.run("events", "--scope", scope, "--after", str(found[0]["id"]), "--json")
    assert events_of(later.stdout) == found[1:]
    assert f"budget {scope}" in purser.run("events", "--scope", scope).stdout
    assert purser.run("events", "--scope", "squad:x").returncode == 1


def test_events_are_followed_as_they_happen(purser: Commands, name: str) -> None:
    scope = f"session:{name}"
    following = subprocess.Popen(
        [*command(), "events", "--follow", "--after", "0", "--scope", scope, "--json"],
        env=purser.env, cwd=purser.home, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for limit in (5, 6):
            purser.json("budget", "set", scope, "--limit-tokens", str(limit))
            assert following.stdout is not None
            assert json.loads(following.stdout.readline())["data"]["fields"]["limit_tokens"]["after"] == limit
    finally:
        following.kill()
        following.communicate()
