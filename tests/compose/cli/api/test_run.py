"""`purser run`."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from purser.compose.cli.api.client import Gateway
from purser.compose.cli.api.run import decide_hints
from tests.compose.conftest import System
from tests.support.servers.commands import Commands
from tests.support.servers.purser import command

Write = Callable[..., Path]


def test_a_task_that_completes_is_exit_code_0_and_its_document(purser: Commands, write_task: Write, name: str) -> None:
    file = write_task()
    task = purser.json("run", str(file))
    assert (task["task_id"], task["status"]) == (name, "completed")
    assert task["agents"]["solo"]["reply"]
    assert task == purser.json("tasks", "show", name)
    assert task == purser.json("run", str(file)), "the same file again is the same task"


def test_a_dry_run_checks_the_file_and_starts_nothing(purser: Commands, write_task: Write, name: str) -> None:
    agent = {"id": "solo", "model": "openai/any", "instructions": "Answer."}
    faulty = str(write_task(agents=[agent | {"depends_on": ["none"]}, agent]))
    detail = purser.json("run", "--dry-run", faulty, code=1)["detail"]
    assert ("names 'none'" in detail, "second time" in detail) == (True, True)
    file = str(write_task())
    assert purser.json("run", "--dry-run", file)["task_id"] == name
    assert f"{name} would be accepted" in purser.run("run", "--dry-run", file).stdout
    assert purser.json("tasks", "show", name, code=1)["status"] == 404


def test_the_request_of_a_task_is_found_on_any_page() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        first = "cursor" not in request.url.params
        one = {"approval_id": "a1" if first else "a2", "waiters": [{"task_id": "other" if first else "mine"}]}
        return httpx.Response(200, json={"items": [one], "cursor": "next" if first else None})

    with httpx.Client(base_url="http://gateway", transport=httpx.MockTransport(answer)) as client:
        assert decide_hints(Gateway(client), {"task_id": "mine", "status": "waiting_approval"}) == [
            "decide at http://gateway/approvals?id=a2"
        ]


def test_people_see_progress_on_stderr_and_the_result_on_stdout(purser: Commands, write_task: Write, name: str) -> None:
    done = purser.run("run", str(write_task()))
    assert done.returncode == 0, done.stderr
    assert f"{name} completed" in done.stdout
    assert f"agent:{name}/solo" in done.stdout
    assert f"{name} running" in done.stderr


@pytest.mark.stack
def test_while_a_call_is_tried_again_its_failure_is_shown(
    system: System, purser: Commands, write_task: Write, name: str
) -> None:
    fault = {"kind": "rate_limited", "match": {"text": name}, "retry_after_ms": 600_000}
    httpx.post(urljoin(system.api_base, "/_control"), json={"faults": [fault]}).raise_for_status()
    run = subprocess.Popen(
        [*command(), "run", str(write_task(input=name))],
        env=purser.env, cwd=purser.home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert run.stderr is not None
        line = next(line for line in run.stderr if "failed" in line)
        purser.json("tasks", "cancel", name)
        run.communicate(timeout=60)
    finally:
        run.kill()
    assert line == f"{name} running: solo running  solo: attempt 1 failed (rate_limited)\n"


def test_a_task_that_does_not_complete_is_exit_code_1_and_still_its_document(
    purser: Commands, write_task: Write
) -> None:
    task = purser.json("run", str(write_task(budget={"agent": {"limit_tokens": 10, "mode": "hard"}})), code=1)
    assert (task["status"], task["agents"]["solo"]["status"]) == ("refused", "refused")


def test_another_body_under_the_same_id_is_a_problem(purser: Commands, write_task: Write, name: str) -> None:
    purser.json("run", str(write_task()))
    problem = purser.json("run", str(write_task(input="Say something else.")), code=1)
    assert (problem["type"], problem["status"]) == ("urn:purser:task-conflict", 409)
    assert name in problem["detail"]


def test_an_invalid_task_file_is_exit_code_1_and_says_where(purser: Commands, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    bad = (
        (b'{"session_id": "s",', "line 1"),
        (b"\xff", "UTF-8"),
        (b"[" * 100_000, "not JSON"),
        (b'{"budget": {"task": {"mode": "hard"}}, "budget": {}}', "bad.json': 'budget' occurs twice"),
        (b'{"limit": NaN}', "not JSON"),
        (b'{"limit": 1e999}', "not JSON"),
        (b"{}", "session_id"),
        (b"[]", "valid"),
    )
    for content, named in bad:
        file.write_bytes(content)
        assert named in purser.json("run", str(file), code=1)["detail"]


@pytest.mark.parametrize("options", [["--json"], []])
@pytest.mark.stack
def test_ctrl_c_leaves_the_task_running_and_says_which(
    purser: Commands, write_task: Write, name: str, options: list[str]
) -> None:
    file = write_task(budget={"agent": {"limit_tokens": 50, "mode": "approval"}})
    run = subprocess.Popen(
        [*command(), "run", str(file), *options],
        env=purser.env, cwd=purser.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert run.stderr is not None
        next(line for line in run.stderr if "waiting_approval" in line)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    said = f"task {name!r} goes on without this command"
    assert run.returncode == 1
    if options:
        problem = json.loads(out)
        assert (problem["type"], problem["detail"]) == ("urn:purser:interrupted", said)
        assert f"purser tasks show {name}" in problem["remedy"]
    else:
        assert (out, said in err, f"purser tasks show {name}" in err) == ("", True, True)
    purser.json("tasks", "cancel", name)


def test_a_missing_file_is_bad_usage(purser: Commands, tmp_path: Path) -> None:
    problem = purser.json("run", str(tmp_path / "none.json"), code=2)
    assert "none.json" in problem["detail"]


def test_without_a_gateway_it_says_what_to_start(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps({}))
    nowhere = Commands.at(tmp_path, data_dir=str(tmp_path / "data"))
    assert "purser up" in nowhere.json("run", str(file), code=1)["remedy"]
    away = Commands.at(tmp_path, url="http://127.0.0.1:9", api_key="k")
    assert "does not answer" in away.json("run", str(file), code=1)["detail"]
