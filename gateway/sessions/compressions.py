"""Compressions of sessions that are used over HTTP: started on request, and once an append passes the trigger."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from purser.activities.runtime.rpc import RPC_TIMEOUT
from purser.activities.runtime.stores import SessionStores
from purser.budget.labels import tag_texts
from purser.budget.pricing.price_book import PriceBook
from purser.context.resolution import ResolvedContext
from purser.context.tokens import PER_CONVERSATION
from purser.context.windows.engine import is_crowded
from purser.workflows.contract import CompressResult, CompressSessionInput, Trigger, WorkflowName


class _Append(NamedTuple):
    """The last append to a session whose compression has not been considered since."""

    model: str
    tags: tuple[str, ...]
    """Each `name=value`."""


class SessionCompressions:
    """Starts compressions; one runs per conversation."""

    def __init__(
        self,
        temporal: Client,
        task_queue: str,
        stores: SessionStores,
        prices: PriceBook,
        context: ResolvedContext,
        *,
        by_itself: bool,
    ) -> None:
        """Args:
        temporal, task_queue: where the workflows run.
        stores: of the sessions.
        prices: for the context windows of models.
        context: settings of the process, which apply below those of session and user.
        by_itself: whether appends start compressions.
        """
        self._temporal = temporal
        self._task_queue = task_queue
        self._stores = stores
        self._prices = prices
        self._context = context
        self._by_itself = by_itself
        self._appended: dict[tuple[str, str], _Append] = {}
        self.poked = asyncio.Event()
        """Set by an append."""

    async def start(
        self, start: CompressSessionInput, *, joins: bool = True
    ) -> "WorkflowHandle[object, CompressResult]":
        """Starts a compression, or joins the one of this conversation that runs.

        Args:
            start: what to compress.
            joins: whether to join one that runs.

        Raises:
            WorkflowAlreadyStartedError: one runs, and is not to be joined.
            RPCError: Temporal does not answer.
        """
        return await self._temporal.start_workflow(
            WorkflowName.COMPRESS_SESSION,
            start,
            id=start.workflow_id,
            task_queue=self._task_queue,
            result_type=CompressResult,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING if joins else WorkflowIDConflictPolicy.FAIL,
            rpc_timeout=RPC_TIMEOUT,
        )

    def appended(self, tenant: str, session_id: str, model: str, tags: Mapping[str, str]) -> None:
        """Notes that a session has new messages; never waits.

        Args:
            tenant, session_id: of the session.
            model: its tokens are counted for it.
            tags: of the key that appended. Those of the last append are the tags of the compression.
        """
        if self._by_itself:
            self._appended[tenant, session_id] = _Append(model, tag_texts(tags))
            self.poked.set()

    async def start_due(self) -> None:
        """Starts the compressions of noted sessions that pass the trigger.

        A session that fails remains noted and stops no other; the first failure is raised in the end. One that is being
        compressed remains noted too: what was appended since may pass the trigger once more.
        """
        failures: list[Exception] = []
        for tenant, session_id in list(self._appended):
            last = self._appended.pop((tenant, session_id))
            try:
                if await self._is_due(tenant, session_id, last.model):
                    start = CompressSessionInput(
                        tenant, session_id, model=last.model, trigger=Trigger.SOFT_MARK, tags=last.tags
                    )
                    await self.start(start, joins=False)
            except WorkflowAlreadyStartedError:
                self._appended.setdefault((tenant, session_id), last)
            except Exception as error:
                self._appended.setdefault((tenant, session_id), last)
                failures.append(error)
        if failures:
            raise failures[0]

    async def _is_due(self, tenant: str, session_id: str, model: str) -> bool:
        """Whether the session's own conversation passes the trigger, by the rule of tasks."""
        settings = (await self._stores.settings.personal(tenant, session_id)).resolved(self._context).settings
        if not settings.compresses:
            return False
        found = await self._stores.summaries.uncovered(tenant, session_id, model=model)
        # It would be refused again: it would cover the messages that freed too little.
        if found.fruitless_seq and found.fruitless_seq >= found.last_seq - settings.recents_count:
            return False
        budget = settings.context_budget(settings.window_of(model, self._prices))
        crowded = is_crowded(settings.parameters, tokens=PER_CONVERSATION + found.tokens, budget=budget)
        return crowded or found.messages > settings.history_window_size
