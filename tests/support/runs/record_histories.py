"""Records histories of every kind of workflow for `tests/workflows/test_replay.py`.

`python -m tests.support.runs.record_histories` runs a task for each scenario on its own servers and rewrites
`tests/histories`. Record again after a deliberately incompatible change of the workflows, never to silence the test.
Histories that no scenario writes show what earlier code did: it went on while its task was paused (`paused_while_…`),
and charged a paid tool that no worker has (`paid_tool_without_activity`).

With `--release VERSION` it also writes the database that these tasks leave, for `tests/compose/test_upgrade.py`.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from purser.budget.approvals import Approver, Choice, DecisionRequest, Identity
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path as ScopePath
from purser.compose.demo.provider import Fault, FaultKind
from purser.compose.migrate import migrate
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from purser.context.conversation.messages import Message as ChatMessage
from purser.workflows.contract import Message
from tests.support.databases import dump
from tests.support.world import TENANT, World, calls, eventually, world

HISTORIES = Path(__file__).parents[2] / "histories"
DATABASES = Path(__file__).parents[2] / "compose" / "databases"
"""The database of each release, `VERSION.sql`."""
Scenario = Callable[[World], Awaitable[str]]
"""Runs a task to its end and returns its id."""
SCENARIOS: dict[str, Scenario] = {}
SHORT = {"history_window_size": 10, "primers_count": 2, "recents_count": 4}
"""Context options under which a short conversation passes the trigger."""


def scenario(run: Scenario) -> Scenario:
    """Registers a scenario under its name."""
    SCENARIOS[run.__name__] = run
    return run


@scenario
async def graph_with_tools_and_skipped_agents(system: World) -> str:
    task = await system.run(
        system.agent("a", calls("unknown", "unknown"), "Done."),
        system.agent("b", depends_on=["a"]),
        system.agent("poor", budget={"limit_tokens": 10, "mode": "hard"}),
        system.agent("heir", depends_on=["poor"]),
    )
    return str(task["task_id"])


@scenario
async def delay_and_provider_failure(system: World) -> str:
    await system.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 100]])
    system.provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR))
    return str((await system.run(system.agent("a"), session_id="slow"))["task_id"])


@scenario
async def wait_for_open_holds(system: World) -> str:
    await system.budget("session:shared", limit_tokens=1_000, mode="hard")
    ask = HoldRequest("other", ScopePath.parse(["session:shared"]), Amount(900))
    other = await system.ledger.hold(TENANT, ask)
    task_id = await system.submit(system.agent("a"), session_id="shared")
    await eventually(lambda: system.pool.fetchval("select max(asks) > 1 from waiters"))
    await system.ledger.release(TENANT, hold_id=other.hold_id)
    await system.end(task_id)
    return task_id


@scenario
async def approval_by_update(system: World) -> str:
    task_id = await system.submit(system.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "approval"}})
    approval_id = await _asked(system, task_id)
    decision = await system.signed(approval_id, decision_id="d1")
    await system.workflow(task_id).execute_update(Message.DECIDE_APPROVAL, decision)
    await system.end(task_id)
    return task_id


@scenario
async def denial_by_signal(system: World) -> str:
    task_id = await system.submit(system.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "approval"}})
    decision = await system.signed(await _asked(system, task_id), decision_id="d2", decision="deny")
    await system.workflow(task_id).signal(Message.APPROVAL, decision)
    await system.end(task_id)
    return task_id


@scenario
async def approval_after_continuing_as_new(system: World) -> str:
    agent = system.agent("a", calls("unknown"), "Done.", budget={"limit_tokens": 150, "mode": "approval"})
    task_id = await system.submit(agent)
    boss = Approver("boss", None, ("approver",), Identity.KEY)
    await system.approvals.record_decision(
        TENANT, DecisionRequest(await _asked(system, task_id), "d3", Choice.APPROVE), boss
    )
    await system.end(task_id)
    return task_id


@scenario
async def pause_and_resume(system: World) -> str:
    task_id = await system.submit_and_pause(system.agent("a", calls("unknown"), "Done."))
    await system.workflow(task_id).signal(Message.RESUME)
    await system.end(task_id)
    return task_id


@scenario
async def cancelled_during_a_call(system: World) -> str:
    system.provider.control.hold()
    task_id = await system.submit(system.agent("a"), system.agent("b", depends_on=["a"]))
    await system.provider.control.wait_held()
    await system.workflow(task_id).cancel()
    await system.end(task_id)
    return task_id


@scenario
async def compression(system: World) -> str:
    await _append_messages(system, "long")
    agent = system.agent("a", budget={"limit_tokens": 3_000, "mode": "hard"})
    return str((await system.run(agent, session_id="long", context=SHORT))["task_id"])


@scenario
async def compression_beside_the_call(system: World) -> str:
    await _append_messages(system, "longer")
    task_id = str((await system.run(system.agent("a"), session_id="longer", context=SHORT))["task_id"])
    await eventually(lambda: system.pool.fetchval("select count(*) from summaries where session_id = 'longer'"))
    return task_id


async def _append_messages(system: World, session_id: str) -> None:
    said = [ChatMessage(("user", "assistant")[n % 2], f"Sentence {n} tells about topic {n}. " * 8) for n in range(60)]
    await system.conversations.append(TENANT, session_id, said, origin="talk")


async def _asked(system: World, task_id: str) -> str:
    await system.until(task_id, lambda task: task["status"] == "waiting_approval")
    return str(await system.pool.fetchval("select approval_id from approvals where state = 'pending'"))


async def record(dsn: str, address: str) -> None:
    """Runs every scenario and writes the histories of its workflows."""
    client = await Client.connect(address, identity="purser")
    for name, run in SCENARIOS.items():
        async with world(dsn, client, f"record-{name}") as system:
            if run is approval_after_continuing_as_new:
                system.dependencies = system.with_settings(turns_per_run=1)
            async with system.worker():
                task_id = await run(system)
            await _write(client, f"{name}.task", system.workflow(task_id))
            await _write(client, f"{name}.agent-a", system.workflow(task_id, "a"))


async def _write(client: Client, name: str, workflow: WorkflowHandle[Any, Any]) -> None:
    """Writes the last run of a workflow, and the earlier runs that it continues."""
    history = await workflow.fetch_history()
    HISTORIES.mkdir(exist_ok=True)
    document = _without_traces(history.to_json_dict())
    (HISTORIES / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    before = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    if before:
        await _write(client, f"{name}-before", client.get_workflow_handle(workflow.id, run_id=before))


def _without_traces(value: Any) -> Any:
    """Removes stack traces, which name files of the recording machine."""
    if isinstance(value, list):
        return [_without_traces(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _without_traces(item) for key, item in value.items() if key != "stackTrace"}
    return value


async def main(release: str | None) -> None:
    """Starts servers and records all scenarios, and the database of a release."""
    with tempfile.TemporaryDirectory() as directory:
        postgres = EmbeddedPostgres(Path(directory) / "postgres")
        temporal = EmbeddedTemporal(Path(directory) / "temporal")
        try:
            dsn, address = await postgres.start(), await temporal.start()
            await migrate(dsn)
            await record(dsn, address)
            if release:
                DATABASES.mkdir(exist_ok=True)
                text = dump(dsn, "--inserts", "--no-owner", "--no-privileges")
                (DATABASES / f"{release}.sql").write_text(text)
        finally:
            await asyncio.to_thread(temporal.stop)
            await asyncio.to_thread(postgres.stop)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", metavar="VERSION", help="also write the database of this release")
    asyncio.run(main(parser.parse_args().release))
