"""Approval requests as the API answers them."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import AliasPath, Field

from purser.activities.postgres.purposes import Purpose
from purser.budget.approvals import ApprovalState, Choice, Identity
from purser.budget.previews import Effect
from purser.gateway.approvals.schemas import Reasons
from purser.gateway.budgets.views import ApprovalRulesView, ForecastView
from purser.gateway.http.views import AmountView, View


class StandingView(View):
    """Figures of the short scope in one unit."""

    spent: int
    held: int
    granted: int


class WaiterView(View):
    """A hold that waits for the decision."""

    key: str
    task_id: str
    agent_id: str
    submitter: str | None
    """Who submitted the task, as its file says."""
    submitted_by: str | None
    """The key that submitted it."""
    tokens: Annotated[int, Field(validation_alias=AliasPath("ask", "tokens"))]
    nano_usd: Annotated[int, Field(validation_alias=AliasPath("ask", "nano_usd"))]
    since: datetime


class PastDecisionView(Reasons, View):
    """A decision that was made."""

    decision_id: str
    decision: Annotated[Choice, Field(validation_alias="choice")]
    approver: str
    identity: Identity
    """How sure it is who decided: by a key, or a name that the sender gave himself."""
    grant_tokens: int
    grant_nano_usd: int
    until: datetime | None
    at: datetime


class ApprovalView(View):
    """A request with everything that a person needs to decide it."""

    approval_id: str
    scope: str
    window_start: datetime | None
    """`null` for a lifetime."""
    task_id: str
    """Set: a grant raises what this task asked for itself, and changes nothing for others who share the scope."""
    state: ApprovalState
    asked: AmountView
    """What is short now; of a closed request, what was short when it closed."""
    given: AmountView
    limit_tokens: int | None
    limit_nano_usd: int | None
    tokens: StandingView
    nano_usd: StandingView
    decisions_needed: int
    """How many more people it takes to grant what is short."""
    rules: ApprovalRulesView
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None
    waiters: list[WaiterView]
    decisions: list[PastDecisionView]
    forecast: ForecastView
    """Of the scope: how fast it spends, and when the rest is used up at that rate."""


class LastInputView(View):
    """The newest message that a call shows its model."""

    seq: int
    """Its number in the session."""
    role: str
    text: str
    """At most its first 500 characters."""


class PurposeView(View):
    """What a waiting call is for. Texts are the first 500 characters; empty once the session is deleted."""

    key: str
    """Of the waiter."""
    session_id: str
    input: str
    """Of the task."""
    instructions: str
    """Of the agent."""
    last_input: LastInputView | None
    """`null` where the call shows nothing newer than the task's input."""

    @classmethod
    def of(cls, key: str, purpose: Purpose) -> Self:
        last = purpose.last
        return cls(
            key=key,
            session_id=purpose.session_id,
            input=purpose.input,
            instructions=purpose.instructions,
            last_input=last and LastInputView(seq=last.seq, role=last.role, text=last.text),
        )


class EffectView(View):
    """What a grant would do to the waiting calls, by the rules that admit them."""

    grant_tokens: int
    grant_nano_usd: int
    ratio: float | None
    """Share of the scope that is used after it; `null` if no call fits."""
    delay_ms: int
    """Longest backpressure delay of a call that goes on."""
    slowed_by: str | None
    """The scope that causes the delay."""
    admitted: int
    """Calls that go on."""
    asking: int
    """Calls that ask again."""
    waiting: int
    """Calls that wait for open holds."""
    refused: int

    @classmethod
    def of(cls, effect: Effect) -> Self:
        return cls(
            grant_tokens=effect.grant.tokens,
            grant_nano_usd=effect.grant.nano_usd,
            ratio=effect.ratio,
            delay_ms=effect.delay_ms,
            slowed_by=str(effect.slowed_by) if effect.slowed_by else None,
            admitted=effect.admitted,
            asking=effect.asking,
            waiting=effect.waiting,
            refused=effect.refused,
        )


class EffectsView(View):
    """Two grants to choose from."""

    shortage: EffectView
    """Exactly what is missing."""
    without_delay: EffectView
    """Enough to stay below the first step of backpressure, where that is possible."""


class WholeApprovalView(ApprovalView):
    """A request with what its calls are for, and what a grant would do."""

    purposes: list[PurposeView]
    """Of calls of tasks, at most 20, oldest first. Calls over HTTP have none."""
    effects: EffectsView | None
    """`null` once the request is closed."""


class DecidedView(View):
    """What a decision made of its request."""

    state: ApprovalState
    decisions_needed: int
    """How many more people have to approve."""
