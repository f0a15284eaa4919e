"""Builds all activities of a worker from their dependencies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from purser.activities.admit import Admit
from purser.activities.approvals import ApprovalActivities, CallToApprove
from purser.activities.call_model import CallModel
from purser.activities.calls.admission import Admission
from purser.activities.calls.attempts import Attempts
from purser.activities.calls.ladder import CallLadder
from purser.activities.calls.room import CallRoom
from purser.activities.calls.settlements import Settlements
from purser.activities.calls.window_extras import WindowExtras
from purser.activities.close_agent import CloseAgent
from purser.activities.close_task import CloseTask
from purser.activities.compress_context import CompressContext, CompressionTarget
from purser.activities.compression.summarizer import Summarizer
from purser.activities.estimate_tokens import EstimateTokens
from purser.activities.hold_tool import HoldTool, asked_for
from purser.activities.holds.hold import Hold
from purser.activities.holds.release import Release
from purser.activities.holds.settle import Settle
from purser.activities.models.provider import ModelProvider
from purser.activities.open_task import OpenTask
from purser.activities.postgres.calls.calls import Calls
from purser.activities.recall_message import RecallMessage
from purser.activities.record_status import RecordStatus
from purser.activities.record_tool_failure import RecordToolFailure
from purser.activities.runtime.inputs import decoding
from purser.activities.runtime.metrics import Metrics
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.runtime.stores import Stores
from purser.activities.tasks.agent_context import AgentContexts
from purser.activities.tasks.signatures import SignerOf, no_signer
from purser.activities.tools import Tools
from purser.budget.labels import labels_of, parse_tags, tool_label
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.pricing.price_book import PriceBook
from purser.wire import enums
from purser.workflows.contract import AgentRef, ApprovalInput, CompressInput

Activity = Callable[..., Any]
DEFAULT_MODEL = "gpt-4o"
"""Model whose tokenizer counts when a session is compressed for no particular agent or model."""


@dataclass(frozen=True)
class Dependencies:
    """Everything from which the activities are built."""

    stores: Stores
    quick: Stores
    """Stores over a pool that soon gives up on a lock, for admission inside a workflow task."""
    settings: ActivitySettings
    prices: PriceBook
    provider: ModelProvider
    poke: Callable[[], None]
    """Called when a workflow may need to be woken."""
    summarizer_model: str = ""
    """Model that writes summaries; empty: summaries are extracted."""
    summarizer_api_base: str | None = None
    """Address of that model; `None`: its provider's own."""
    signer_of: SignerOf = no_signer
    """Finds the key that signed a decision; by default no signature is accepted."""
    metrics: Metrics = field(default_factory=Metrics)
    """Counts verdicts, compressions, redactions and drift."""


def all_activities(dependencies: Dependencies) -> Sequence[Activity]:
    """Returns every activity of the contract, ready for a worker."""
    stores, metrics = dependencies.stores, dependencies.metrics
    agents, calls, ledger, conversations = stores.agents, stores.calls, stores.ledger, stores.sessions.conversations
    pricing = Pricing(dependencies.prices, ledger, stores.holds, metrics.calls.unpriced)
    agent_contexts = AgentContexts(
        agents,
        conversations,
        stores.sessions.calibrations,
        stores.sessions.settings,
        dependencies.prices,
        dependencies.settings,
    )
    compress = CompressContext(
        stores.pool,
        partial(_compression_target, dependencies, agent_contexts),
        partial(_summarizer, dependencies),
        stores.sessions.placeholders,
        metrics,
        cooldown_s=dependencies.settings.cooldown_s,
    )
    call_model = CallModel(
        agent_contexts=agent_contexts,
        calls=calls,
        conversations=conversations,
        summaries=stores.sessions.summaries,
        ledger=ledger,
        prices=dependencies.prices,
        provider=dependencies.provider,
        settlements=Settlements(
            pool=stores.pool,
            calls=calls,
            outputs=stores.outputs,
            conversations=conversations,
            attempts=Attempts(ledger, dependencies.prices, metrics.calls.unpriced),
            calibrations=stores.sessions.calibrations,
            metrics=metrics,
        ),
        extras=_window_extras(dependencies, stores),
        settings=dependencies.settings,
    )
    approving = ApprovalActivities(
        approvals=stores.approvals,
        call_of=partial(_call_to_approve, agent_contexts, calls),
        poke=dependencies.poke,
        signer_of=dependencies.signer_of,
    )
    activities: Sequence[Activity] = (
        OpenTask(agents, dependencies.settings).open_task,
        Admit(
            _admission(dependencies, dependencies.quick, agent_contexts),
            _admission(dependencies, stores, agent_contexts),
        ).admit,
        call_model.call_model,
        compress.compress_context,
        HoldTool(agent_contexts, ledger, metrics.calls.count_verdict).hold_tool,
        RecordToolFailure(Tools(stores.pool)).record_tool_failure,
        RecallMessage(Tools(stores.pool), agent_contexts, conversations).recall_message,
        RecordStatus(agents).record_status,
        CloseAgent(agents, ledger, stores.approvals).close_agent,
        CloseTask(stores.pool, ledger, agents, conversations).close_task,
        approving.request_approval,
        approving.record_decision,
        EstimateTokens(conversations).estimate_tokens,
        Hold(ledger, stores.payers, pricing, metrics.calls.count_verdict).hold,
        Settle(pricing).settle,
        Release(ledger).release,
    )
    return [decoding(activity) for activity in activities]


