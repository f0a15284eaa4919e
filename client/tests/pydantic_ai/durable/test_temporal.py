"""The capability in a workflow: the hold and the settlement are activities."""

import uuid

import httpx
import pytest
from doors import Door
from temporal_killed import *  # noqa: F403
from temporal_table import Project
from temporal_worker import project_of
from temporalio.worker import Replayer

from purser_client.temporal import PurserPlugin

FOLDER = "pydantic_ai.durable"
STEPS = ("holds", "attempts", "settle")


@pytest.fixture
def project(door: Door) -> Project:
    return Project(door, FOLDER, f"doors-{uuid.uuid4()}")


async def test_hold_and_settlement_are_an_activity_each_which_no_retry_and_no_replay_repeats(
    door: Door, project: Project
) -> None:
    await door.limit(5_000)
    code = project_of(FOLDER)
    sent: list[str] = []

    async def lose_first_answers(response: httpx.Response) -> None:
        step = response.request.url.path.rpartition("/")[2]
        sent.append(step)
        if step in ("holds", "settle") and sent.count(step) == 1:
            raise RuntimeError("the worker has not read that it holds, or has settled")

    code.PURSER._http.event_hooks["response"] = [lose_first_answers]
    async with project.working() as client:
        handle = await project.started(client)
        assert "hello" in await handle.result()
        history, repeated = await handle.fetch_history(), list(sent)
        await door.script(faults=[{"kind": "rate_limited", "retry_after_ms": 1}])
        assert "hello" in await (await project.started(client)).result()
    assert [step for step in repeated if step in STEPS] == ["holds", "holds", "holds", "attempts", "settle"]
    scheduled = [one.activity_task_scheduled_event_attributes.activity_type.name for one in history.events]
    assert [name.rpartition("__")[2] for name in scheduled if name] == ["hold", "model_request", "settle"]
    served = await door.served()
    assert [one["end"]["status"] for one in served] == [200, 429, 200]
    await door.is_charged(*(one["charged_tokens"] for one in served))
    sent.clear()
    replayer = Replayer(workflows=[code.Greeting], plugins=[*code.plugins(), PurserPlugin(door.purser, **code.OPTIONS)])
    await replayer.replay_workflow(history)
    assert sent == []
