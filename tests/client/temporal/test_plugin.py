"""The plugin on a real Temporal server: a model activity is held, asked about, refused and charged as it was served."""

import os
import subprocess
import sys
import uuid
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import Client, HeaderCodecBehavior, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import Replayer

from purser.compose.demo.provider import Fault, FaultKind, Reply, Rule
from purser_client import AsyncPurser, InvalidRequest
from purser_client.temporal import MODEL_ACTIVITIES, PurserPlugin, budget_path
from tests.client.conftest import MODEL, PATH, World
from tests.client.temporal.project import BUILD_ID, Answering, ask_model, shout, worker_of
from tests.support.world import eventually

ROOT = Path(__file__).parents[3]
OUTPUT = 30
NOWHERE = AsyncPurser("http://127.0.0.1:9", "none")
ENV = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "client")))}


@dataclass
class Project:
    """The project of a user, whose worker comes and goes."""

    world: World
    client: Client
    task_queue: str

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[list[str]]:
        """A worker with the plugin until the end of the block; yields the paths of its requests to the gateway."""
        sent: list[str] = []

        async def note(request: httpx.Request) -> None:
            sent.append(request.url.path)

        purser = await self.world.client()
        purser._http.event_hooks["request"].append(note)
        plugin = PurserPlugin(purser, **{"activities": {"ask_model*"}} | options)
        async with worker_of(self.client, self.task_queue, plugin):
            yield sent

    async def start(
        self, path: list[str] | None = None, workflow_id: str = "", **request: Any
    ) -> WorkflowHandle[Answering, str]:
        """Starts the workflow."""
        return await self.client.start_workflow(
            Answering.run,
            args=[self.request() | request, PATH if path is None else path],
            id=workflow_id or str(uuid.uuid4()),
            task_queue=self.task_queue,
        )

    def request(self) -> dict[str, Any]:
        """What the model is asked."""
        asked = {"model": MODEL, "messages": [{"role": "user", "content": "hello there"}], "max_tokens": OUTPUT}
        return asked | {"api_base": self.world.provider.api_base}

    async def attempts(self) -> list[tuple[int, str]]:
        """Number and state of every attempt, in the order of their holds."""
        rows = await self.world.gateway.pool.fetch("select attempt, state from attempts order by hold_id, attempt")
        return [(row["attempt"], row["state"]) for row in rows]

    async def holds(self) -> int:
        """Holds so far."""
        return int(await self.world.gateway.pool.fetchval("select count(*) from holds"))


@pytest.fixture
def project(world: World, temporal_client: Client) -> Project:
    world.provider.control.add_rule(Rule(reply=Reply(content="hello yourself")))
    return Project(world, temporal_client, f"project-{uuid.uuid4()}")


def failing_with(kind: str, handle: WorkflowHandle[Any, Any], attempt: int = 3) -> Any:
    """A look whether the activity of a workflow has failed with this type before its further attempt."""

    async def look() -> PendingActivityInfo | None:
        pending = (await handle.describe()).raw_description.pending_activities
        for one in pending:
            if one.attempt >= attempt and one.last_failure.application_failure_info.type == kind:
                return one
        return None

    return look


async def test_an_answer_is_held_and_charged_as_it_was_served(project: Project) -> None:
    await project.world.limit(5_000, mode="hard")
    async with project.working() as sent:
        handle = await project.start()
        assert await handle.result() == "HELLO YOURSELF"
    [served] = project.world.served_tokens()
    assert await project.world.figures() == (served, 0)
    assert [path.rpartition("/")[2] for path in sent] == ["holds", "attempts", "settle"]
    assert await project.attempts() == [(1, "reported")]
    history = await handle.fetch_history()
    plugin = PurserPlugin(await project.world.client())
    await Replayer(workflows=[Answering], plugins=[plugin], build_id=BUILD_ID).replay_workflow(history)


async def test_a_plugin_of_client_and_worker_holds_once_also_without_a_workflow(
    project: Project, temporal_address: str
) -> None:
    project.world.provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, times=1))
    plugin = PurserPlugin(await project.world.client(), activities={"ask_model*"})
    client = await Client.connect(temporal_address, namespace=project.client.namespace, plugins=[plugin])
    with warnings.catch_warnings(action="ignore"):  # of Temporal, which notices the second one
        worker = worker_of(client, project.task_queue, plugin)
    async with worker:
        with budget_path(*PATH):
            await client.execute_activity(
                ask_model,
                project.request(),
                id=f"order-{uuid.uuid4()}",
                task_queue=project.task_queue,
                start_to_close_timeout=timedelta(minutes=1),
            )
    assert await project.attempts() == [(1, "reported")] * 2
    assert await project.world.figures() == (project.world.served_tokens()[-1], 0)


