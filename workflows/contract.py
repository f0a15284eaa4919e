"""Names and wire types shared by workflows, activities and external callers.

This module is light on purpose: it imports the standard library only and carries no conversation text. Wire types hold
str, int, bool, StrEnum, datetime and tuples, which every Temporal payload converter supports. Names and fields are
public API: fields are added with defaults, never renamed.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .statuses import AgentStatus as AgentStatus
from .statuses import TaskStatus as TaskStatus

TASK_QUEUE = "purser"
START = "@start"
"""Takes the place of a signal's name in the outbox: start the workflow of a task."""
WORKFLOW_ENDED = "workflow_ended"
"""The reason of an agent whose workflow ended without closing it, for example because it was terminated."""
MAX_JITTER = 0.2
"""Largest share that a workflow adds to a delay at random, so that agents delayed together do not return together."""
_TOOL_KEY = re.compile(r"tool/[^/]+/([0-9]+)/([0-9]+)(?:/[0-9]+)?")


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
    HOLD_TOOL = "hold_tool"
    RECORD_TOOL_FAILURE = "record_tool_failure"
    RECALL_MESSAGE = "recall_message"
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
        """Id of the task's workflow. Neither part contains a slash, so no two tasks share an id."""
        return f"task-{self.tenant}/{self.task_id}"


@dataclass(frozen=True)
class AgentRef:
    """One agent of a stored task."""

    tenant: str
    task_id: str
    agent_id: str

    @property
    def workflow_id(self) -> str:
        """Id of the agent's workflow."""
        return f"{TaskRef(self.task_id, self.tenant).workflow_id}/{self.agent_id}"


@dataclass(frozen=True)
class AgentPlan:
    """An agent as the task's workflow sees it: its place in the graph and its bounds."""

    agent_id: str
    depends_on: tuple[str, ...] = ()
    max_turns: int = 20


@dataclass(frozen=True)
class AgentRunInput:
    """The input of `AgentRun`. When the workflow continues as new, it passes on all fields."""

    agent: AgentRef
    max_turns: int
    max_wait_s: int = 600
    """As in `TaskPlan`."""
    turn: int = 1
    paused: bool = False
    turns_per_run: int = 200
    """As in `TaskPlan`."""
    session_id: str = ""
    """Session whose conversation is compressed."""


@dataclass(frozen=True)
class AgentOutcome:
    """How an agent ended; the result of `AgentRun`."""

    agent_id: str
    status: AgentStatus
    turns: int = 0
    reason: str = ""
    """Stable code, never text: `answered`, `max_turns`, `budget`, `limit`, `denied`, `expired`, `frozen`, …"""
    scope: str = ""
    """The scope that refused, if one did."""


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended; the result of `AgentTask`."""

    task_id: str
    status: TaskStatus
    agents: tuple[AgentOutcome, ...]
    reason: str = ""
    """`budget` if it completed with the last answer of an agent whose budget was used up."""


@dataclass(frozen=True)
class TaskPlan:
    """The agent graph of a task; the result of `open_task`."""

    session_id: str
    agents: tuple[AgentPlan, ...]
    max_parallel: int
    """Most agents that run at the same time."""
    max_wait_s: int = 600
    """Longest wait in seconds for open holds of others; after it the scope's mode decides."""
    turns_per_run: int = 200
    """Most turns that an agent takes before it continues as new."""
    ended: TaskOutcome | None = None
    """The outcome of a task that has ended: there is nothing to run, and `agents` is empty."""


class Plan(StrEnum):
    """The next step that `admit` advises."""

    CALL = "call"
    COMPRESS = "compress"


@dataclass(frozen=True)
class AdmitInput:
    """Asks for the hold of one turn; the input of `admit`."""

    agent: AgentRef
    key: str
    turn: int
    patient: bool = True
    """False once the caller has waited `max_wait`."""
    may_compress: bool = True
    """False once this turn has compressed."""
    last: bool = False
    """Whether it is the agent's last call, which concludes without tools and may use what budgets reserve for it."""


@dataclass(frozen=True)
class Shortage:
    """Why an ask was not admitted: the decisive scope and the amounts asked for."""

    scope: str
    reason: str
    tokens: int
    """Tokens asked for."""
    nano_usd: int
    """Nano-dollars asked for."""
    retry_after_ms: int = 0


@dataclass(frozen=True)
class AdmitResult:
    """The result of `admit`: figures and ids, never text."""

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
    """Context budget in tokens for which it is compressed; 0: there is nothing to compress."""
    may_conclude: bool = False
    """Whether a budget of the path reserves a part for the agent's last call."""


@dataclass(frozen=True)
class CallInput:
    """Calls the model under an admitted hold; the input of `call_model`."""

    agent: AgentRef
    key: str
    hold_id: str
    turn: int


