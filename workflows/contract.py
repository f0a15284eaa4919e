"""Names and wire types that workflows, activities and callers from outside share.

This module is light on purpose: standard library only, no text of any conversation. Wire types hold str, int, bool,
StrEnum, datetime and tuples, which every Temporal payload converter can carry. Names and fields are public API: fields
are added with defaults, never renamed.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

TASK_QUEUE = "purser"
START = "@start"
"""In place of a signal in the outbox: start the workflow of a task."""


class WorkflowName(StrEnum):
    """Workflow types."""

    AGENT_TASK = "AgentTask"
    AGENT_RUN = "AgentRun"
    COMPRESS_SESSION = "CompressSession"


class ActivityName(StrEnum):
    """Activity types, one verb each."""

    OPEN_TASK = "open_task"
    ADMIT = "admit"
    CALL_MODEL = "call_model"
    COMPRESS_CONTEXT = "compress_context"
    RECORD_TOOL_FAILURE = "record_tool_failure"
    RECORD_STATUS = "record_status"
    CLOSE_AGENT = "close_agent"
    CLOSE_TASK = "close_task"
    REQUEST_APPROVAL = "request_approval"
    RECORD_DECISION = "record_decision"
    ESTIMATE_TOKENS = "estimate_tokens"
    HOLD = "hold"
    SETTLE = "settle"
    RELEASE = "release"


class Message(StrEnum):
    """Signals, updates and queries."""

    PAUSE = "pause"
    RESUME = "resume"
    APPROVAL = "approval"
    DECIDE_APPROVAL = "decide_approval"
    APPROVAL_DECIDED = "approval_decided"
    AGENT_REPORT = "agent_report"
    STATUS = "status"
    APPROVALS = "approvals"


class TaskStatus(StrEnum):
    """Where a task stands."""

    RUNNING = "running"
    PAUSED = "paused"
    WAITING_APPROVAL = "waiting_approval"
    COMPLETED = "completed"
    PARTIAL = "partial"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AgentStatus(StrEnum):
    """Where an agent of a task stands."""

    WAITING = "waiting"
    """For the agents that it depends on."""
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_APPROVAL = "waiting_approval"
    COMPLETED = "completed"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """A dependency did not complete."""


ENDED = frozenset(
    {AgentStatus.COMPLETED, AgentStatus.REFUSED, AgentStatus.FAILED, AgentStatus.CANCELLED, AgentStatus.SKIPPED}
)


@dataclass(frozen=True)
class TaskRef:
    """A stored task; the input of `AgentTask`."""

    task_id: str
    tenant: str = "default"

    @property
    def workflow_id(self) -> str:
        """Id of its workflow. Neither part holds a slash, so no two tasks share one."""
        return f"task-{self.tenant}/{self.task_id}"


@dataclass(frozen=True)
class AgentRef:
    """One agent of a stored task."""

    tenant: str
    task_id: str
    agent_id: str

    @property
    def workflow_id(self) -> str:
        """Id of its workflow."""
        return f"{TaskRef(self.task_id, self.tenant).workflow_id}/{self.agent_id}"


@dataclass(frozen=True)
class AgentPlan:
    """What the workflow needs to know of an agent: its place in the graph and its bounds."""

    agent_id: str
    depends_on: tuple[str, ...] = ()
    max_turns: int = 20


@dataclass(frozen=True)
class TaskPlan:
    """The graph of a task, from `open_task`."""

    session_id: str
    agents: tuple[AgentPlan, ...]
    max_parallel: int
    """Agents that run at the same time."""
    max_wait_s: int = 600
    """Longest wait for open holds of others before the mode decides."""
    turns_per_run: int = 200
    """An agent continues as new at the latest after this many turns."""


@dataclass(frozen=True)
class AgentRunInput:
    """The input of `AgentRun`; the fields after `max_turns` carry over when it continues as new."""

    agent: AgentRef
    max_turns: int
    max_wait_s: int = 600
    """As in `TaskPlan`."""
    turn: int = 1
    paused: bool = False
    turns_per_run: int = 200
    """As in `TaskPlan`."""
    session_id: str = ""
    """Whose conversation is compressed."""


@dataclass(frozen=True)
class AgentOutcome:
    """How an agent ended; the result of `AgentRun`."""

    agent_id: str
    status: AgentStatus
    turns: int = 0
    reason: str = ""
    """Stable code, never text: `answered`, `max_turns`, `limit`, `denied`, `expired`, `frozen`, `provider_error`, …"""
    scope: str = ""
    """The scope that refused, if one did."""


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended; the result of `AgentTask`."""

    task_id: str
    status: TaskStatus
    agents: tuple[AgentOutcome, ...]


class Plan(StrEnum):
    """What `admit` found to do next."""

    CALL = "call"
    COMPRESS = "compress"