@pytest.mark.parametrize("activities", ["ask_model", [ask_model], 5], ids=["one text", "a function", "a number"])
def test_activities_are_names_and_a_single_text_is_not_read_letter_by_letter(activities: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"is no collection of names. Write for example activities={'ask_model'}"):
        PurserPlugin(NOWHERE, activities=activities)


@pytest.mark.parametrize(
    ("names", "unknown"),
    [
        ({"ask_model", "shou*"}, None),
        ({"ask_modle", "shout"}, "ask_modle"),
        (MODEL_ACTIVITIES | {"ask_model"}, None),
        (MODEL_ACTIVITIES, "agent__*__model_compact_messages, agent__*__model_request, "),
        ((), None),
    ],
    ids=["all are there", "a typing error", "one framework is there", "none is there", "none is held"],
)
async def test_a_worker_warns_of_names_that_no_activity_of_it_has(
    names: Any, unknown: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(worker: Any) -> None:
        pass

    config = {"activities": [ask_model, shout]}
    worker: Any = SimpleNamespace(config=lambda active_config: config, task_queue="q")
    await PurserPlugin(NOWHERE, activities=names).run_worker(worker, run)
    said = [record.getMessage() for record in caplog.records]
    assert [one.partition(" is called ")[2].startswith(unknown or "-") for one in said] == [True] * bool(unknown)


def test_a_worker_that_would_not_read_its_own_headers_is_not_made() -> None:
    client: Any = SimpleNamespace(
        config=lambda active_config: {"header_codec_behavior": HeaderCodecBehavior.WORKFLOW_ONLY_CODEC},
        data_converter=SimpleNamespace(payload_codec=object()),
    )
    with pytest.raises(ValueError, match="header_codec_behavior"):
        PurserPlugin(NOWHERE).configure_worker({"client": client, "activities": [ask_model]})


async def test_without_a_path_the_session_is_the_workflow(project: Project) -> None:
    name = f"order-{uuid.uuid4()}"
    async with project.working():
        await (await project.start([], name)).result()
    budget = await (await project.world.client()).budgets.show(f"session:{name}")
    assert [budget.tokens.spent] == project.world.served_tokens()


async def test_a_refusal_ends_the_workflow_after_one_request(project: Project) -> None:
    await project.world.limit(10, mode="hard")
    async with project.working() as sent:
        with pytest.raises(WorkflowFailureError) as failed:
            await (await project.start()).result()
    assert isinstance(failed.value.cause, ActivityError)
    refused = failed.value.cause.cause
    assert isinstance(refused, ApplicationError)
    assert (refused.type, refused.non_retryable) == ("BudgetRefused", True)
    assert refused.details[0]["refusal"]["limit"]["tokens"] == 10
    assert sent == ["/v1/holds"]
    assert project.world.served_tokens() == []


async def test_a_call_that_waits_goes_on_once_others_have_ended(project: Project) -> None:
    await project.world.limit(400, mode="hard")
    other = (await project.world.client()).call(PATH, model=MODEL, input_tokens=350, max_output_tokens=OUTPUT)
    async with project.working():
        async with other:
            handle = await project.start()
            waiting = await eventually(failing_with("BudgetBusy", handle))
            assert waiting.last_failure.application_failure_info.HasField("next_retry_delay")
            assert project.world.served_tokens() == []
        assert await handle.result() == "HELLO YOURSELF"
    [served] = project.world.served_tokens()
    assert await project.world.figures() == (served, 0)


async def test_an_approval_is_awaited_by_the_attempt(project: Project) -> None:
    await project.world.limit(10, mode="approval")
    async with project.working(approval_s=240) as sent:
        handle = await project.start()
        await approve(project, lambda: sent.count("/v1/holds") > 1)
        assert await handle.result() == "HELLO YOURSELF"
    assert await project.attempts() == [(1, "reported")]
    assert [(await project.world.figures())[0]] == project.world.served_tokens()


@pytest.mark.stack
async def test_an_approval_is_awaited_over_several_attempts(project: Project) -> None:
    await project.world.limit(10, mode="approval")
    async with project.working(approval_s=0, ask_again_s=0.1):
        handle = await project.start()
        await eventually(failing_with("ApprovalNeeded", handle))
        await approve(project, lambda: True)
        assert await handle.result() == "HELLO YOURSELF"
    [(_, state)] = await project.attempts()
    assert state == "reported"
    assert await project.holds() == 1
    assert [(await project.world.figures())[0]] == project.world.served_tokens()


async def approve(project: Project, ready: Any) -> None:
    """Approves the one request for more, once the project is ready for it."""
    admin = await project.world.client()

    async def pending() -> Any:
        return (await admin.approvals.list()).items if ready() else None

    [request] = await eventually(pending)
    await admin.approvals.decide(request.approval_id, "approve")


async def test_a_failure_that_cost_nothing_is_not_charged(project: Project) -> None:
    project.world.provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED, times=1))
    async with project.working():
        assert await (await project.start()).result() == "HELLO YOURSELF"
    assert await project.holds() == 2
    assert await project.world.figures() == (project.world.served_tokens()[-1], 0)