class CallStatus(StrEnum):
    """The result of a model call."""

    REPLIED = "replied"
    HOLD_LOST = "hold_lost"
    """The hold had ended: ask for admission again under another key."""
    SHORT = "short"
    """The top-up for another attempt did not fit."""
    REJECTED = "rejected"
    """The provider refused the request for good; `reason` says why."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call of a stored reply; the input of every tool activity."""

    tenant: str
    session_id: str
    task_id: str
    agent_id: str
    seq: int
    """Sequence number of the assistant message with the call."""
    index: int
    """Position among the calls of that message, from 0."""
    activity: str = ""
    """Activity type; empty if the model named a tool that was not declared."""
    task_queue: str = ""
    """Task queue of the activity; empty: that of the workflow."""
    name: str = ""
    """Name by which the model called the tool."""
    nano_usd: int = 0
    """Declared price in nano-dollars, held before the tool runs; 0: the tool is free."""
    ask: int = 1
    """Number of its hold, from 1: a pause ends a hold, and the call asks for another one."""

    @property
    def key(self) -> str:
        """The key of the hold of a paid call."""
        first = f"tool/{self.session_id}/{self.seq}/{self.index}"
        return first if self.ask == 1 else f"{first}/{self.ask}"

    @staticmethod
    def place(key: str) -> tuple[int, int] | None:
        """Returns `seq` and `index` of the call whose hold has this key; `None` if it has another form."""
        found = _TOOL_KEY.fullmatch(key)
        return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True)
class ToolAsk:
    """Asks for the hold of a paid tool call; the input of `hold_tool`."""

    call: ToolCall
    patient: bool = True
    """False once the caller has waited `max_wait`."""


@dataclass(frozen=True)
class ToolHold:
    """The answer to a paid tool call; the result of `hold_tool`."""

    verdict: str
    """A `budget.Verdict`."""
    hold_id: str = ""
    delay_ms: int = 0
    short: Shortage | None = None


@dataclass(frozen=True)
class ToolResult:
    """The stored result of a tool call; the return value of every tool activity."""

    seq: int
    nano_usd: int | None = None
    """What the call of a paid tool cost, in nano-dollars; `None`: its declared price."""


@dataclass(frozen=True)
class CallResult:
    """A stored reply, or why there is none; the result of `call_model`."""

    status: CallStatus
    seq: int = 0
    """Sequence number of the reply."""
    tools: tuple[ToolCall, ...] = ()
    tokens: int = 0
    """Tokens charged for the attempt that replied."""
    reason: str = ""
    verdict: str = ""
    short: Shortage | None = None


@dataclass(frozen=True)
class ToolFailure:
    """A tool call that failed for good; a message that says so becomes its result."""

    call: ToolCall
    kind: str
    """Type name of the error, never its text."""


class Trigger(StrEnum):
    """Why a conversation is compressed."""

    SOFT_MARK = "soft_mark"
    """The conversation passed the trigger of its settings; the compression runs in parallel with the turn."""
    OVERFLOW = "overflow"
    """The window of a call would have to leave something out; the compression runs before the call."""
    REQUEST = "request"
    """A client requested it."""


@dataclass(frozen=True)
class CompressInput:
    """Compresses one conversation of a session; the input of `compress_context`."""

    tenant: str
    session_id: str
    key: str
    """Key of the hold of the compression."""
    thread: str = ""
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    task_id: str = ""
    agent_id: str = ""
    """Agent whose model and budget apply; empty: the session's model and budget, and its user's."""
    budget_tokens: int = 0
    """Context budget of the result in tokens; 0: from the settings and the model."""
    model: str = ""
    """Model whose tokenizer counts if no agent is named; empty: the summarizer's."""
    summarizer: str = ""
    """`extractive` or the name of a model; empty: from the settings."""
    trigger: str = Trigger.REQUEST
    """A `Trigger`."""
    tags: tuple[str, ...] = ()
    """Tags of its calls if no agent is named, each `name=value`; an agent's calls have those of its task."""


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
    tags: tuple[str, ...] = ()

    @property
    def workflow_id(self) -> str:
        """Id of the workflow, one per conversation: a second start joins the workflow that is running."""
        return "/".join(filter(None, (f"compress-{self.tenant}", self.session_id, self.thread)))


@dataclass(frozen=True)
class CompressResult:
    """A new summary version, or why there is none; the result of a compression."""

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
    """A status to store for the task's page."""

    tenant: str
    task_id: str
    status: str
    agent_id: str = ""
    """Agent whose status it is; empty: the task itself."""


