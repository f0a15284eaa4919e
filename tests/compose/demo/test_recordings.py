"""Recorded conversations, converted to tasks and recordings."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from purser.compose.demo.provider import Provider, charged_tokens, read_recordings, serve_provider
from purser.compose.demo.recordings import DatasetError, RecordedTask, make_tasks

ADDRESS = "http://127.0.0.1:4010"
DATASETS = ["tau_airline", "whowhen"]


def spoken(role: str, content: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def calls(call_id: str, name: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return spoken("assistant", None, tool_calls=[call])


def result(call_id: str, name: str, content: str) -> dict[str, Any]:
    return spoken("tool", content, tool_call_id=call_id, name=name)


def dataset(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    """A folder of data sets, one of them with these rows."""
    (folder / name).mkdir()
    with gzip.open(folder / name / "dev.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


def airline(folder: Path, *messages: dict[str, Any]) -> RecordedTask:
    row = {"id": "tau-1", "messages": [spoken("system", "The policy."), *messages]}
    (task,) = make_tasks(dataset(folder, "tau_airline", row), "tau_airline", 10, ADDRESS)
    return task


def team(folder: Path, *names: str) -> RecordedTask:
    opening = spoken("user", "The plan.", name="human")
    answers = [spoken("assistant", f"answer {number}", name=name) for number, name in enumerate(names)]
    prompts = {"Ann": "You are Ann.", "Mute": ""}
    row = {"id": "ww-1", "question": "Why?", "system_prompts": prompts, "messages": [opening, *answers]}
    (task,) = make_tasks(dataset(folder, "whowhen", row), "whowhen", 10, ADDRESS)
    return task


def agents(task: RecordedTask, field: str) -> list[Any]:
    return [agent[field] for agent in task.task["agents"]]


def test_every_answered_message_of_the_customer_becomes_an_agent(tmp_path: Path) -> None:
    task = airline(
        tmp_path,
        spoken("user", "Hello."),
        spoken("assistant", "Your id?"),
        spoken("user", "It is 7."),
        calls("call_1", "find"),
        result("call_1", "find", "found"),
        spoken("assistant", "Found you."),
        spoken("user", "Thanks, bye."),
    )
    assert task.task["input"] == "Hello."
    assert agents(task, "id") == ["turn-01", "turn-02"]
    assert agents(task, "depends_on") == [[], ["turn-01"]]
    assert agents(task, "instructions") == ["The policy.", "The policy.\n\nThe customer says: It is 7."]
    assert agents(task, "max_turns") == [1, 2]
    assert agents(task, "api_base") == [f"{ADDRESS}/r/tau-1/turn-0{number}/v1" for number in (1, 2)]
    tools = agents(task, "tools")[1]
    assert [(tool["name"], tool["activity"], tool["task_queue"]) for tool in tools] == [
        ("find", "tool_recorded", "tools-demo")
    ]
    asked, answered = task.recording.agents["turn-02"]
    assert [call.id for call in asked.tool_calls] == ["call_1"]
    assert answered.content == "Found you."
    assert task.recording.tools["call_1"].content == "found"


def test_a_tool_call_id_that_comes_twice_gets_a_number(tmp_path: Path) -> None:
    task = airline(
        tmp_path,
        spoken("user", "Hello."),
        calls("call_1", "find"),
        result("call_1", "find", "first"),
        calls("call_1", "book"),
        result("call_1", "book", "second"),
        spoken("assistant", "Booked."),
    )
    assert {call: found.content for call, found in task.recording.tools.items()} == {
        "call_1": "first",
        "call_1-2": "second",
    }
    replies = task.recording.agents["turn-01"]
    assert [call.id for reply in replies for call in reply.tool_calls] == ["call_1", "call_1-2"]


def test_a_transcript_that_ends_with_a_tool_ends_with_what_the_tool_returned(tmp_path: Path) -> None:
    task = airline(tmp_path, spoken("user", "Help!"), calls("call_1", "hand_over"), result("call_1", "hand_over", "ok"))
    assert [reply.content for reply in task.recording.agents["turn-01"]] == [None, "ok"]


def test_consecutive_messages_of_one_name_become_one_agent_with_one_reply(tmp_path: Path) -> None:
    task = team(tmp_path, "Ann", "Ann", "Boss (-> Ann)", "Ann")
    assert agents(task, "id") == ["Ann", "Boss-Ann", "Ann-2"]
    assert agents(task, "depends_on") == [[], ["Ann"], ["Boss-Ann"]]
    assert [reply.content for replies in task.recording.agents.values() for reply in replies] == [
        "answer 0\n\nanswer 1",
        "answer 2",
        "answer 3",
    ]
    assert task.task["input"] == "Why?"
    first, boss, last = agents(task, "instructions")
    assert first == "You are Ann.\n\nThe plan."
    assert "Boss (-> Ann)" in boss
    assert last == "You are Ann."


def test_an_empty_prompt_counts_as_none(tmp_path: Path) -> None:
    _, mute = agents(team(tmp_path, "Ann", "Mute"), "instructions")
    assert mute == "You are Mute, one of a team that answers the user's question."


def test_a_team_has_at_most_ten_agents_and_reports_how_many_were_left_out(tmp_path: Path) -> None:
    task = team(tmp_path, *"ABCDEFGHIJKL")
    assert agents(task, "id") == list("ABCDEFGHIJ")
    assert task.left_out == 2


def test_an_unknown_or_missing_data_set_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="'poems'"):
        make_tasks(tmp_path, "poems", 1, ADDRESS)
    with pytest.raises(DatasetError, match="whowhen"):
        make_tasks(tmp_path, "whowhen", 1, ADDRESS)


@pytest.mark.parametrize("name", DATASETS)
def test_real_rows_make_valid_tasks_deterministically(shared_data: Path, name: str) -> None:
    tasks = make_tasks(shared_data, name, 1000, ADDRESS)
    assert len(tasks) >= 80
    assert tasks[:10] == make_tasks(shared_data, name, 10, ADDRESS)
    for task in tasks:
        ids = agents(task, "id")
        assert ids == list(task.recording.agents)
        assert len(ids) == len(set(ids)) > 0
        assert all(re.fullmatch(r"[A-Za-z0-9._~-]{1,128}", one) for one in [*ids, task.task["task_id"]])
        made = [call.id for replies in task.recording.agents.values() for reply in replies for call in reply.tool_calls]
        assert sorted(made) == sorted(task.recording.tools)
        assert not any(replies[-1].tool_calls for replies in task.recording.agents.values())


@pytest.mark.proof
@pytest.mark.parametrize("name", DATASETS)
async def test_an_agent_loop_receives_the_recorded_conversation(shared_data: Path, name: str) -> None:
    async with serve_provider() as provider, httpx.AsyncClient(timeout=30) as http:
        tasks = make_tasks(shared_data, name, 10, provider.address)
        provider.control.add_recordings(task.recording for task in tasks)
        for task in tasks:
            await drive(task, provider, http)


async def drive(task: RecordedTask, provider: Provider, http: httpx.AsyncClient) -> None:
    """Runs the agents of a task one after the other, each request twice; each gets its recorded replies."""
    replies: list[dict[str, Any]] = []
    for agent in task.task["agents"]:
        prompt = [spoken("system", agent["instructions"]), spoken("user", task.task["input"]), *replies]
        spent = 0
        for recorded in task.recording.agents[agent["id"]]:
            chat = {"model": agent["model"], "messages": prompt}
            retried, answer = [await post(http, f"{agent['api_base']}/chat/completions", chat) for _ in range(2)]
            message = answer["choices"][0]["message"]
            assert message == retried["choices"][0]["message"]
            assert message["content"] == recorded.content
            assert message.get("tool_calls", []) == [call.model_dump() for call in recorded.tool_calls]
            spent += answer["usage"]["total_tokens"] + retried["usage"]["total_tokens"]
            prompt.append(message)
            for call in recorded.tool_calls:
                found = (await http.get(f"{provider.address}/r/{task.recording.name}/tools/{call.id}")).json()
                prompt.append(result(call.id, found["name"], found["content"]))
        replies.append(spoken("assistant", prompt[-1]["content"]))
        assert charged_tokens(provider.served(), recording=task.recording.name, agent=agent["id"]) == spent


async def post(http: httpx.AsyncClient, url: str, chat: dict[str, Any]) -> dict[str, Any]:
    answer = await http.post(url, json=chat)
    body: dict[str, Any] = answer.raise_for_status().json()
    return body


def test_the_command_writes_tasks_and_recordings(tmp_path: Path) -> None:
    airline(tmp_path, spoken("user", "Hello."), spoken("assistant", "Hello!"))
    team(tmp_path, *"ABCDEFGHIJKL")
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "purser.compose.demo.recordings",
        str(tmp_path),
        "--out",
        str(out),
        "--provider",
        ADDRESS,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "ww-1: the last 2 agents were left out" in done.stderr
    assert sorted(read_recordings(out / "recordings")) == ["tau-1", "ww-1"]
    (task,) = make_tasks(tmp_path, "tau_airline", 1, ADDRESS)
    assert json.loads((out / "tasks" / "tau-1.json").read_text()) == task.task


def test_the_command_names_a_folder_without_data(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "purser.compose.demo.recordings",
        str(tmp_path / "absent"),
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "absent" in done.stderr
    assert "Traceback" not in done.stderr
