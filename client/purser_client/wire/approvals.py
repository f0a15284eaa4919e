"""Bodies and answers of `/v1/approvals`."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from .base import DESCRIBED, AmountView, Body, PageOf, View
from .budgets import ApprovalRulesView, ForecastView
from .enums import ApprovalState, Choice, Identity
from .fields import EndTime, Name, Positive
from .limits import MAX_DECISION_ID, MAX_NOTE, MAX_TICKET_URL


class Reasons(BaseModel):
    """The reasons given for a decision."""

    model_config = ConfigDict(use_attribute_docstrings=DESCRIBED)

    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None
    ticket_url: Annotated[str, Field(max_length=MAX_TICKET_URL)] | None = None
    """Where the decision was discussed: an http or https address."""


class DecisionBody(Reasons, Body):
    """A person's decision on an approval request."""

    decision_id: Annotated[Name, Field(max_length=MAX_DECISION_ID)]
    """Chosen by the caller; repeating the same decision has no effect."""
    decision: Annotated[Choice, Field(strict=False)]
    grant_tokens: Positive | None = None
    """Tokens to grant; the shortage if both amounts are left out."""
    grant_nano_usd: Positive | None = None
    until: EndTime | None = None
    """End of the grant; that of the window if left out."""


class ScopeFiguresView(View):
    """Figures of the scope that is short, in one unit."""

    spent: int
    held: int
    granted: int


class WaiterView(View):
    """A hold that waits for the decision."""

    key: str
    task_id: str
    agent_id: str
    submitter: str | None
    """Submitter that the task file names."""
    submitted_by: str | None
    """Name of the key that submitted the task."""
    tokens: int
    nano_usd: int
    since: datetime


class PastDecisionView(Reasons, View):
    """A recorded decision."""

    decision_id: str
    decision: Choice
    approver: str
    identity: Identity
    """How the approver was identified: by a key, or by a name that the sender claims."""
    grant_tokens: int
    grant_nano_usd: int
    until: datetime | None
    at: datetime


class ApprovalView(View):
    """An approval request."""

    approval_id: str
    scope: str
    window_start: datetime | None
    """`null` for a lifetime."""
    task_id: str
    """If set, a grant raises the limit that this task requested for itself and does not affect others on the scope."""
    state: ApprovalState
    asked: AmountView
    """The shortage now; for a closed request, the shortage when it closed."""
    given: AmountView
    limit_tokens: int | None
    limit_nano_usd: int | None
    tokens: ScopeFiguresView
    nano_usd: ScopeFiguresView
    decisions_needed: int
    """How many more people have to approve to grant the shortage."""
    rules: ApprovalRulesView
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None
    reminded_at: datetime | None
    """When a reminder was sent."""
    escalated_at: datetime | None
    """Since when deputies may decide."""
    waiters: list[WaiterView]
    decisions: list[PastDecisionView]
    forecast: ForecastView
    """How fast the scope spends, and when its budget is exhausted at that rate."""


class LastInputView(View):
    """The newest message in the window of a call."""

    seq: int
    """Sequence number in the session."""
    role: str
    text: str
    """Its first 500 characters at most."""


class ToolUseView(View):
    """The paid tool that a waiting call runs."""

    name: str
    arguments: str
    """The first 500 characters, at most, of what the model wrote."""


class PurposeView(View):
    """Purpose of a waiting call. Texts are cut to 500 characters, and are empty once the session is deleted."""

    key: str
    """Key of the waiting hold."""
    session_id: str
    input: str
    """Input of the task."""
    instructions: str
    """Instructions of the agent."""
    last_input: LastInputView | None
    """`null` if the window has nothing newer than the task's input."""
    tool: ToolUseView | None
    """`null` for a call of a model."""


class EffectView(View):
    """The effect of a grant on the waiting calls, by the gate's rules."""

    grant_tokens: int
    grant_nano_usd: int
    ratio: float | None
    """Ratio of the scope after the grant; `null` if no call fits."""
    delay_ms: int
    """Longest backpressure delay of an admitted call."""
    slowed_by: str | None
    """The scope that causes the delay."""
    admitted: int
    """Number of calls that are admitted."""
    asking: int
    """Number of calls that need another approval."""
    waiting: int
    """Number of calls that wait for open holds."""
    refused: int


class EffectsView(View):
    """Effects of two possible grants."""

    shortage: EffectView
    """A grant of exactly the shortage."""
    without_delay: EffectView
    """A grant that keeps the scope below its first backpressure step, if possible."""


class FinishView(View):
    """What the waiting tasks may still spend until they end: a range, from the turns that their agents have taken."""

    low: AmountView
    """If every agent takes one more turn, as cheap as its cheapest so far."""
    high: AmountView
    """If each takes all turns that it has left, as expensive as its most expensive so far."""
    turns: int
    """Number of turns that the range is measured on."""


class RelatedView(View):
    """Another pending request."""

    approval_id: str
    scope: str
    asked: AmountView
    deadline: datetime


class WholeApprovalView(ApprovalView):
    """An approval request with the purpose of its calls and the effect of a grant."""

    purposes: list[PurposeView]
    """Purposes of at most 20 calls of tasks, oldest first. Holds over HTTP have none."""
    effects: EffectsView | None
    """`null` once the request is closed."""
    finish: FinishView | None
    """`null`: unknown, because no turn has a reply yet, no task waits, or the request is closed."""
    related: list[RelatedView]
    """Other pending requests, at most 20, whose calls draw on the same scope."""
    link: str | None
    """Signed link to its page, for a message; who opens it has to sign in. `null` without `PURSER_SECRETS_KEY`."""


class DecidedView(View):
    """The state of a request after a decision."""

    state: ApprovalState
    decisions_needed: int
    """How many more people have to approve."""


ApprovalPage = PageOf[ApprovalView]
