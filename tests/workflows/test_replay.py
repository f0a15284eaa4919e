"""Saved histories of every workflow replay: a change of the code does not break running tasks."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from purser.workflows.agent_run import AgentRun
from purser.workflows.agent_task import AgentTask
from purser.workflows.compress_session import CompressSession
from purser.workflows.gate import Gate
from tests.support.runs.record_histories import HISTORIES, SCENARIOS

SAVED = sorted(HISTORIES.glob("*.json"))


@pytest.mark.parametrize("saved", SAVED, ids=lambda path: path.stem)
async def test_a_saved_history_replays(saved: Path) -> None:
    replayer = Replayer(workflows=[AgentTask, AgentRun, CompressSession], workflow_runner=UnsandboxedWorkflowRunner())
    await replayer.replay_workflow(WorkflowHistory.from_json(saved.stem, saved.read_text()))


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
    replayer = Replayer(workflows=[AgentRun], workflow_runner=UnsandboxedWorkflowRunner())
    with pytest.raises(NondeterminismError):
        await replayer.replay_workflow(WorkflowHistory.from_json(saved.stem, saved.read_text()))