@dataclass(frozen=True)
class AdmitInput:
    """Asks for one turn's hold."""

    agent: AgentRef
    key: str
    turn: int
    patient: bool = True
    """False once the caller has waited `max_wait`."""
    may_compress: bool = True
    """False once this turn has compressed."""


@dataclass(frozen=True)
class Shortage:
    """Why an ask was not admitted: the decisive scope and its figures."""

    scope: str
    reason: str
    tokens: int
    """Asked."""
    nano_usd: int
    retry_after_ms: int = 0


@dataclass(frozen=True)
class AdmitResult:
    """What a turn may do: figures and ids, never text."""

    plan: Plan
    verdict: str
    """A `budget.Verdict`; empty when the plan is to compress first."""
    hold_id: str = ""
    tokens: int = 0
    nano_usd: int = 0
    delay_ms: int = 0
    pressure: str = "low"
    short: Shortage | None = None
    compress_thread: str = ""
    """The conversation to compress: empty for the session's own, else the agent's."""
    compress_budget: int = 0
    """Context budget in tokens that it is compressed for; 0: there is nothing to compress."""


@dataclass(frozen=True)
class CallInput:
    """Calls the model for an admitted key."""

    agent: AgentRef
    key: str
    hold_id: str
    turn: int


class CallStatus(StrEnum):
    """What became of a model call."""

    REPLIED = "replied"
    HOLD_LOST = "hold_lost"
    """The hold had ended: admit anew under another key."""
    SHORT = "short"
    """The top-up for another attempt did not fit."""
    REJECTED = "rejected"
    """The provider refused the request for good; `reason` names why."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call of a stored reply; the input of every tool activity."""

    tenant: str
    session_id: str
    task_id: str
    agent_id: str
    seq: int
    """Sequence number of the assistant message that calls."""
    index: int
    """Which of its calls."""
    activity: str = ""
    """Activity type; empty if the model named a tool that was not declared."""
    task_queue: str = ""
    """Empty: the queue of the workflow."""


@dataclass(frozen=True)
class ToolResult:
    """The stored result of a tool call; what every tool activity returns."""

    seq: int


@dataclass(frozen=True)
class CallResult:
    """A stored reply, or why there is none."""

    status: CallStatus
    seq: int = 0
    """Sequence number of the reply."""
    tools: tuple[ToolCall, ...] = ()
    tokens: int = 0
    """What the attempt that replied was charged."""
    reason: str = ""
    verdict: str = ""
    short: Shortage | None = None


@dataclass(frozen=True)
class ToolFailure:
    """A tool call that failed for good; its result becomes a message that says so."""

    call: ToolCall
    kind: str
    """Type name of the error, never its text."""


class Trigger(StrEnum):
    """Why a conversation is compressed."""

    SOFT_MARK = "soft_mark"
    """It passed the trigger of its settings: beside the turn."""
    OVERFLOW = "overflow"
    """The window of a call would have to leave something out: before the call."""
    REQUEST = "request"
    """Somebody asked for it."""


@dataclass(frozen=True)
class CompressInput:
    """Compresses one conversation of a session."""

    tenant: str
    session_id: str
    key: str
    """Names the hold of the compression."""
    thread: str = ""
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    task_id: str = ""
    agent_id: str = ""
    """Whose model and budget apply; empty: the session's, and its user's."""
    budget_tokens: int = 0
    """Context budget of the result; 0: from the settings and the model."""
    model: str = ""
    """Whose counter applies where no agent is named; empty: the summarizer's."""
    summarizer: str = ""
    """`extractive` or the name of a model; empty: from the settings."""
    trigger: str = Trigger.REQUEST
    """A `Trigger`."""


@dataclass(frozen=True)
class CompressSessionInput:
    """Compresses one conversation of a session; the input of `CompressSession`. Fields as in `CompressInput`."""

    tenant: str
    session_id: str
    thread: str = ""
    model: str = ""
    budget_tokens: int = 0
    summarizer: str = ""
    trigger: str = Trigger.REQUEST
    task_id: str = ""
    agent_id: str = ""

    @property
    def workflow_id(self) -> str:
        """One per conversation, so that one runs at a time: whoever starts it again joins the one that runs."""
        return "/".join(filter(None, (f"compress-{self.tenant}", self.session_id, self.thread)))


@dataclass(frozen=True)
class CompressResult:
    """A new summary version, or why there is none."""

    version: int
    """0 if nothing was stored."""
    first_seq: int = 0
    last_seq: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    method: str = ""
    """`extractive` or `model`."""
    reason: str = ""
    """Stable code when nothing was stored: `nothing_to_cover`, `busy`, `no_gain`."""


@dataclass(frozen=True)
class StatusUpdate:
    """A status that the task's page shows."""

    tenant: str
    task_id: str
    status: str
    agent_id: str = ""
    """Empty: of the task itself."""


