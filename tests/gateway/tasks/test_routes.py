"""`/v1/tasks`: tasks are submitted once, listed, shown, and controlled through Temporal.

No worker runs here: what the gateway sends is in the workflow's history.
"""

import asyncio
import uuid
from typing import Any

import httpx
import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from purser.activities.tasks.allowed_tools import AllowedTools
from purser.activities.tasks.file import TaskFile
from purser.context.postgres.sessions import payers
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway

pytestmark = pytest.mark.usefixtures("temporal_client")


@pytest.fixture
def task_file(task_queue: str) -> dict[str, Any]:
    """A task of two agents, with an id that no other test uses."""
    return {
        "session_id": "s1",
        "task_id": f"t-{task_queue[5:]}",
        "input": "Compare the two offers.",
        "budget": {"task": {"limit_tokens": 9_000, "mode": "hard"}},
        "agents": [
            {"id": "reader", "model": "priced-model", "instructions": "Read."},
            {"id": "writer", "model": "priced-model", "instructions": "Write.", "depends_on": ["reader"]},
        ],
    }


async def history(client: Client, task_id: str) -> list[tuple[str, str]]:
    """Type and signal name of each event that came from outside."""
    found = await client.get_workflow_handle(f"task-default/{task_id}").fetch_history()
    return [
        (EventType.Name(event.event_type), event.workflow_execution_signaled_event_attributes.signal_name)
        for event in found.events
        if event.event_type
        in (EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED)
    ]


async def test_the_user_of_a_task_pays_for_the_next_hold_of_its_session(
    agent: httpx.AsyncClient, task_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payers, "_UNOWNED_S", 3_600.0)
    own = f"s-{uuid.uuid4()}"

    async def paying(key: str) -> list[str]:
        hold = await agent.post("/v1/holds", json={"key": key, "path": [f"session:{own}"], "tokens": 10})
        return [scope["scope"] for scope in hold.json()["scopes"]]

    assert await paying("before") == ["tenant:default", f"session:{own}"]
    assert (await agent.post("/v1/tasks", json=task_file | {"session_id": own, "user_id": "ana"})).status_code == 202
    assert await paying("after") == ["tenant:default", "user:ana", f"session:{own}"]


async def test_a_task_is_accepted_and_its_workflow_starts(
    agent: httpx.AsyncClient, task_file: dict[str, Any], temporal_client: Client
) -> None:
    answer = await agent.post("/v1/tasks", json=task_file)
    task_id = task_file["task_id"]
    assert answer.status_code == 202
    accepted = answer.json()
    assert "hard limit of 9,000" in accepted.pop("warnings")[0]
    assert accepted == {
        "task_id": task_id,
        "workflow_id": f"task-default/{task_id}",
        "status_url": f"{agent.base_url}/v1/tasks/{task_id}",
    }
    assert (await agent.post(f"/v1/tasks/{task_id}/pause")).status_code == 202  # answers once there is a workflow
    started = await temporal_client.get_workflow_handle(f"task-default/{task_id}").describe()
    assert started.workflow_type == "AgentTask"
    assert (await agent.get(answer.json()["status_url"])).json()["status"] == "running"


async def test_a_task_is_shown_with_its_agents_and_budgets(agent: httpx.AsyncClient, task_file: dict[str, Any]) -> None:
    await agent.post("/v1/tasks", json=task_file)
    task_id = task_file["task_id"]
    shown = (await agent.get(f"/v1/tasks/{task_id}")).json()
    assert (shown["task_id"], shown["status"], shown["submitter"]) == (task_id, "running", "backend")
    assert [*shown["agents"]] == ["reader", "writer"]
    writer = shown["agents"]["writer"]
    assert {
        "status",
        "reply",
        "turns",
        "usage",
        "nano_usd",
        "holds",
        "delay_ms",
        "approvals",
        "overrun",
        "output_capped",
    } <= {*writer}
    assert (writer["status"], writer["reply"], writer["turns"], writer["nano_usd"]) == ("waiting", None, 0, 0)
    scopes = [f"task:{task_id}", f"agent:{task_id}/reader", f"agent:{task_id}/writer"]
    assert [*shown["scopes"]] == ["tenant:default", "session:s1", *scopes]
    budget = shown["scopes"][f"task:{task_id}"]
    assert (budget["limit_tokens"], budget["mode"], budget["sources"]["mode"]) == (9_000, "hard", "request")
    assert shown["scopes"]["session:s1"]["tokens"]["headroom"] == 200_000


