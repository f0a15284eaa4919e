"""All activities, put together from their stores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
from purser.activities.models.summariser import Summariser
from purser.activities.open_task import OpenTask
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls import Calls
from purser.activities.record_status import RecordStatus
from purser.activities.record_tool_failure import RecordToolFailure
from purser.activities.release import Release
from purser.activities.settings import ActivitySettings
from purser.activities.settle import Settle
from purser.activities.tasks.agent_context import Briefs
from purser.activities.tasks.signatures import SignerOf, no_signer
from purser.activities.tools import Tools
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.prices import PriceBook
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.payers import Payers
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.redaction import Detector
from purser.context.retrieval import Embedder
from purser.context.tokens import window_of
from purser.workflows.contract import AgentRef, CompressInput

Activity = Callable[..., Any]
EXTRACTIVE = "extractive"
"""The summariser that is no model."""
DEFAULT_MODEL = "gpt-4o"
"""Whose counter applies to a session that is compressed for nobody in particular."""


@dataclass(frozen=True)
class Dependencies:
    """What activities are made of."""

    pool: Pool
    quick_pool: Pool
    """Gives up on a lock soon: for admission inside a workflow task."""
    ledger_settings: LedgerSettings
    settings: ActivitySettings
    prices: PriceBook
    provider: ModelProvider
    poke: Callable[[], None]
    """Called when a workflow may have to be woken."""
    summariser_model: str = ""
    """Model that writes summaries; empty: none does."""
    summariser_api_base: str | None = None
    """Its address; `None`: its provider's own."""
    trust_temporal_identity: bool = False
    """Whether unsigned decisions count, whose approvers are only asserted."""
    signer_of: SignerOf = no_signer
    """Finds the key that signed a decision; by default no signature is accepted."""
    redaction: Sequence[Detector] = ()
    """What is taken out of texts besides personal data and secrets that have a known form."""
    embedder: Embedder | None = None
    """Finds memory by meaning; `None`: by words alone."""
    metrics: Metrics = field(default_factory=Metrics)
    """Where verdicts, compressions, redactions and drift are counted."""


def all_activities(given: Dependencies) -> Sequence[Activity]:
    """Every activity of the contract, ready for a worker."""
    agents, calls, conversations = Agents(given.pool), Calls(given.pool), Conversations(given.pool)
    ledger, policies = Ledger(given.pool, given.ledger_settings), Policies(given.pool, given.ledger_settings)
    pricing = Pricing(given.prices, policies, Holds(given.pool), given.metrics.calls.unpriced)
    calibrations = Calibrations(given.pool)
    briefs = Briefs(agents, conversations, calibrations, given.prices, given.settings)
    settlements = Settlements(given.pool, calls, conversations, ledger, given.prices, calibrations, given.metrics)
    approvals = Approvals(given.pool, given.ledger_settings, trust_temporal_identity=given.trust_temporal_identity)
    approving = ApprovalActivities(approvals, _CallOf(briefs, calls), given.poke, given.signer_of)
    compress = CompressContext(
        given.pool,
        _ForWhom(briefs, given),
        _Summarisers(given, ledger),
        Placeholders(given.pool, given.redaction),
        given.metrics,
        cooldown_s=given.settings.cooldown_s,
    )
    return (
        OpenTask(agents, given.settings).open_task,
        Admit(_admission(given, given.quick_pool, briefs), _admission(given, given.pool, briefs)).admit,
        CallModel(
            briefs,
            calls,
            conversations,
            Summaries(given.pool),
            ledger,
            given.provider,
            settlements,
            _asides(given, given.pool),
            given.settings,
        ).call_model,
        compress.compress_context,
        RecordToolFailure(Tools(given.pool)).record_tool_failure,
        RecordStatus(agents).record_status,
        CloseAgent(agents, ledger, approvals).close_agent,
        CloseTask(given.pool, ledger, agents, conversations).close_task,
        approving.request_approval,
        approving.withdraw_approval,
        approving.record_decision,
        EstimateTokens(conversations).estimate_tokens,
        Hold(ledger, Payers(given.pool), pricing, given.metrics.calls.decided).hold,
        Settle(ledger, pricing).settle,
        Release(ledger).release,
    )


def _admission(given: Dependencies, pool: Pool, briefs: Briefs) -> Admission:
    return Admission(
        pool=pool,
        briefs=briefs,
        agents=Agents(pool),
        calls=Calls(pool),
        conversations=Conversations(pool),
        policies=Policies(pool, given.ledger_settings),
        ledger=Ledger(pool, given.ledger_settings),
        prices=given.prices,
        asides=_asides(given, pool, at_once=pool is given.quick_pool),
        settings=given.settings,
        decided=given.metrics.calls.decided,
    )


def _asides(given: Dependencies, pool: Pool, *, at_once: bool = False) -> Asides:
    return Asides(
        conversations=Conversations(pool),
        sessions=Sessions(pool),
        settings=PersonalSettings(pool),
        memory=Memory(pool, given.embedder, given.metrics.searched),
        memory_tokens=given.settings.memory_tokens,
        across_sessions=given.settings.memory_across_sessions,
        at_once=at_once,
    )


@dataclass(frozen=True)
class _CallOf:
    """What an approval request needs to know of a call."""

    briefs: Briefs
    calls: Calls

    async def __call__(self, agent: AgentRef, key: str) -> CallToApprove:
        brief, call = await self.briefs.of(agent), await self.calls.get(agent, key)
        return CallToApprove(brief.path, call.ask, brief.submitter, brief.submitted_by, brief.vouched)


@dataclass(frozen=True)
class _ForWhom:
    """For whom a conversation is compressed: an agent, or the session itself."""

    briefs: Briefs
    given: Dependencies

    async def __call__(self, request: CompressInput) -> Compressing:
        if request.agent_id:
            brief = await self.briefs.of(AgentRef(request.tenant, request.task_id, request.agent_id))
            return Compressing(brief.path, brief.model, brief.context, brief.window_tokens)
        context, model = self.given.settings.context, request.model or self.given.summariser_model or DEFAULT_MODEL
        window = window_of(model, self.given.prices.context_window(model), default=context.context_window_tokens)
        path = await Payers(self.given.pool).of_session(request.tenant, request.session_id)
        return Compressing(path, model, context, context.context_budget(window))


class _Summarisers:
    """The model that a request names, or the configured one."""

    def __init__(self, given: Dependencies, ledger: Ledger) -> None:
        self._given = given
        self._ledger = ledger

    def __call__(self, name: str) -> Summariser | None:
        given, model = self._given, name or self._given.summariser_model
        if model in ("", EXTRACTIVE):
            return None
        return Summariser(
            model,
            given.provider,
            self._ledger,
            given.prices,
            api_base=given.summariser_api_base if model == given.summariser_model else None,
            timeout_s=given.settings.summarizer_timeout_s,
            usual_window=given.settings.context.context_window_tokens,
            decided=given.metrics.calls.decided,
            unpriced=given.metrics.calls.unpriced,
        )
