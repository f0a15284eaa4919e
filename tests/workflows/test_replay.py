"""Saved histories of every workflow replay: a change of the code does not break running tasks."""

import base64
import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from purser.workflows.agent_run import AgentRun
from purser.workflows.agent_task import AgentTask
from purser.workflows.compress_session import CompressSession
from purser.workflows.contract import Message
from purser.workflows.gate import Gate
from tests.support.runs.record_histories import HISTORIES, SCENARIOS
from tests.support.world import BUILD_ID

SAVED = sorted(HISTORIES.glob("*.json"))


async def replay(history: WorkflowHistory) -> None:
    """Replays a history with the workflows as they are."""
    workflows, runner = [AgentTask, AgentRun, CompressSession], UnsandboxedWorkflowRunner()
    replayer = Replayer(workflows=workflows, workflow_runner=runner, build_id=BUILD_ID)
    await replayer.replay_workflow(history)


@pytest.mark.parametrize("saved", SAVED, ids=lambda path: path.stem)
async def test_a_saved_history_replays(saved: Path) -> None:
    await replay(WorkflowHistory.from_json(saved.stem, saved.read_text()))


def test_every_scenario_is_saved_for_its_task_and_its_agent() -> None:
    expected = {f"{name}.{kind}" for name in SCENARIOS for kind in ("task", "agent-a")}
    assert expected <= {path.stem for path in SAVED}


def test_saved_histories_name_no_place_of_the_machine_that_recorded_them() -> None:
    for saved in SAVED:
        text = saved.read_text()
        assert "site-packages" not in text
        assert "/home/" not in text
        assert "stackTrace" not in text


async def test_a_workflow_whose_steps_changed_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(gate: Gate, delay_ms: int) -> None:
        """A gate that no longer sleeps."""

    monkeypatch.setattr(Gate, "sleep_out", at_once)
    saved = HISTORIES / "delay_and_provider_failure.agent-a.json"
    with pytest.raises(NondeterminismError):
        await replay(WorkflowHistory.from_json(saved.stem, saved.read_text()))


async def test_a_signaled_decision_that_was_well_formed_when_it_came_replays() -> None:
    saved = json.loads((HISTORIES / "denial_by_signal.task.json").read_text())
    for event in saved["events"]:
        signaled = event.get("workflowExecutionSignaledEventAttributes")
        if signaled is not None and signaled["signalName"] == Message.APPROVAL:
            [payload] = signaled["input"]["payloads"]
            sent = json.loads(base64.b64decode(payload["data"])) | {"grant_tokens": 0}
            payload["data"] = base64.b64encode(json.dumps(sent).encode()).decode()
    await replay(WorkflowHistory.from_json("denial_by_signal.task", saved))
