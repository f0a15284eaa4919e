"""`purser demo`: what it shows, who may decide, and that nothing of it remains."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from purser.activities.tasks.file import TaskFile
from purser.budget.usage import Usage
from purser.compose.demo.content import conversation, recording, task_file
from purser.compose.demo.progress import Line, changes
from purser.compose.demo.stack import stack_settings
from purser.compose.demo.tools.records import QUESTIONS, answer
from tests.support.runs.proof import some
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Purser, processes_naming
from tests.support.servers.terminal import Terminal

PROVIDER = "http://127.0.0.1:4010"


@pytest.fixture
def purser(tmp_path: Path) -> Purser:
    return Purser.at(tmp_path)


@pytest.fixture
def commands(forks: Forks, tmp_path: Path) -> Purser:
    """Commands that cost less to start."""
    return forks.purser(tmp_path)


def directory(text: str) -> Path:
    """The directory in which the demo says it runs."""
    found = re.search(r"gateway in (\S+)", text)
    assert found, text
    return Path(found[1])


def assert_gone(data: Path) -> None:
    assert not data.exists()
    assert processes_naming(data) == []


# --- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.stack
def test_without_a_terminal_every_figure_agrees_and_keep_leaves_it_running(purser: Purser, commands: Purser) -> None:
    demo = purser.start("demo", "--keep")
    report, data = demo.ready, directory((purser.home / "stderr.log").read_text())

    agents, scopes = report["task"]["agents"], report["task"]["scopes"]
    assert report["ok"]
    assert {agent["status"] for agent in agents.values()} == {"completed"}
    assert report["audit"] == {"ok": True, "checked": report["audit"]["checked"], "differences": []}

    spent = scopes["session:inc-2041"]["tokens"]["spent"]
    assert spent == report["spent"]["tokens"] == report["spent"]["provider_tokens"]
    assert spent == sum(Usage.from_dict(agent["usage"]).total for agent in agents.values())
    assert report["held"]["tokens"] - report["held"]["returned_tokens"] == spent

    (summary,) = report["compressions"]
    assert summary["tokens_after"] < summary["tokens_before"] / 3
    assert summary["calls"] == report["spent"]["calls"] - 1, "every prompt but the first, during which it was made"
    for fact in ("severity 1 since 14:22", "Friday 20 November", "build of 11 November"):
        assert fact in summary["text"]

    assert report["delayed"]["calls"] >= 2
    assert report["delayed"]["ms"] == sum(agent["delay_ms"] for agent in agents.values())
    assert report["cached"]["tokens"] > 0
    assert {"scope": "agent:review-inc-2041/impact", "ratio": "0.8"} in report["warnings"]
    (approval,) = report["approvals"]
    assert (approval["state"], approval["scope"]) == ("approved", "task:review-inc-2041")
    assert approval["decisions"][0]["note"] == "by itself after 2 s"
    assert scopes["task:review-inc-2041"]["tokens"]["granted"] == approval["given"]["tokens"] > 0

    assert commands.json("audit", "--data", str(data))["ok"]
    assert commands.json("tasks", "show", "review-inc-2041", "--data", str(data))["status"] == "completed"
    assert not list(purser.home.rglob("last-up*")), "other commands still find the user's own stack"
    assert demo.end(signal.SIGINT) == 0
    assert_gone(data)


@pytest.mark.stack
@pytest.mark.proof
def test_a_denial_from_another_terminal_ends_it_and_the_report_says_so(commands: Purser) -> None:
    with Terminal.running(commands, "demo") as terminal:
        approval, data = terminal.wait_for(r"purser approvals approve (\S+) --tokens \d+ --data (\S+)\n").groups()
        # Usually the last one, the writer: on a busy machine calls of others may overlap and wait, also together.
        agent = terminal.wait_for(r"(\w+) asks for a call")[1]
        commands.json("approvals", "deny", approval, "--note", "not tonight", "--data", data)
        assert terminal.ended() == 1
    shown = " ".join(terminal.text.split())
    assert f"{agent} was refused" in shown
    assert "review-inc-2041 partial" in shown
    needed = r"needed [\d,]+ tokens more than task review-inc-2041 had left: denied by"
    assert re.search(rf"Asked [\w, ]*{agent}[\w, ]* {needed} \S+", shown)
    assert "not tonight" in shown
    assert [line for line in terminal.text.splitlines() if len(line) > 100 and "--data" not in line] == []
    assert_gone(Path(data))


@pytest.mark.stack
@pytest.mark.proof
@pytest.mark.parametrize("moment", some(["Starting Postgres", "is submitted", "A person has to decide"], 1))
def test_ctrl_c_leaves_nothing_whenever_it_comes(commands: Purser, moment: str) -> None:
    with Terminal.running(commands, "demo") as terminal:
        terminal.wait_for(moment)
        terminal.interrupt()
        assert terminal.ended() == 1
    assert "Traceback" not in terminal.text, terminal.text
    assert_gone(directory(terminal.text))


# --- its content ---------------------------------------------------------------------------------------------------


def test_the_session_is_long_and_the_task_is_valid_for_any_user() -> None:
    assert len(conversation()) >= 60
    submitted = task_file(api_base=f"{PROVIDER}/r/demo/{{agent}}/v1", model=None)
    task = TaskFile.parse(submitted, [PROVIDER])
    assert [agent.id for agent in task.agents] == list(recording().agents)
    assert [agent.api_base for agent in task.agents] == [f"{PROVIDER}/r/demo/{agent.id}/v1" for agent in task.agents]


def test_with_a_real_model_every_agent_uses_it_at_its_default_address() -> None:
    agents = task_file(api_base=None, model="anthropic/claude-sonnet-4-5")["agents"]
    assert {agent["model"] for agent in agents} == {"anthropic/claude-sonnet-4-5"}
    assert not any("api_base" in agent for agent in agents)


def test_a_real_model_is_called_with_the_keys_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_PROVIDER_KEYS", '{"openai": "sk-of-the-user"}')
    keys = [stack_settings(tmp_path, provider=provider).provider_keys for provider in (None, PROVIDER)]
    assert [sorted(one) for one in keys] == [["openai"], []]


def test_the_recorded_agents_quote_what_their_tools_return() -> None:
    said = {name: replies[-1].content or "" for name, replies in recording().agents.items()}
    answers = {
        call.id: answer(QUESTIONS[call.function.name], json.loads(call.function.arguments))
        for replies in recording().agents.values()
        for reply in replies
        for call in reply.tool_calls
    }
    started, failed, refunds = (answers[f"call_{name}"] for name in ("started", "failed", "refunds"))
    assert f"{started['sum']:,} checkouts were started and {failed['sum']} of them failed" in said["impact"]
    assert f"{failed['sum'] / started['sum']:.0%}".replace("%", " %") in said["impact"]
    assert f"{refunds['count']} customers were charged twice, {refunds['sum'] / 100:.2f} euros" in said["impact"]
    slots, pool = answers["call_slots"]["sum"], {row["at"]: row for row in answers["call_pool"]["rows"]}
    requests = pool["14:10"]["requests"]
    assert f"{slots} checkouts made {requests:,} payment requests, {requests / slots:.1f} each" in said["cause"]
    assert f"up to {max(row['waiting'] for row in pool.values())} requests waited" in said["cause"]
    for row in (*answers["call_changes"]["rows"], *answers["call_alerts"]["rows"]):
        assert row["at"] in said["timeline"]


# --- progress --------------------------------------------------------------------------------------------------------


def task_view(status: str, *, turns: int = 0, delay_ms: int = 0) -> dict[str, Any]:
    """A task of one agent, as `GET /tasks/{id}` shows it."""
    agent = {"status": status, "reason": "denied", "turns": turns, "delay_ms": delay_ms, "nano_usd": 2_500_000}
    agent["usage"] = Usage(input=1_000).to_dict()
    return {"agents": {"ann": agent}, "scopes": {"session:s": {"ratio": 0.5}, "agent:t/ann": {"ratio": 0.91}}}


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        (None, task_view("waiting"), []),
        (task_view("waiting"), task_view("running"), ["begins"]),
        (task_view("running"), task_view("running"), []),
        (task_view("running"), task_view("running", delay_ms=750), ["slowed down by 750 ms: agent ann is 91% used"]),
        (task_view("running"), task_view("running", turns=1), ["call 1 answered; 1,000 tokens, $0.0025 so far"]),
        (task_view("running"), task_view("waiting_approval"), ["exceeds its budget and waits for approval"]),
        (task_view("waiting_approval"), task_view("running"), []),
        (task_view("running"), task_view("completed"), ["done"]),
        (task_view("running"), task_view("refused"), ["was refused: denied"]),
        (
            task_view("waiting"),
            task_view("completed", turns=1),
            ["begins", "call 1 answered; 1,000 tokens, $0.0025 so far", "done"],
        ),
        (task_view("waiting"), task_view("skipped"), ["is skipped: an agent that it needs did not complete"]),
    ],
)
def test_progress_reports_what_changed_and_nothing_twice(before: Any, now: Any, lines: list[str]) -> None:
    assert list(changes(before, now)) == [Line("ann", line) for line in lines]
