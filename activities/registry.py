"""All activities, put together from their stores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from purser.activities.admit import Admit
from purser.activities.approvals import ApprovalActivities, CallToApprove
from purser.activities.call_model import CallModel
from purser.activities.calls.admission import Admission
from purser.activities.calls.settlements import Settlements
from purser.activities.calls.window_extras import Asides
from purser.activities.close_agent import CloseAgent
from purser.activities.close_task import CloseTask
from purser.activities.compress_context import CompressContext, Compressing
from purser.activities.estimate_tokens import EstimateTokens
from purser.activities.hold import Hold
from purser.activities.metrics import Metrics
from purser.activities.models.provider import ModelProvider
from purser.activities.models.summarizer import Summarizer
from purser.activities.open_task import OpenTask
from purser.activities.postgres.calls import Calls
from purser.activities.record_status import RecordStatus
from purser.activities.record_tool_failure import RecordToolFailure
from purser.activities.release import Release
from purser.activities.settings import ActivitySettings
from purser.activities.settle import Settle
from purser.activities.stores import Stores
from purser.activities.tasks.agent_context import Briefs
from purser.activities.tasks.signatures import SignerOf, no_signer
from purser.activities.tools import Tools
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.pricing.prices import PriceBook
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.redaction import Detector
from purser.context.tokens import window_of
from purser.workflows.contract import AgentRef, CompressInput

Activity = Callable[..., Any]
EXTRACTIVE = "extractive"
"""The summarizer that is no model."""
DEFAULT_MODEL = "gpt-4o"
"""Whose counter applies to a session that is compressed for nobody in particular."""


@dataclass(frozen=True)
class Dependencies:
    """What activities are made of."""

    stores: Stores
    quick: Stores
    """Over a pool that gives up on a lock soon: for admission inside a workflow task."""
    settings: ActivitySettings
    prices: PriceBook
    provider: ModelProvider
    poke: Callable[[], None]
    """Called when a workflow may have to be woken."""
    summarizer_model: str = ""
    """Model that writes summaries; empty: none does."""
    summarizer_api_base: str | None = None
    """Its address; `None`: its provider's own."""
    signer_of: SignerOf = no_signer
    """Finds the key that signed a decision; by default no signature is accepted."""
    redaction: Sequence[Detector] = ()
    """What is taken out of texts besides personal data and secrets that have a known form."""
    metrics: Metrics = field(default_factory=Metrics)
    """Where verdicts, compressions, redactions and drift are counted."""


def all_activities(given: Dependencies) -> Sequence[Activity]:
    """Every activity of the contract, ready for a worker."""
    stores, metrics = given.stores, given.metrics
    agents, calls, ledger, conversations = stores.agents, stores.calls, stores.ledger, stores.sessions.conversations
    pricing = Pricing(given.prices, stores.policies, stores.holds, metrics.calls.unpriced)
    briefs = Briefs(agents, conversations, stores.sessions.calibrations, given.prices, given.settings)
    compress = CompressContext(
        stores.pool,
        partial(_compressing, given, briefs),
        partial(_summarizer, given),
        Placeholders(stores.pool, given.redaction),
        metrics,
        cooldown_s=given.settings.cooldown_s,
    )
    call_model = CallModel(
        briefs=briefs,
        calls=calls,
        conversations=conversations,
        summaries=stores.sessions.summaries,
        ledger=ledger,
        provider=given.provider,
        settlements=Settlements(
            pool=stores.pool,
            calls=calls,
            conversations=conversations,
            ledger=ledger,
            prices=given.prices,
            calibrations=stores.sessions.calibrations,
            metrics=metrics,
        ),
        asides=_asides(given, stores),
        settings=given.settings,
    )
    approving = ApprovalActivities(
        approvals=stores.approvals,
        call_of=partial(_call_to_approve, briefs, calls),
        poke=given.poke,
        signer_of=given.signer_of,
    )
    return (
        OpenTask(agents, given.settings).open_task,
        Admit(_admission(given, given.quick, briefs), _admission(given, stores, briefs)).admit,
        call_model.call_model,
        compress.compress_context,
        RecordToolFailure(Tools(stores.pool)).record_tool_failure,
        RecordStatus(agents).record_status,
        CloseAgent(agents, ledger, stores.approvals).close_agent,
        CloseTask(stores.pool, ledger, agents, conversations).close_task,
        approving.request_approval,
        approving.record_decision,
        EstimateTokens(conversations).estimate_tokens,
        Hold(ledger, stores.payers, pricing, metrics.calls.decided).hold,
        Settle(ledger, pricing).settle,
        Release(ledger).release,
    )


def _admission(given: Dependencies, stores: Stores, briefs: Briefs) -> Admission:
    return Admission(
        pool=stores.pool,
        briefs=briefs,
        agents=stores.agents,
        calls=stores.calls,
        conversations=stores.sessions.conversations,
        policies=stores.policies,
        ledger=stores.ledger,
        prices=given.prices,
        asides=_asides(given, stores),
        settings=given.settings,
        decided=given.metrics.calls.decided,
    )


def _asides(given: Dependencies, stores: Stores) -> Asides:
    return Asides(
        conversations=stores.sessions.conversations,
        sessions=stores.sessions.sessions,
        settings=stores.sessions.settings,
        memory=stores.sessions.memory,
        memory_tokens=given.settings.memory_tokens,
        across_sessions=given.settings.memory_across_sessions,
        at_once=stores is given.quick,
    )


async def _call_to_approve(briefs: Briefs, calls: Calls, agent: AgentRef, key: str) -> CallToApprove:
    brief, call = await briefs.of(agent), await calls.get(agent, key)
    return CallToApprove(brief.path, call.ask, brief.submitter, brief.submitted_by, brief.vouched)


async def _compressing(given: Dependencies, briefs: Briefs, request: CompressInput) -> Compressing:
    """For whom a conversation is compressed: an agent, or the session itself."""
    if request.agent_id:
        brief = await briefs.of(AgentRef(request.tenant, request.task_id, request.agent_id))
        return Compressing(brief.path, brief.model, brief.context, brief.window_tokens)
    context, model = given.settings.context, request.model or given.summarizer_model or DEFAULT_MODEL
    window = window_of(model, given.prices.context_window(model), default=context.context_window_tokens)
    path = await given.stores.payers.of_session(request.tenant, request.session_id)
    return Compressing(path, model, context, context.context_budget(window))


def _summarizer(given: Dependencies, name: str) -> Summarizer | None:
    """The model that a request names, or the configured one."""
    model = name or given.summarizer_model
    if model in ("", EXTRACTIVE):
        return None
    return Summarizer(
        model,
        given.provider,
        given.stores.ledger,
        given.prices,
        api_base=given.summarizer_api_base if model == given.summarizer_model else None,
        timeout_s=given.settings.summarizer_timeout_s,
        usual_window=given.settings.context.context_window_tokens,
        decided=given.metrics.calls.decided,
        unpriced=given.metrics.calls.unpriced,
    )