async def test_004_12_a_task_shows_the_source_of_each_setting_of_its_windows(
    agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    session_id = task_file["session_id"] = f"s-{uuid.uuid4()}"
    for path, figures in (
        (f"/v1/sessions/{session_id}/settings", {"rounds": 7, "recents_count": 6}),
        ("/v1/users/ana/settings", {"rounds": 8, "summary_max_tokens": 90, "max_tokens": 4_096}),
    ):
        assert (await agent.put(path, json={"context": figures, "language": "German"})).status_code == 200
    context = {"recents_count": 5}
    task_file |= {"user_id": "ana", "use_case_preset": "debugging", "context": context}
    assert (await agent.post("/v1/tasks", json=task_file)).status_code == 202
    shown = (await agent.get(f"/v1/tasks/{task_file['task_id']}")).json()["context"]["settings"]
    names = ("recents_count", "rounds", "max_tokens", "trigger_ratio", "strategy")
    assert [(shown[name]["value"], shown[name]["source"]) for name in names] == [
        (5, "request"),
        (7, "session"),
        (4_096, "user"),
        (0.85, "debugging"),
        ("hybrid", "default"),
    ]
    session = (await agent.get(f"/v1/sessions/{session_id}/context")).json()
    assert session["preset"] is None
    assert session["settings"]["recents_count"] == {"value": 6, "source": "session"}


async def test_003_20_a_user_sets_the_model_of_agents_that_name_none(
    agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    user = f"u-{uuid.uuid4().hex[:8]}"
    nameless = [{name: value for name, value in one.items() if name != "model"} for one in task_file["agents"]]
    task_file |= {"user_id": user, "session_id": f"s-{user}", "agents": nameless}
    refused = await agent.post("/v1/tasks", json=task_file)
    assert (refused.status_code, "model" in refused.json()["detail"]) == (422, True)
    await agent.put(f"/v1/users/{user}/settings", json={"context": {"model": "gpt-4o-mini", "window_tokens": 9_000}})
    assert (await agent.post("/v1/tasks", json=task_file)).status_code == 202
    shown = (await agent.get(f"/v1/tasks/{task_file['task_id']}")).json()["context"]["settings"]
    assert shown["model"] == {"value": "gpt-4o-mini", "source": "user"}
    assert shown["window_tokens"] == {"value": 9_000, "source": "user"}


async def test_the_same_file_again_changes_nothing_though_what_is_filled_in_or_allowed_has_changed(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = f"u-{uuid.uuid4().hex[:8]}"
    reader, writer = task_file["agents"]
    tool = {"name": "tool_x", "description": "", "parameters": {}}
    nameless = {name: value for name, value in reader.items() if name != "model"} | {"tools": [tool]}
    task_file |= {"user_id": user, "session_id": f"s-{user}", "agents": [nameless, writer]}
    await agent.put(f"/v1/users/{user}/settings", json={"context": {"model": "gpt-4o-mini"}})
    first = await agent.post("/v1/tasks", json=task_file)
    assert first.status_code == 202
    for model in ("gpt-4o", None):
        await agent.put(f"/v1/users/{user}/settings", json={"context": {"model": model}})
        monkeypatch.setattr(AllowedTools, "faults", refuses)
        before = await gateway.rows()
        again = await agent.post("/v1/tasks", json=task_file)
        assert (again.status_code, again.json()) == (202, first.json())
        assert await gateway.rows() == before
    monkeypatch.undo()
    for agents in ([nameless | {"model": "gpt-4o"}, writer], [nameless | {"max_turns": 3}, writer], [nameless]):
        await agent.put(f"/v1/users/{user}/settings", json={"context": {"model": "gpt-4o"}})
        other = await agent.post("/v1/tasks", json=task_file | {"agents": agents})
        assert (other.status_code, other.json()["type"]) == (409, "urn:purser:task-conflict")


def refuses(_: AllowedTools, task: TaskFile) -> list[str]:
    return ["the operator has changed what tools are allowed"]


async def test_figures_of_a_user_that_are_out_of_range_are_refused(agent: httpx.AsyncClient) -> None:
    refused = await agent.put("/v1/users/ana/settings", json={"context": {"rounds": 0}})
    assert refused.status_code == 422
    assert "context.rounds" in refused.json()["detail"]


async def test_004_14_a_submission_warns_of_pitfalls_and_runs_nevertheless(
    agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    task_file |= {"context": {"trigger_ratio": 0.95}, "budget": {"agent": {"limit_tokens": 10_000, "mode": "hard"}}}
    answer = await agent.post("/v1/tasks", json=task_file)
    assert answer.status_code == 202
    late, small = answer.json()["warnings"]
    assert "compression starts at 0.95" in late
    assert f"agent:{task_file['task_id']}/reader has a hard limit of 10,000 tokens" in small


async def test_the_same_file_again_changes_nothing_and_another_body_is_a_conflict(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    answers = await asyncio.gather(*(agent.post("/v1/tasks", json=task_file) for _ in range(4)))
    assert {(answer.status_code, answer.text) for answer in answers} == {(202, answers[0].text)}
    before = await gateway.rows()
    assert before["tasks"] == 1
    other = await agent.post("/v1/tasks", json=task_file | {"input": "Something else."})
    assert (other.status_code, other.json()["type"]) == (409, "urn:purser:task-conflict")
    assert await gateway.rows() == before


async def test_two_tenants_use_one_task_id_and_each_steers_its_own(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any], temporal_client: Client
) -> None:
    stranger = await gateway.client(Role.AGENT, tenant="other")
    path = f"/v1/tasks/{task_file['task_id']}"
    assert (await agent.post("/v1/tasks", json=task_file)).status_code == 202
    theirs = await stranger.post("/v1/tasks", json=task_file | {"input": "Something else."})
    assert (theirs.status_code, theirs.json()["workflow_id"]) == (202, f"task-other/{task_file['task_id']}")
    assert (await stranger.post(f"{path}/cancel")).status_code == 202
    assert (await agent.post(f"{path}/pause")).status_code == 202
    assert await history(temporal_client, task_file["task_id"]) == [("EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "pause")]


async def test_a_task_is_paused_resumed_and_cancelled_by_its_workflow(
    agent: httpx.AsyncClient, task_file: dict[str, Any], temporal_client: Client
) -> None:
    accepted = (await agent.post("/v1/tasks", json=task_file)).json()
    del accepted["warnings"]
    for verb in ("pause", "resume", "cancel"):
        answer = await agent.post(f"/v1/tasks/{task_file['task_id']}/{verb}")
        assert (answer.status_code, answer.json()) == (202, accepted)
    assert await history(temporal_client, task_file["task_id"]) == [
        ("EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "pause"),
        ("EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "resume"),
        ("EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED", ""),
    ]


@pytest.mark.usefixtures("own_gateway")
async def test_steering_a_task_that_is_about_to_start_waits_for_it(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any], temporal_client: Client
) -> None:
    body = "begin new.next_at := new.next_at + interval '1 second'; return new; end"
    await gateway.pool.execute(f"create function later() returns trigger language plpgsql as $${body}$$")
    await gateway.pool.execute("create trigger late before insert on outbox for each row execute function later()")
    await agent.post("/v1/tasks", json=task_file)
    assert (await agent.post(f"/v1/tasks/{task_file['task_id']}/pause")).status_code == 202
    assert await history(temporal_client, task_file["task_id"]) == [("EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "pause")]


async def test_a_task_that_has_ended_is_not_steered_but_cancelling_may_be_repeated(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any], temporal_client: Client
) -> None:
    await agent.post("/v1/tasks", json=task_file)
    for status, codes in (("completed", [409, 409, 409]), ("cancelled", [409, 409, 202])):
        await gateway.pool.execute("update tasks set status = $1", status)
        answers = [
            await agent.post(f"/v1/tasks/{task_file['task_id']}/{verb}") for verb in ("pause", "resume", "cancel")
        ]
        assert [answer.status_code for answer in answers] == codes
        assert answers[0].json()["type"] == "urn:purser:task-ended"
        assert status in answers[0].json()["detail"]


async def test_tasks_are_listed_by_state_newest_first_in_pages(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    ids = [f"{task_file['task_id']}-{number}" for number in range(3)]
    for task_id in ids:
        await agent.post("/v1/tasks", json=task_file | {"task_id": task_id})
    await gateway.pool.execute("update tasks set status = 'completed' where task_id = $1", ids[1])
    first = (await agent.get("/v1/tasks", params={"limit": 2})).json()
    assert [task["task_id"] for task in first["items"]] == [ids[2], ids[1]]
    rest = (await agent.get("/v1/tasks", params={"limit": 2, "cursor": first["cursor"]})).json()
    assert ([task["task_id"] for task in rest["items"]], rest["cursor"]) == ([ids[0]], None)
    running = (await agent.get("/v1/tasks", params={"state": "running"})).json()
    assert [task["task_id"] for task in running["items"]] == [ids[2], ids[0]]
    assert (await agent.get("/v1/tasks", params={"state": "asleep"})).status_code == 422


async def test_unknown_ids_and_other_tenants_find_nothing(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    await agent.post("/v1/tasks", json=task_file)
    stranger = await gateway.client(Role.ADMIN, tenant="other")
    for client, name in ((stranger, task_file["task_id"]), (agent, "nope"), (agent, "%00"), (agent, "x" * 500)):
        assert (await client.get(f"/v1/tasks/{name}")).status_code == 404
        for verb in ("pause", "resume", "cancel"):
            answer = await client.post(f"/v1/tasks/{name}/{verb}")
            assert (answer.status_code, answer.json()["type"]) == (404, "urn:purser:not-found")
    assert (await stranger.get("/v1/tasks")).json()["items"] == []


async def test_a_bad_task_file_names_the_place_and_writes_nothing(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    before = await gateway.rows()
    reader = task_file["agents"][0]
    bad: list[tuple[dict[str, Any], str]] = [
        ({"agents": []}, "agents"),
        ({"agents": [reader, reader]}, "agents[1].id"),
        ({"agents": [reader | {"depends_on": ["reader"]}]}, "depends_on"),
        ({"agents": [{name: value for name, value in reader.items() if name != "model"}]}, "agents[0].model"),
        (
            {"agents": [{name: reader[name] for name in ("id", "instructions")}], "context": {"model": "gpt 4o"}},
            "$.context.model is 'gpt 4o': use a name such as",
        ),
        ({"agents": [reader | {"api_base": "http://elsewhere"}]}, "api_base"),
        ({"task_id": "x" * 129}, "task_id"),
        ({"session_id": 5}, "session_id"),
        ({"input": "a\x00b"}, "NUL"),
        ({"session_id": "a\x00b"}, "NUL"),
        ({"user_id": "a\x00b"}, "NUL"),
        ({"budget": {"task": {"limit_usd": 0.5}}}, "limit_usd"),
        ({"surprise": 1}, "surprise"),
    ]
    for change, named in bad:
        answer = await agent.post("/v1/tasks", json=task_file | change)
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:purser:invalid-task"), change
        assert named in answer.json()["detail"]
    for content in (b"[]", b'"text"', b"null", b"5", b""):
        headers = {"content-type": "application/json"}
        assert (await agent.post("/v1/tasks", content=content, headers=headers)).status_code == 422
    assert await gateway.rows() == before


async def test_a_dry_run_answers_as_a_submission_would_and_stores_nothing(
    gateway: RunningGateway, agent: httpx.AsyncClient, task_file: dict[str, Any]
) -> None:
    before = await gateway.rows()
    check = "/v1/tasks?dry_run=true"
    checked = await agent.post(check, json=task_file)
    reader, writer = task_file["agents"]
    tool = {"name": "t", "description": "", "parameters": {}, "activity": "payroll"}
    faulty = task_file | {"agents": [reader | {"tools": [tool]}, writer | {"depends_on": ["nobody"]}]}
    refused = await agent.post(check, json=faulty)
    detail = refused.json()["detail"]
    assert (refused.status_code, "names 'nobody'" in detail, "PURSER_TOOL_ACTIVITIES" in detail) == (422, True, True)
    assert await gateway.rows() == before
    accepted = await agent.post("/v1/tasks", json=task_file)
    assert (accepted.status_code, accepted.json()) == (202, checked.json())
    after = await gateway.rows()
    taken = await agent.post(check, json=task_file | {"input": "Something else."})
    assert (taken.status_code, taken.json()["type"]) == (409, "urn:purser:task-conflict")
    assert (await agent.post(check, json=task_file)).json() == checked.json()
    assert await gateway.rows() == after


@pytest.mark.parametrize(("role", "vouched"), [(Role.AGENT, False), (Role.ADMIN, True)])
async def test_only_a_key_that_may_act_for_others_vouches_for_the_submitter_it_names(
    gateway: RunningGateway, task_file: dict[str, Any], role: Role, vouched: bool
) -> None:
    client = await gateway.client(role, name="sender")
    await client.post("/v1/tasks", json=task_file | {"submitter": "ana"})
    task_id = task_file["task_id"]
    row = await gateway.pool.fetchrow("select submitter, submitted_by, vouched from tasks where task_id = $1", task_id)
    assert row is not None
    assert tuple(row) == ("ana", "sender", vouched)
