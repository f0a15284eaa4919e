"""Sessions that are used over HTTP only are compressed by themselves."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from purser.activities.runtime.stores import Stores
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.compose.processes.worker import run_worker
from purser.compose.settings import Settings
from purser.context.conversation.messages import Message
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.gateway.sessions.compressions import SessionCompressions
from purser.workflows.contract import CompressSessionInput
from tests.support.actors import TESTER
from tests.support.context.conversations import talk, user
from tests.support.context.session_requests import append
from tests.support.world import eventually

TENANT = "acme"
Make = Callable[..., SessionCompressions]


@pytest.fixture
def stores(pool: Pool) -> Stores:
    """All stores."""
    return Stores(ledger=Ledger(pool, LedgerSettings()), redaction=())


@pytest.fixture
def made(stores: Stores, temporal_client: Client, task_queue: str) -> Make:
    """Makes what starts compressions; no worker runs them."""

    def make(by_itself: bool = True, **settings: Any) -> SessionCompressions:
        context = ResolvedContext(ContextSettings(**settings))
        return SessionCompressions(
            temporal_client, task_queue, stores.sessions, PriceBook.load(), context, by_itself=by_itself
        )

    return make


async def started(client: Client, session_id: str) -> list[str]:
    """The newest run of the compression of a session, if there is one."""
    handle = client.get_workflow_handle(CompressSessionInput(TENANT, session_id).workflow_id)
    try:
        return [(await handle.describe()).run_id]
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return []


@pytest.mark.parametrize(
    ("messages", "settings", "due"),
    [
        (talk(20), {}, False),
        (talk(51), {}, True),
        (talk(51), {"history_window_size": 60}, False),
        (talk(51), {"trigger_ratio": 1.0, "target_ratio": 0.5}, False),
        (talk(51), {"by_itself": False}, False),
        ([user("many words " * 40_000), *talk(3)], {}, True),
        ([user("many words " * 20_000), *talk(3)], {}, False),
    ],
    ids=["short", "many messages", "own limit", "compression off", "off for sessions", "many tokens", "fewer tokens"],
)
async def test_an_append_starts_a_compression_once_the_trigger_of_tasks_is_passed(
    stores: Stores,
    made: Make,
    temporal_client: Client,
    task_queue: str,
    messages: list[Message],
    settings: dict[str, Any],
    due: bool,
) -> None:
    session_id, compressions = task_queue, made(**settings)
    await stores.sessions.conversations.append(TENANT, session_id, messages, origin="o")
    compressions.appended(TENANT, session_id, "gpt-4o", {})
    await compressions.start_due()
    assert len(await started(temporal_client, session_id)) == due


async def test_a_session_may_turn_its_own_compression_off(
    stores: Stores, made: Make, temporal_client: Client, task_queue: str
) -> None:
    off = {"context": {"trigger_ratio": 1.0}}
    await stores.sessions.settings.set_for_session(TENANT, task_queue, off, by=TESTER)
    await stores.sessions.conversations.append(TENANT, task_queue, talk(60), origin="o")
    compressions = made()
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    await compressions.start_due()
    assert await started(temporal_client, task_queue) == []
    await stores.sessions.settings.set_for_session(TENANT, task_queue, {}, by=TESTER)
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    await compressions.start_due()
    assert len(await started(temporal_client, task_queue)) == 1


async def test_while_a_compression_runs_further_appends_start_no_other(
    stores: Stores, made: Make, temporal_client: Client, task_queue: str
) -> None:
    runs = set()
    for number in range(3):
        await stores.sessions.conversations.append(TENANT, task_queue, talk(60), origin=f"o{number}")
        compressions = made()
        compressions.appended(TENANT, task_queue, "gpt-4o", {})
        await compressions.start_due()
        runs.update(await started(temporal_client, task_queue))
    assert len(runs) == 1


async def test_what_is_appended_while_a_compression_runs_is_considered_once_it_has_ended(
    stores: Stores, made: Make, temporal_client: Client, task_queue: str
) -> None:
    await stores.sessions.conversations.append(TENANT, task_queue, talk(60), origin="o")
    compressions = made()
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    await compressions.start_due()
    [first] = await started(temporal_client, task_queue)
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    for _ in range(2):
        await compressions.start_due()
        assert await started(temporal_client, task_queue) == [first]
    await temporal_client.get_workflow_handle(CompressSessionInput(TENANT, task_queue).workflow_id).terminate()
    await compressions.start_due()
    [second] = await started(temporal_client, task_queue)
    assert second != first
    await temporal_client.get_workflow_handle(CompressSessionInput(TENANT, task_queue).workflow_id).terminate()
    await compressions.start_due()
    assert await started(temporal_client, task_queue) == [second], "nothing was appended since it began"


async def test_a_session_whose_compression_freed_too_little_waits_for_new_messages(
    stores: Stores, made: Make, temporal_client: Client, task_queue: str
) -> None:
    await stores.sessions.conversations.append(TENANT, task_queue, talk(60), origin="o")
    await stores.sessions.summaries.gained_nothing(TENANT, task_queue, "", 45)
    compressions = made()
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    await compressions.start_due()
    assert await started(temporal_client, task_queue) == []
    await stores.sessions.conversations.append(TENANT, task_queue, talk(20), origin="more")
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    await compressions.start_due()
    assert len(await started(temporal_client, task_queue)) == 1


async def test_a_session_is_remembered_while_temporal_does_not_answer(
    stores: Stores, made: Make, temporal_client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stores.sessions.conversations.append(TENANT, task_queue, talk(60), origin="o")
    compressions = made()
    compressions.appended(TENANT, task_queue, "gpt-4o", {})
    with monkeypatch.context() as patched:
        patched.setattr(compressions, "_task_queue", "")
        with pytest.raises(RPCError):
            await compressions.start_due()
    await compressions.start_due()
    assert len(await started(temporal_client, task_queue)) == 1


async def test_a_session_that_fails_stops_no_other(
    stores: Stores, made: Make, temporal_client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [f"{task_queue}-{name}" for name in ("first", "failing", "last")]
    compressions = made()
    start = compressions.start

    async def failing(asked: CompressSessionInput, *, joins: bool) -> Any:
        if asked.session_id.endswith("failing"):
            raise RuntimeError("it fails every time")
        return await start(asked, joins=joins)

    monkeypatch.setattr(compressions, "start", failing)
    for session_id in sessions:
        await stores.sessions.conversations.append(TENANT, session_id, talk(60), origin="o")
        compressions.appended(TENANT, session_id, "gpt-4o", {})
    with pytest.raises(RuntimeError, match="it fails every time"):
        await compressions.start_due()
    assert [len(await started(temporal_client, session_id)) for session_id in sessions] == [1, 0, 1]
    monkeypatch.undo()
    await compressions.start_due()
    assert len(await started(temporal_client, sessions[1])) == 1


class TestOverHttp:
    """With a gateway and a worker."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """Those of the gateway and of the worker, with compression by itself, as by default."""
        assert Settings.model_fields["compress_sessions"].default
        return settings.model_copy(update={"compress_sessions": True})

    async def test_a_session_that_is_only_appended_to_is_compressed(
        self, settings: Settings, agent: httpx.AsyncClient, task_queue: str
    ) -> None:
        # A name of its own: the workflow is named after the session, and may outlive the worker of this test.
        path = f"/v1/sessions/{task_queue}"
        stop = asyncio.Event()
        running = asyncio.create_task(run_worker(settings, stop, lambda: None))
        said = [message.to_dict() for message in talk(60)]
        await append(agent, *said[:30], path=path, key="1")
        await append(agent, *said[30:], path=path, key="2")

        async def versions() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = (await agent.get(f"{path}/summaries")).json()["summaries"]
            return found

        [version] = await eventually(versions)
        assert (version["trigger"], version["covers"]) == ("soft_mark", [4, 40])
        for number in range(5):
            await append(agent, *said, path=path, key=f"more {number}")

        async def later() -> list[dict[str, Any]]:
            return [one for one in await versions() if one["covers"][1] >= 300]

        assert await eventually(later)
        await append(agent, *said[30:], path=path, key="2")
        shown = (await agent.get(f"{path}/window", params={"budget": 20_000})).json()
        assert shown["summary_version"] == (await versions())[-1]["version"]
        stop.set()
        await running