def _admission(dependencies: Dependencies, stores: Stores, agent_contexts: AgentContexts) -> Admission:
    room = CallRoom(stores.policies, dependencies.prices, dependencies.settings)
    return Admission(
        pool=stores.pool,
        agent_contexts=agent_contexts,
        agents=stores.agents,
        calls=stores.calls,
        outputs=stores.outputs,
        conversations=stores.sessions.conversations,
        room=room,
        ledger=stores.ledger,
        prices=dependencies.prices,
        extras=_window_extras(dependencies, stores),
        settings=dependencies.settings,
        ladder=CallLadder(agent_contexts, room, dependencies.provider.reaches),
        on_verdict=dependencies.metrics.calls.count_verdict,
        on_window=dependencies.metrics.planned,
        on_step=dependencies.metrics.calls.climbed,
    )


def _window_extras(dependencies: Dependencies, stores: Stores) -> WindowExtras:
    return WindowExtras(
        conversations=stores.sessions.conversations,
        sessions=stores.sessions.sessions,
        settings=stores.sessions.settings,
        memory=stores.sessions.memory,
        memory_tokens=dependencies.settings.memory_tokens,
        across_sessions=dependencies.settings.memory_across_sessions,
        at_once=stores is dependencies.quick,
    )


async def _call_to_approve(agent_contexts: AgentContexts, calls: Calls, request: ApprovalInput) -> CallToApprove:
    agent_context = await agent_contexts.of(request.agent)
    path = agent_context.path
    if request.tool is not None:
        labels, ask = labels_of(path, None, tool_label(request.tool.name)), asked_for(request.tool)
    else:
        call = await calls.get(request.agent, request.key)
        labels, ask = labels_of(path, call.model), call.ask
    return CallToApprove(
        path=path,
        labels=labels,
        ask=ask,
        submitter=agent_context.submitter,
        submitted_by=agent_context.submitted_by,
        vouched=agent_context.vouched,
    )


async def _compression_target(
    dependencies: Dependencies, agent_contexts: AgentContexts, request: CompressInput
) -> CompressionTarget:
    """Finds the target of a compression: an agent, or the session itself."""
    if request.agent_id:
        agent_context = await agent_contexts.of(AgentRef(request.tenant, request.task_id, request.agent_id))
        return CompressionTarget(
            agent_context.path,
            agent_context.model,
            agent_context.context,
            agent_context.window_tokens,
            agent_context.question.seq,
        )
    personal = await dependencies.stores.sessions.settings.personal(request.tenant, request.session_id)
    context = personal.resolved(dependencies.settings.context).settings
    model = request.model or dependencies.summarizer_model or DEFAULT_MODEL
    window = context.window_of(model, dependencies.prices)
    paying = await dependencies.stores.payers.of_session(request.tenant, request.session_id)
    path = replace(paying, tags=parse_tags(request.tags))
    return CompressionTarget(path, model, context, context.context_budget(window))


def _summarizer(dependencies: Dependencies, name: str) -> Summarizer | None:
    """Returns the model that a request names, or the configured one."""
    model = name or dependencies.summarizer_model
    if model in ("", enums.Summarizer.EXTRACTIVE):
        return None
    return Summarizer(
        model,
        dependencies.provider,
        dependencies.stores.ledger,
        dependencies.prices,
        api_base=dependencies.summarizer_api_base if model == dependencies.summarizer_model else None,
        timeout_s=dependencies.settings.summarizer_timeout_s,
        window=dependencies.settings.context.settings.window_of(model, dependencies.prices),
        on_verdict=dependencies.metrics.calls.count_verdict,
        on_unpriced=dependencies.metrics.calls.unpriced,
    )
