"""Records histories of every kind of workflow for `tests/workflows/test_replay.py`.

`python -m tests.support.record_histories` runs a task for each story on servers of its own and rewrites
`tests/histories`. Record again after a change of the workflows that is meant to be incompatible, never to silence the
test.
"""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from purser.budget.approvals import Approver, Choice, DecisionRequest, Identity
from purser.budget.decisions import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path as ScopePath
from purser.compose.demo.provider import Fault, FaultKind
from purser.compose.migrate import migrate
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from purser.context.conversation.messages import Message as ChatMessage
from purser.workflows.contract import Message
from tests.support.world import TENANT, World, calls, eventually, world

HISTORIES = Path(__file__).parent.parent / "histories"
Story = Callable[[World], Awaitable[str]]
"""Runs a task to its end; its id."""
STORIES: dict[str, Story] = {}
SHORT = {"history_window_size": 10, "primers_count": 2, "recents_count": 4}
"""Context options under which a short talk passes the trigger."""


def story(tell: Story) -> Story:
    """Registers a story under its name."""
    STORIES[tell.__name__] = tell
    return tell


@story
async def graph_with_tools_and_skipped_agents(house: World) -> str:
    task = await house.run(
        house.agent("a", calls("unknown", "unknown"), "Done."),
        house.agent("b", depends_on=["a"]),
        house.agent("poor", budget={"limit_tokens": 10, "mode": "hard"}),
        house.agent("heir", depends_on=["poor"]),
    )
    return str(task["task_id"])


@story
async def delay_and_provider_failure(house: World) -> str:
    await house.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 100]])
    house.provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR))
    return str((await house.run(house.agent("a"), session_id="slow"))["task_id"])


@story
async def wait_for_open_holds(house: World) -> str:
    await house.budget("session:shared", limit_tokens=1_000, mode="hard")
    ask = HoldRequest("other", ScopePath.parse(["session:shared"]), Amount(900))
    other = await house.ledger.hold(TENANT, ask)
    task_id = await house.submit(house.agent("a"), session_id="shared")
    await eventually(lambda: house.pool.fetchval("select max(asks) > 1 from waiters"))
    await house.ledger.release(TENANT, hold_id=other.hold_id)
    await house.end(task_id)
    return task_id


@story
async def approval_by_update(house: World) -> str:
    task_id = await house.submit(house.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "approval"}})
    approval_id = await _asked(house, task_id)
    decision = await house.signed(approval_id, decision_id="d1")
    await house.workflow(task_id).execute_update(Message.DECIDE_APPROVAL, decision)
    await house.end(task_id)
    return task_id


@story
async def denial_by_signal(house: World) -> str:
    task_id = await house.submit(house.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "approval"}})
    decision = await house.signed(await _asked(house, task_id), decision_id="d2", decision="deny")
    await house.workflow(task_id).signal(Message.APPROVAL, decision)
    await house.end(task_id)
    return task_id


@story
async def approval_after_continuing_as_new(house: World) -> str:
    agent = house.agent("a", calls("unknown"), "Done.", budget={"limit_tokens": 150, "mode": "approval"})
    task_id = await house.submit(agent)
    boss = Approver("boss", None, ("approver",), Identity.KEY)
    await house.approvals.record_decision(
        TENANT, DecisionRequest(await _asked(house, task_id), "d3", Choice.APPROVE), boss
    )
    await house.end(task_id)
    return task_id


@story
async def pause_and_resume(house: World) -> str:
    house.provider.control.hold()
    task_id = await house.submit(house.agent("a", calls("unknown"), "Done."))
    await house.provider.control.wait_held()
    await house.workflow(task_id).signal(Message.PAUSE)
    await house.until(task_id, lambda task: task["status"] == "paused")
    house.provider.control.continue_held()
    await house.until(task_id, lambda task: task["agents"]["a"]["status"] == "paused")
    await house.workflow(task_id).signal(Message.RESUME)
    await house.end(task_id)
    return task_id


@story
async def cancelled_during_a_call(house: World) -> str:
    house.provider.control.hold()
    task_id = await house.submit(house.agent("a"), house.agent("b", depends_on=["a"]))
    await house.provider.control.wait_held()
    await house.workflow(task_id).cancel()
    await house.end(task_id)
    return task_id


@story
async def compression(house: World) -> str:
    await _talk(house, "long")
    agent = house.agent("a", budget={"limit_tokens": 3_000, "mode": "hard"})
    return str((await house.run(agent, session_id="long", context=SHORT))["task_id"])


@story
async def compression_beside_the_call(house: World) -> str:
    await _talk(house, "longer")
    task_id = str((await house.run(house.agent("a"), session_id="longer", context=SHORT))["task_id"])
    await eventually(lambda: house.pool.fetchval("select count(*) from summaries where session_id = 'longer'"))
    return task_id


async def _talk(house: World, session_id: str) -> None:
    said = [ChatMessage(("user", "assistant")[n % 2], f"Sentence {n} tells about topic {n}. " * 8) for n in range(60)]
    await house.conversations.append(TENANT, session_id, said, origin="talk")


async def _asked(house: World, task_id: str) -> str:
    await house.until(task_id, lambda task: task["status"] == "waiting_approval")
    return str(await house.pool.fetchval("select approval_id from approvals where state = 'pending'"))


async def record(dsn: str, address: str) -> None:
    """Runs every story and writes the histories of its workflows."""
    client = await Client.connect(address, identity="purser")
    for name, tell in STORIES.items():
        async with world(dsn, client, f"record-{name}") as house:
            if tell is approval_after_continuing_as_new:
                house.given = house.with_settings(turns_per_run=1)
            async with house.worker():
                task_id = await tell(house)
            await _write(client, f"{name}.task", house.workflow(task_id))
            await _write(client, f"{name}.agent-a", house.workflow(task_id, "a"))


async def _write(client: Client, name: str, workflow: WorkflowHandle[Any, Any]) -> None:
    """Writes the last run of a workflow, and the runs that continued as it."""
    history = await workflow.fetch_history()
    HISTORIES.mkdir(exist_ok=True)
    told = _without_traces(history.to_json_dict())
    (HISTORIES / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")
    before = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    if before:
        await _write(client, f"{name}-before", client.get_workflow_handle(workflow.id, run_id=before))


def _without_traces(value: Any) -> Any:
    """Stack traces name files of the machine that recorded."""
    if isinstance(value, list):
        return [_without_traces(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _without_traces(item) for key, item in value.items() if key != "stackTrace"}
    return value


async def main() -> None:
    """Records on servers of its own."""
    with tempfile.TemporaryDirectory() as directory:
        postgres = EmbeddedPostgres(Path(directory) / "postgres")
        temporal = EmbeddedTemporal(Path(directory) / "temporal")
        try:
            dsn, address = await postgres.start(), await temporal.start()
            await migrate(dsn)
            await record(dsn, address)
        finally:
            await asyncio.to_thread(temporal.stop)
            await asyncio.to_thread(postgres.stop)


if __name__ == "__main__":
    asyncio.run(main())
