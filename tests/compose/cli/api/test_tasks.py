"""`purser tasks`, `purser approvals`: controlling tasks and deciding requests on the command line."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.compose.conftest import System
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands
from tests.support.servers.purser import command

Write = Callable[..., Path]
TICKET = "https://tickets.example.com/4711"
SHORT = {"agent": {"limit_tokens": 50, "mode": "approval"}}


@contextmanager
def running(purser: Commands, file: Path) -> Iterator[subprocess.Popen[str]]:
    """Run `purser run` in the background."""
    process = subprocess.Popen(
        [*command(), "run", str(file), "--json"],
        env=purser.env,
        cwd=purser.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def submit(system: System, file: Path) -> None:
    """Submit a task without waiting for its end."""
    headers = {"Authorization": f"Bearer {system.ready['admin_key']}", "Content-Type": "application/json"}
    address = f"{system.ready['gateway']}/v1/tasks"
    httpx.post(address, content=file.read_bytes(), headers=headers, timeout=PATIENCE_S).raise_for_status()


def until(purser: Commands, name: str, status: str) -> dict[str, Any]:
    """The task, once it has this status."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        task: dict[str, Any] = json.loads(purser.run("tasks", "show", name, "--json").stdout or "{}")
        if task.get("status") == status:
            return task
        time.sleep(0.05)
    raise AssertionError(f"task {name} did not become {status}: {task}")


def pending(purser: Commands, name: str) -> str:
    """Id of the request that this task waits for."""
    page = purser.json("approvals", "list", "--state", "pending")
    (found,) = [one for one in page["items"] if name in one["scope"]]
    return str(found["approval_id"])


def test_an_approval_lets_a_waiting_run_finish(purser: Commands, write_task: Write, name: str) -> None:
    with running(purser, write_task(budget=SHORT)) as run:
        until(purser, name, "waiting_approval")
        approval_id = pending(purser, name)
        shown = purser.run("approvals", "show", approval_id)
        assert f"agent:{name}/solo" in shown.stdout
        assert re.search(r"^task +\S", shown.stdout, re.M)
        assert re.search(r"^exact .*1 go on, 100% used, slowed by 5000 ms \(agent:", shown.stdout, re.M)
        assert re.search(r"^no delay .*1 go on, 7\d% used$", shown.stdout, re.M)
        assert run.stderr is not None
        assert any(f"/approvals?id={approval_id}" in line for line in run.stderr)
        assert (
            purser.json("approvals", "approve", approval_id, "--note", "fine", "--ticket-url", TICKET)["state"]
            == "approved"
        )
        assert purser.run("approvals", "show", approval_id).stdout.endswith(f": fine\nticket     {TICKET}\n")
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    task = json.loads(out)
    assert (task["status"], task["agents"]["solo"]["approvals"]) == ("completed", 1)
    seen = purser.run("tasks", "window", name, "--agent", "solo").stdout
    assert re.search(r"^solo, turn 1, .* tokens, 0 saved by hybrid, context budget ", seen, re.M)
    assert re.search(r"^input +\d+ +verbatim +fits", seen, re.M)
    assert purser.json("tasks", "window", name, "--turn", "1")["parts"][-1]["part"] == "input"
    session_id = purser.json("tasks", "show", name)["session_id"]
    compared = purser.run("window", "compare", session_id, "--budget", "4000", "--model", "gpt-4o").stdout
    assert re.search(r"^auto → \w+ +\d+ +0 +\$", compared, re.M)
    none = purser.run("tasks", "window", name, "--turn", "9")
    assert (none.returncode, "has no such call" in none.stderr) == (1, True)


def test_a_denial_ends_it_refused(system: System, write_task: Write, name: str) -> None:
    submit(system, write_task(budget=SHORT))
    until(system.purser, name, "waiting_approval")
    done = system.purser.run("approvals", "deny", pending(system.purser, name), "--note", "no")
    assert "is denied" in done.stdout
    until(system.purser, name, "refused")


def test_several_requests_are_decided_each_by_itself(system: System, write_task: Write, name: str) -> None:
    purser, names = system.purser, [f"{name}-a", f"{name}-b"]
    for one in names:
        submit(system, write_task(task_id=one, budget=SHORT))
        until(purser, one, "waiting_approval")
    first, second = (pending(purser, one) for one in names)
    done = purser.run("approvals", "approve", first, "nobody", second, first, "--tokens", "100000", "--note", "both")
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (1, 3)
    assert (lines[0], lines[2]) == (f"{first} is approved.", f"{second} is approved.")
    assert lines[1].startswith("nobody was not decided: ")
    for one in names:
        until(purser, one, "completed")
        assert purser.json("budget", "show", f"agent:{one}/solo")["tokens"]["granted"] == 100_000
    answers = purser.json("approvals", "deny", first, "nobody", code=1)["items"]
    assert [one["approval_id"] for one in answers] == [first, "nobody"]
    assert answers[1]["problem"]["type"] == "urn:purser:not-found"