@dataclass(frozen=True)
class AgentClosing:
    """Ends an agent: stores its outcome, closes its keys, withdraws its approval requests."""

    agent: AgentRef
    outcome: AgentOutcome
    key: str = ""
    """The key that may still be open; empty: none."""
    compression_key: str = ""
    """The key of the last compression that may still be open; empty: none."""
    last_key: str = ""
    """The key of the agent's last call; empty: it made none."""
    tool_keys: tuple[str, ...] = ()
    """The keys of paid tool calls that may still be open or wait for an approval."""
    unused_tool_keys: tuple[str, ...] = ()
    """Those of `tool_keys` whose tools were never called, so that they cost nothing."""


@dataclass(frozen=True)
class TaskClosing:
    """Ends a task: stores its outcome and appends the last replies to the session."""

    tenant: str
    outcome: TaskOutcome


@dataclass(frozen=True)
class ApprovalInput:
    """Opens or joins the approval request of a short scope."""

    agent: AgentRef
    key: str
    scope: str
    workflow_id: str
    """Workflow to wake when the request is decided."""
    tool: ToolCall | None = None
    """The call of a paid tool that waits; `None`: a call of the model."""


@dataclass(frozen=True)
class ApprovalTicket:
    """An approval request and its state."""

    approval_id: str
    state: str
    """`pending`, `approved`, `denied`, `expired`, `withdrawn`; or `fits` if the shortage is gone: ask again."""
    deadline: datetime | None = None


@dataclass(frozen=True)
class ApprovalDecision:
    """An approver's decision, as the signal `approval` and the update `decide_approval` carry it."""

    approval_id: str
    decision_id: str
    """Chosen by the sender: the same decision sent again changes nothing."""
    decision: str
    """`approve` or `deny`."""
    approver: str
    """The approver, as the sender asserts. In a signed decision the name of the key counts instead."""
    grant_tokens: int | None = None
    """Tokens to grant. If this and `grant_nano_usd` are missing, the shortage is granted."""
    grant_nano_usd: int | None = None
    until: str | None = None
    """End of the grant, ISO 8601 with a time zone."""
    note_ref: str | None = None
    """Reference to a note; never its text."""
    key_id: str | None = None
    """Id of the approver's key."""
    signature: str | None = None
    """HMAC-SHA256 of the canonical JSON of the other fields, keyed with the SHA-256 of the approver's key, in hex.
    Without it `approver` is only asserted, which is accepted if `trust_temporal_identity` is set."""
    ticket_url: str | None = None
    """Address of the ticket in which the decision was discussed, http or https."""


@dataclass(frozen=True)
class DecisionInput:
    """A decision received through Temporal; the input of `record_decision`."""

    tenant: str
    decision: ApprovalDecision


@dataclass(frozen=True)
class DecisionResult:
    """The effect of a decision; the result of `record_decision`."""

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
    """The argument of the signal that wakes a waiting agent. Postgres remains the source of truth."""

    approval_id: str
    state: str


@dataclass(frozen=True)
class AgentReport:
    """The status that an agent reports to its task."""

    agent_id: str
    status: AgentStatus
    ticket: ApprovalTicket | None = None
    """The newest of `tickets`, for tasks of 0.1.0."""
    tickets: tuple[ApprovalTicket, ...] = ()
    """The requests that the agent waits for; calls of tools wait in parallel."""


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
    """Stored messages to count for a model; the input of `estimate_tokens`."""

    tenant: str
    session_id: str
    model: str
    first_seq: int = 0
    last_seq: int = 2**53 - 1
    thread: str = ""


@dataclass(frozen=True)
class EstimateResult:
    """A token count and how it was counted; the result of `estimate_tokens`."""

    tokens: int
    method: str
    """`litellm`, `tiktoken` or `formula`."""
    encoding: str


@dataclass(frozen=True)
class HoldInput:
    """Asks for a hold on a path, from any workflow; the input of `hold`."""

    tenant: str
    key: str
    path: tuple[str, ...]
    tokens: int
    nano_usd: int | None = None
    """Nano-dollars; `None`: the most that `model` could charge."""
    min_tokens: int | None = None
    model: str = ""
    patient: bool = True
    tags: tuple[str, ...] = ()
    """Tags of the call, each `name=value`."""


@dataclass(frozen=True)
class HoldResult:
    """The gate's verdict on a path; the result of `hold`."""

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
    """The usage of an attempt: tokens in the five charged classes, or one total of unknown split."""

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
    """Cost in nano-dollars; `None`: by the price of the hold's model."""


@dataclass(frozen=True)
class SettleResult:
    """The effect of a settlement; the result of `settle`."""

    state: str
    tokens: int
    nano_usd: int
    overrun_tokens: int
    late: bool


@dataclass(frozen=True)
class ReleaseInput:
    """Closes a hold by key; the input of `release`."""

    tenant: str
    key: str


@dataclass(frozen=True)
class ReleaseResult:
    """The state in which the hold ended; the result of `release`."""

    state: str
