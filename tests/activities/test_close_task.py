"""The end of a task: the replies that its session gets."""

from unittest.mock import AsyncMock, Mock

import pytest

from purser.activities.close_task import CloseTask
from purser.activities.postgres.agents import TaskRecord
from purser.activities.tasks.file import TaskFile
from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import StoredMessage
from purser.workflows.contract import TaskClosing, TaskOutcome, TaskStatus
from tests.support.context.conversations import assistant
from tests.support.ledger import TENANT

NEEDS: dict[str, list[str]] = {"map.1": [], "map.2": [], "check": ["map.1"], "reduce": ["map.2", "check"]}
"""The agents of a task, each with those on which it depends."""


@pytest.mark.parametrize(
    ("replied", "published"),
    [
        (["map.1", "map.2", "check", "reduce"], ["reduce"]),
        (["map.1", "map.2", "check"], ["map_2", "check"]),
        (["map.1", "map.2"], ["map_1", "map_2"]),
        (["map.1"], ["map_1"]),
        ([], []),
    ],
)
async def test_a_session_gets_every_reply_that_no_other_reply_used(
    pool: Pool, replied: list[str], published: list[str]
) -> None:
    agents = [
        {"id": name, "model": "gpt-4o", "instructions": "Be brief.", "depends_on": needs}
        for name, needs in NEEDS.items()
    ]
    task = TaskFile.parse({"session_id": "s1", "task_id": "t1", "input": "Hello.", "agents": agents}, ())
    replies = {name: seq for seq, name in enumerate(replied, 2)}
    record = TaskRecord(task, None, None, False, {}, None, 1, replies)
    stored = {seq: StoredMessage(seq, f"t1/{name}", assistant(name), {}) for name, seq in replies.items()}
    append = AsyncMock()
    close = CloseTask(
        pool,
        Mock(end_scopes=AsyncMock()),
        Mock(task_record=AsyncMock(return_value=record), close_task=AsyncMock(return_value=True)),
        Mock(read=AsyncMock(return_value=stored), append=append),
    )
    await close.close_task(TaskClosing(TENANT, TaskOutcome("t1", TaskStatus.PARTIAL, ())))
    assert append.await_args is not None
    assert [message.name for message in append.await_args.args[2]] == published