def test_one_decision_id_is_not_used_for_several_requests(purser: Commands) -> None:
    problem = purser.json("approvals", "approve", "a", "b", "--decision-id", "d", code=2)
    assert "--decision-id is the id of one decision" in problem["detail"]


def test_a_decision_sent_twice_under_its_id_counts_once(system: System, write_task: Write, name: str) -> None:
    submit(system, write_task(budget=SHORT))
    purser = system.purser
    until(purser, name, "waiting_approval")
    command = ["approvals", "approve", pending(purser, name), "--tokens", "100000", "--decision-id", f"d-{name}"]
    assert purser.json(*command) == purser.json(*command)
    until(purser, name, "completed")
    assert purser.json("budget", "show", f"agent:{name}/solo")["tokens"]["granted"] == 100_000


def test_a_waiting_task_is_paused_resumed_and_cancelled(purser: Commands, write_task: Write, name: str) -> None:
    with running(purser, write_task(budget=SHORT)) as run:
        until(purser, name, "waiting_approval")
        for verb in ("pause", "resume", "cancel"):
            assert purser.json("tasks", verb, name)["workflow_id"] == f"task-default/{name}"
        out, _ = run.communicate(timeout=60)
    assert (run.returncode, json.loads(out)["status"]) == (1, "cancelled")
    assert purser.json("budget", "show", f"agent:{name}/solo")["tokens"]["held"] == 0
    assert purser.json("tasks", "pause", name, code=1)["type"] == "urn:purser:task-ended"


def test_tasks_are_listed_by_state(purser: Commands, write_task: Write, name: str) -> None:
    purser.json("run", str(write_task()))
    page = purser.json("tasks", "list", "--state", "completed")
    assert name in [task["task_id"] for task in page["items"]]
    assert name in purser.run("tasks", "list").stdout
    assert purser.json("tasks", "list", "--state", "asleep", code=2)["type"] == "urn:purser:bad-usage"


def test_an_unknown_id_is_a_problem(purser: Commands) -> None:
    for words in (["tasks", "show", "nothing"], ["tasks", "cancel", "nothing"], ["approvals", "deny", "nobody"]):
        problem = purser.json(*words, code=1)
        assert (problem["status"], problem["type"]) == (404, "urn:purser:not-found")


@pytest.mark.parametrize("id_", ["", "..", "a/b", "a/../b", "?x=1#y", "\udcff"])
def test_an_id_that_nothing_can_have_is_refused_before_it_is_sent(purser: Commands, id_: str) -> None:
    for words in (
        ["tasks", "show"],
        ["tasks", "window"],
        ["tasks", "cancel"],
        ["approvals", "show"],
        ["approvals", "approve"],
        ["keys", "revoke"],
        ["keys", "change", "--path", ""],
        ["window", "compare", "--budget", "100", "--model", "gpt-4o"],
    ):
        problem = purser.json(*words, id_, code=1)
        assert problem["type"] == "urn:purser:invalid-scope"
        assert f"{id_!r} is not valid: " in problem["detail"]


def test_text_that_is_not_utf_8_is_refused_before_it_is_sent(purser: Commands) -> None:
    problem = purser.json("tasks", "window", "t", "--agent", "\udcff", code=1)
    assert problem["type"] == "urn:purser:invalid-request"
    assert "UTF-8" in problem["detail"]


def test_a_time_without_its_zone_is_bad_usage(purser: Commands) -> None:
    for words in (
        ["approvals", "approve", "a", "--until"],
        ["usage", "--from"],
        ["usage", "--to"],
        ["ledger", "--from"],
    ):
        for text in ("2026-11-27", "2026-11-27T18:00:00", "tomorrow"):
            problem = purser.json(*words, text, code=2)
            assert f"{text!r} is not a time with its zone: write it as 2026-11-20T18:00:00Z" in problem["detail"]


def test_a_bad_amount_is_bad_usage(purser: Commands) -> None:
    for option, amount in (("--tokens", "0"), ("--usd", "-1"), ("--usd", "0.0000000001"), ("--usd", "1e3")):
        problem = purser.json("approvals", "approve", "a", option, amount, code=2)
        assert problem["type"] == "urn:purser:bad-usage"