@dataclass(frozen=True)
class AgentClosing:
    """Ends an agent: stores its outcome, closes its key, withdraws its approval request."""

    agent: AgentRef
    outcome: AgentOutcome
    key: str = ""
    """The key that may still be open; empty: none."""
    compression_key: str = ""
    """Likewise, of the last compression."""


@dataclass(frozen=True)
class TaskClosing:
    """Ends a task: stores its outcome and publishes the last replies to the session."""

    tenant: str
    outcome: TaskOutcome


@dataclass(frozen=True)
class ApprovalInput:
    """Opens or joins the approval request of a short scope."""

    agent: AgentRef
    key: str
    scope: str
    workflow_id: str
    """Whom to wake."""


@dataclass(frozen=True)
class ApprovalTicket:
    """A request that waits for a person."""

    approval_id: str
    state: str
    """`pending`, `approved`, `denied`, `expired`, `withdrawn`; or `fits` when the shortage is gone: ask again."""
    deadline: datetime | None = None


@dataclass(frozen=True)
class ApprovalDecision:
    """A person's decision, as the signal `approval` and the update `decide_approval` carry it."""

    approval_id: str
    decision_id: str
    """Chosen by the sender: the same decision sent again changes nothing."""
    decision: str
    """`approve` or `deny`."""
    approver: str
    """Whoever the sender says decides. In a signed decision the name of the key counts instead."""
    grant_tokens: int | None = None
    """Tokens to grant. Without this and `grant_nano_usd`: the shortage."""
    grant_nano_usd: int | None = None
    until: str | None = None
    """End of the grant, ISO 8601 with a time zone."""
    note_ref: str | None = None
    """Where a note is; never its text."""
    key_id: str | None = None
    """Id of the approver's key."""
    signature: str | None = None
    """HMAC-SHA256 of the canonical JSON of the other fields, keyed with the SHA-256 of the approver's key, in hex.
    Without it `approver` is only asserted, which counts where `trust_temporal_identity` is set."""
    ticket_url: str | None = None
    """Where the decision was discussed: an http or https address."""


@dataclass(frozen=True)
class DecisionInput:
    """A decision that came through Temporal."""

    tenant: str
    decision: ApprovalDecision


@dataclass(frozen=True)
class DecisionResult:
    """What a decision did."""

    approval_id: str
    state: str
    decisions_needed: int = 0
    error: str = ""
    """Stable code if the decision was refused and changed nothing: `unsigned`, `signature`, `role`, `submitter`,
    `same_person`, `closed`, `conflict`, `invalid` or `not_found`."""
    message: str = ""
    """Why it was refused, and what to do."""


@dataclass(frozen=True)
class ApprovalDecided:
    """Wakes a waiting agent; Postgres holds the truth."""

    approval_id: str
    state: str


@dataclass(frozen=True)
class AgentReport:
    """An agent tells its task how it stands."""

    agent_id: str
    status: AgentStatus
    ticket: ApprovalTicket | None = None
    """The request that it waits for."""


@dataclass(frozen=True)
class AgentState:
    """One agent, as the query `status` shows it."""

    agent_id: str
    status: AgentStatus


@dataclass(frozen=True)
class TaskState:
    """The answer of the query `status`."""

    task_id: str
    status: TaskStatus
    agents: tuple[AgentState, ...]


@dataclass(frozen=True)
class EstimateInput:
    """Stored messages to count for a model."""

    tenant: str
    session_id: str
    model: str
    first_seq: int = 0
    last_seq: int = 2**53 - 1
    thread: str = ""


@dataclass(frozen=True)
class EstimateResult:
    """A token count and how it came about."""

    tokens: int
    method: str
    """`litellm`, `tiktoken` or `formula`."""
    encoding: str


@dataclass(frozen=True)
class HoldInput:
    """Holds on a path, for any workflow."""

    tenant: str
    key: str
    path: tuple[str, ...]
    tokens: int
    nano_usd: int | None = None
    """Nano-dollars; `None`: the dearest that `model` could charge."""
    min_tokens: int | None = None
    model: str = ""
    patient: bool = True


@dataclass(frozen=True)
class HoldResult:
    """The verdict on a path."""

    verdict: str
    hold_id: str
    """Empty unless the verdict admits."""
    tokens: int
    nano_usd: int
    delay_ms: int
    retry_after_ms: int
    short: Shortage | None = None


@dataclass(frozen=True)
class SettleInput:
    """What an attempt cost: the five charged classes, or one total of unknown split."""

    tenant: str
    hold_id: str
    attempt: int
    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    total: int | None = None
    nano_usd: int | None = None
    """Nano-dollars; `None`: by the price of the hold's model."""


@dataclass(frozen=True)
class SettleResult:
    """What a settlement changed."""

    state: str
    tokens: int
    nano_usd: int
    overrun_tokens: int
    late: bool


@dataclass(frozen=True)
class ReleaseInput:
    """Closes a hold by key."""

    tenant: str
    key: str


@dataclass(frozen=True)
class ReleaseResult:
    """How the hold ended."""

    state: str
