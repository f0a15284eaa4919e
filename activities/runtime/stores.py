"""The stores of a process, each created once, so that all its parts share one ledger, which batches their asks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls.calls import Calls
from purser.activities.postgres.calls.outputs import Outputs
from purser.activities.postgres.sessions import SessionTasks
from purser.activities.postgres.tasks import Tasks
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.approvals.queue import ApprovalQueue
from purser.budget.postgres.approvals.reminders import Reminders
from purser.budget.postgres.audit.checkpoints import Checkpoints
from purser.budget.postgres.changes import Changes
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import Events
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.entries import Entries
from purser.budget.postgres.reports.scope_tree import ScopeTree
from purser.budget.postgres.reports.usage import UsageReports
from purser.context.conversation.pins import PIN_BUDGET
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory, ignore_outcome
from purser.context.postgres.sessions.payers import Payers
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.retention import Retention
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.redaction import Detector
from purser.context.retrieval import Embedder, Outcome


class SessionStores:
    """Stores of sessions and their conversations."""

    def __init__(self, pool: Pool, pin_budget: int, memory: Memory, redaction: Sequence[Detector]) -> None:
        self.sessions = Sessions(pool)
        self.conversations = Conversations(pool, pin_budget)
        self.pins = Pins(pool, pin_budget)
        self.settings = PersonalSettings(pool)
        self.retention = Retention(pool, SessionTasks())
        self.summaries = Summaries(pool)
        self.placeholders = Placeholders(pool, redaction)
        self.facts = Facts(pool, self.placeholders)
        self.calibrations = Calibrations(pool)
        self.memory = memory


@dataclass(kw_only=True, eq=False)
class Stores:
    """All stores over the pool of one ledger."""

    ledger: Ledger
    redaction: Sequence[Detector]
    """Additional detectors of values to redact, besides personal data and secrets of a known form."""
    trust_temporal_identity: bool = False
    """Whether unsigned decisions are accepted, whose approvers are only asserted."""
    pin_budget: int = PIN_BUDGET
    """Most tokens of all live pins of one session."""
    embedder: Embedder | None = None
    """Makes the vectors for the search of memory; `None`: memory is searched by words alone."""
    on_search: Callable[[Outcome], None] = ignore_outcome
    """Called with the outcome of each search of memory."""

    def __post_init__(self) -> None:
        pool, settings = self.ledger.pool, self.ledger.settings
        self.pool = pool
        self.policies = Policies(pool, settings)
        self.policy_sets = PolicySets(pool, self.policies)
        self.approvals = Approvals(pool, settings, trust_temporal_identity=self.trust_temporal_identity)
        self.reminders = Reminders(pool, settings)
        self.queue = ApprovalQueue(pool, settings)
        self.holds = Holds(pool)
        self.burn = Burn(pool, self.policies)
        self.entries = Entries(pool)
        self.usage = UsageReports(pool)
        self.tree = ScopeTree(pool, self.policies)
        self.changes = Changes(pool)
        self.checkpoints = Checkpoints(pool)
        self.events = Events(pool)
        self.outbox = Outbox(pool)
        self.payers = Payers(pool)
        memory = Memory(pool, self.embedder, self.on_search, self.payers)
        self.sessions = SessionStores(pool, self.pin_budget, memory, self.redaction)
        self.agents = Agents(pool)
        self.calls = Calls(pool)
        self.outputs = Outputs(pool)
        self.tasks = Tasks(pool, self.policies, self.sessions.conversations)
