"""The examples run as the pages describe, on a separate `purser up`."""

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from purser.compose.stack.ports import free_port
from tests.support.databases import create
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands
from tests.support.servers.forked import Forks
from tests.support.servers.raw_server import RawServer, raw_server, replies

pytestmark = pytest.mark.stack
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PROVIDER = "http://127.0.0.1:4010"
"""Address of the provider in the examples."""
WITHIN_S = 60
TICKET = "https://tickets.example.com/4711"


@dataclass(frozen=True)
class System:
    """The system that a reader of the pages has started."""

    purser: Commands
    env: dict[str, str]
    """Environment of examples in Python."""
    provider: str
    home: Path
    url: str
    key: str

    def task(self, name: str) -> str:
        """Copy an example task, with the real address of the provider."""
        file = self.home / name
        file.write_text((EXAMPLES / name).read_text().replace(PROVIDER, self.provider))
        return str(file)

    def example(self, name: str, *arguments: str) -> str:
        """Run an example in Python and return its output."""
        command = [sys.executable, str(EXAMPLES / name), *arguments]
        done = subprocess.run(command, env=self.env, cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def system(
    postgres_server: str,
    template: str,
    worker_id: str,
    forks: Forks,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[System]:
    # Examples use the task queues of the documentation, so they need a separate Temporal.
    home = tmp_path_factory.mktemp("docs")
    script = str(EXAMPLES / "weather_script.json")
    with _process("-m", "purser.compose.demo.provider", "--port", "0", "--script", script) as process:
        assert process.stdout is not None
        provider = json.loads(process.stdout.readline())["address"]
        server = forks.purser(
            home,
            allowed_api_bases=provider,
            metrics_port="0",
            dsn=asyncio.run(create(postgres_server, f"docs_{worker_id}", template)),
        )
        with server.up("--data", str(home / "data"), "--port", "0") as started:
            # An example that imports the server fails, as where only the client is installed.
            (home / "alone").mkdir()
            (home / "alone" / "purser.py").write_text("raise ImportError('only the client is installed')")
            alone = os.pathsep.join((str(home / "alone"), str(ROOT / "client")))
            yield System(
                Commands.at(home),
                os.environ | {"PURSER_TEMPORAL_ADDRESS": started.ready["temporal"], "PYTHONPATH": alone},
                provider,
                home,
                started.ready["gateway"],
                started.ready["admin_key"],
            )


def test_the_quickstart_asks_a_person_and_completes_after_the_approval(system: System) -> None:
    command = [str(Path(sys.executable).with_name("purser")), "run", system.task("first.json"), "--json"]
    running = subprocess.Popen(command, env=system.purser.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    [request] = _until(lambda: system.purser.json("approvals", "list", "--state", "pending")["items"])
    assert [waiter["agent_id"] for waiter in request["waiters"]] == ["critic"]

    decided = system.purser.json(
        "approvals", "approve", request["approval_id"], "--tokens", "1000", "--note", "worth it"
    )
    task = json.loads(running.communicate(timeout=WITHIN_S)[0])

    assert decided["state"] == "approved"
    assert task["status"] == "completed"
    assert system.purser.json("audit")["ok"]


def test_the_first_task_says_that_the_port_of_its_provider_is_taken() -> None:
    with ExitStack() as taken:
        with suppress(OSError):  # another run has it already
            taken.enter_context(socket.create_server(("127.0.0.1", 4010)))
        command = [sys.executable, str(EXAMPLES / "first.py")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S)
    assert (done.returncode, done.stderr) == (1, "port 4010 is taken: stop the other provider\n")


def test_decisions_are_signed_and_sent_through_temporal_by_command_and_by_example(
    system: System,
) -> None:
    body = json.loads(Path(system.task("first.json")).read_text())
    headers = {"Authorization": f"Bearer {system.key}"}
    for name in ("by-example", "by-command"):
        task = body | {"task_id": name, "session_id": name}
        httpx.post(f"{system.url}/v1/tasks", json=task, headers=headers, timeout=PATIENCE_S).raise_for_status()
        [request] = _until(lambda: system.purser.json("approvals", "list", "--state", "pending")["items"])
        approval_id = request["approval_id"]
        if name == "by-example":
            system.env.update(PURSER_URL=system.url, PURSER_API_KEY=system.key)
            assert system.example("decide.py", name, approval_id) == "approved"
        else:
            approve = ("approvals", "approve", approval_id, "--via", "temporal")
            assert "history" in system.purser.json(*approve, "--note", "why", code=2)["detail"]
            assert system.purser.json(*approve, "--ticket-url", TICKET)["state"] == "approved"
        shown = system.purser.json("approvals", "show", approval_id)
        [decision] = shown["decisions"]
        assert (decision["identity"], decision["approver"]) == ("key", _own_name(system))
        assert decision["ticket_url"] == (TICKET if name == "by-command" else None)


def _own_name(system: System) -> str:
    own = httpx.get(
        f"{system.url}/v1/keys/self", headers={"Authorization": f"Bearer {system.key}"}, timeout=PATIENCE_S
    ).json()
    return str(own["name"])


def test_the_tool_of_the_weather_task_is_called_by_reference(system: System) -> None:
    address = {"PURSER_URL": system.url, "PURSER_API_KEY": system.key}
    with _process(str(EXAMPLES / "weather_worker.py"), env=system.env | address):
        task = system.purser.json("run", system.task("weather.json"))

    assert task["status"] == "completed"
    assert task["agents"]["forecaster"]["turns"] == 2


def test_the_example_workflow_holds_and_settles(system: System) -> None:
    assert system.example("own_workflow.py") == "1500 tokens"


def test_a_client_of_openai_calls_a_model_under_a_budget(system: System) -> None:
    system.env.update(PURSER_URL=system.url, PURSER_API_KEY=system.key, PROVIDER=f"{system.provider}/v1")
    assert system.example("openai_client.py").startswith("You said 2 words")
    assert system.purser.json("budget", "show", "session:chat-1")["tokens"]["spent"] > 0
    system.purser.json("budget", "set", "session:chat-1", "--limit-tokens", "1", "--mode", "hard")
    assert system.example("openai_client.py").startswith("402 ")


def test_the_python_client_calls_a_model_under_a_budget(system: System) -> None:
    system.env.update(PURSER_URL=system.url, PURSER_API_KEY=system.key, PROVIDER=f"{system.provider}/v1")
    said = system.example("python_client.py")
    spent = system.purser.json("budget", "show", "session:chat-2")["tokens"]["spent"]
    assert said.startswith("You said 2 words")
    assert said.endswith(f"({spent} tokens)")
    system.purser.json("budget", "set", "session:chat-2", "--limit-tokens", "1", "--mode", "hard")
    assert system.example("python_client.py").startswith("refuse: session:chat-2 may spend 1 tokens")


def test_the_temporal_plugin_puts_a_workflow_under_a_budget(system: System) -> None:
    system.env.update(PURSER_URL=system.url, PURSER_API_KEY=system.key, PROVIDER=f"{system.provider}/v1")
    assert system.example("temporal_plugin.py").startswith("You said 2 words")
    assert system.purser.json("budget", "show", "session:chat-3")["tokens"]["spent"] > 0
    system.purser.json("budget", "set", "session:chat-3", "--limit-tokens", "1", "--mode", "hard")
    assert "refuse: session:chat-3 may spend 1 tokens" in system.example("temporal_plugin.py")


def test_the_example_conversation_is_made_to_fit_without_any_system() -> None:
    command = [sys.executable, str(EXAMPLES / "own_conversation.py")]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    shown = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=WITHIN_S).stdout
    assert shown.startswith("critical: ")
    assert "removed, safe\n" in shown
    assert "user: My cat is called Mimi." in shown


def test_events_are_followed_from_the_oldest_on(system: System) -> None:
    system.purser.json("budget", "set", "session:followed", "--limit-tokens", "500")
    address = {"PURSER_URL": system.url, "PURSER_API_KEY": system.key, "PYTHONUNBUFFERED": "1"}
    with _process(str(EXAMPLES / "follow_events.py"), env=system.env | address) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "session:followed" in line)
    assert line.startswith("budget session:followed {")


async def test_events_are_followed_while_the_gateway_is_away_and_not_without_a_key() -> None:
    event = b'id: 7\nevent: task\ndata: {"scope": "task:t1", "data": {}}\n\n'
    answers = [
        replies(b"", "text/html", "503 Service Unavailable"),
        replies(b"", "text/html", "429 Too Many Requests"),
        replies(event),
        replies(b"", "text/html", "401 Unauthorized"),
    ]

    async def in_turn(server: RawServer, writer: asyncio.StreamWriter) -> None:
        await answers[len(server.requests) - 1](server, writer)

    async with raw_server(in_turn) as server:
        env = os.environ | {"PURSER_URL": f"http://127.0.0.1:{server.port}", "PURSER_API_KEY": "none"}
        command = [sys.executable, str(EXAMPLES / "follow_events.py")]
        done = await asyncio.to_thread(
            subprocess.run, command, env=env, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
    assert done.stdout == "task task:t1 {}\n"
    assert "401 Unauthorized" in done.stderr
    assert len(server.requests) == 4


def test_the_receiver_accepts_signed_messages_and_prints_each_once(system: System) -> None:
    secret = "whsec_" + base64.b64encode(b"a secret of sixteen and more").decode()
    port = free_port()
    served = ("-m", "uvicorn", "--app-dir", str(EXAMPLES), "--port", str(port), "webhook_receiver:app")
    body = json.dumps({"id": "msg_1", "severity": "high", "text": "Session s1 needs more.", "url": "https://x/"})
    signed = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(time.time())),
        "webhook-signature": Webhook(secret).sign("msg_1", datetime.now(UTC), body),
    }
    with _process(*served, env=system.env | {"WEBHOOK_SECRET": secret}) as process:
        address = f"http://127.0.0.1:{port}/purser"
        _until(lambda: _answers(address))
        forged = httpx.post(address, content=body, headers=signed | {"webhook-id": "msg_2"}, timeout=PATIENCE_S)
        codes = [httpx.post(address, content=body, headers=signed, timeout=PATIENCE_S).status_code for _ in range(2)]
        process.terminate()
        printed = process.communicate(timeout=WITHIN_S)[0]
    assert (forged.status_code, codes) == (401, [204, 204])
    assert printed.count("[high] Session s1 needs more. https://x/") == 1


@contextmanager
def _process(*arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, *arguments], env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(WITHIN_S)
        assert process.stdout is not None
        process.stdout.close()


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=PATIENCE_S).status_code == httpx.codes.METHOD_NOT_ALLOWED
    except httpx.TransportError:
        return False


def _until(look: Any) -> Any:
    deadline = time.monotonic() + WITHIN_S
    while not (found := look()):
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.2)
    return found