async def test_a_failure_that_may_have_cost_something_is_charged_its_estimate(project: Project) -> None:
    project.world.provider.control.add_fault(Fault(kind=FaultKind.DROP, times=1))
    async with project.working():
        assert await (await project.start()).result() == "HELLO YOURSELF"
    assert await project.attempts() == [(1, "presumed"), (1, "reported")]
    presumed = await presumed_tokens(project)
    assert presumed > OUTPUT
    assert await project.world.figures() == (presumed + project.world.served_tokens()[-1], 0)


async def test_a_cancelled_call_is_charged_its_estimate(project: Project) -> None:
    project.world.provider.control.add_fault(Fault(kind=FaultKind.HANG, times=1))
    async with project.working():
        handle = await project.start()
        await eventually(lambda: served(project))
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        await eventually(lambda: ended(project))
    assert await project.world.figures() == (await presumed_tokens(project), 0)


@pytest.mark.stack
async def test_a_call_in_a_thread_has_heartbeats_for_longer_than_their_time_out(project: Project) -> None:
    project.world.provider.control.add_rule(
        Rule(reply=Reply(content="hello yourself"), chunks=1, chunk_delay_ms=10_000)
    )
    async with project.working():
        assert await (await project.start(in_thread=True, heartbeat_s=9)).result() == "HELLO YOURSELF"
    assert await project.attempts() == [(1, "reported")]


@pytest.mark.stack
async def test_a_call_has_heartbeats_though_its_activity_sends_none(project: Project) -> None:
    project.world.provider.control.add_fault(Fault(kind=FaultKind.HANG, times=1))
    async with project.working():
        handle = await project.start(beats=False)
        await eventually(lambda: served(project))
        before = await last_heartbeat(handle)

        async def another() -> bool:
            return await last_heartbeat(handle) > before

        await eventually(another)
        await handle.cancel()
        await eventually(lambda: ended(project))


async def test_a_workflow_may_have_an_id_of_any_length(project: Project) -> None:
    async with project.working():
        handle = await project.start(workflow_id=f"order-{uuid.uuid4()}-" + "x" * 200)
        assert await handle.result() == "HELLO YOURSELF"
    assert await project.attempts() == [(1, "reported")]


async def test_a_call_that_cannot_be_held_is_not_tried_again(project: Project) -> None:
    await project.world.limit(5_000, limit_nano_usd=1_000_000)
    async with project.working() as sent:
        with pytest.raises(WorkflowFailureError) as failed:
            await (await project.start(model="own/model-without-price")).result()
    assert isinstance(failed.value.cause, ActivityError)
    refused = failed.value.cause.cause
    assert isinstance(refused, ApplicationError)
    assert (refused.type, refused.non_retryable) == ("UnknownPrice", True)
    assert sent == ["/v1/holds"]


async def test_a_result_without_usage_is_charged_its_estimate_and_kept(project: Project) -> None:
    async with project.working():
        assert await (await project.start(reports=False)).result() == "HELLO YOURSELF"
    assert await project.attempts() == [(1, "presumed")]
    assert await project.world.figures() == (await presumed_tokens(project), 0)


@pytest.mark.stack
async def test_a_killed_worker_leaves_a_presumed_attempt_on_the_same_hold(
    project: Project, temporal_address: str
) -> None:
    world = project.world
    await world.limit(5_000, mode="hard")
    world.provider.control.add_fault(Fault(kind=FaultKind.HANG, times=1))
    module = "tests.client.temporal.project"
    arguments = [temporal_address, project.task_queue, world.gateway.url, await world.key()]
    worker = subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=ROOT, env=ENV)
    try:
        handle = await project.start()
        await eventually(lambda: served(project))
    finally:
        worker.kill()
        worker.wait()
    assert (await world.figures())[1] > 0
    async with project.working():
        assert await handle.result() == "HELLO YOURSELF"
    assert await project.holds() == 1
    assert await project.attempts() == [(1, "presumed"), (2, "reported")]
    assert len(world.served_tokens()) == 2
    assert await world.figures() == (await presumed_tokens(project) + world.served_tokens()[1], 0)


async def last_heartbeat(handle: WorkflowHandle[Any, Any]) -> int:
    """When the server got it, in nanoseconds."""
    [pending] = (await handle.describe()).raw_description.pending_activities
    return pending.last_heartbeat_time.ToNanoseconds()


async def served(project: Project) -> bool:
    return bool(project.world.provider.served())


async def ended(project: Project) -> bool:
    return (await project.world.figures())[1] == 0


async def presumed_tokens(project: Project) -> int:
    return int(await project.world.gateway.pool.fetchval("select sum(tokens) from attempts where state = 'presumed'"))
