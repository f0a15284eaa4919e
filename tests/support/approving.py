"""Approval requests and the people who decide them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from purser.budget.approvals import (
    ApprovalRequest,
    ApprovalState,
    Approver,
    Choice,
    DecisionRequest,
    Identity,
    PastDecision,
    Waiter,
)
from purser.budget.gate import Amount, ScopeView
from purser.budget.policies.fields import ApprovalRules
from purser.budget.scopes import Scope

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TWO_ABOVE_1000 = ApprovalRules(two_people_above_tokens=1_000)
ALICE = Approver("alice", None, ("approver",))
BOB = Approver("bob", None, ("approver",))


def waiter(tokens: int = 500, nano_usd: int = 0, submitter: str | None = "sam") -> Waiter:
    return Waiter(f"k{tokens}", "t1", "a1", submitter, Amount(tokens, nano_usd), NOW, vouched=True)


def request(**changes: Any) -> ApprovalRequest:
    """900 of 1,000 tokens are spent, 500 are asked: 400 are short."""
    plain = ApprovalRequest(
        approval_id="r1",
        scope=Scope.parse("session:s1"),
        window_start=None,
        task_id="",
        state=ApprovalState.PENDING,
        rules=ApprovalRules(),
        asked=Amount(400),
        given=Amount(),
        created_at=NOW,
        deadline=NOW + timedelta(minutes=30),
        decided_at=None,
        limit_tokens=1_000,
        limit_nano_usd=None,
        spent=Amount(900, 70),
        held=Amount(),
        granted=Amount(),
        current=True,
        waiters=(waiter(),),
        decisions=(),
    )
    return replace(plain, **changes)


def missing(seen: ScopeView, ask: Amount) -> Amount:
    """The smallest grant with which an ask fits on a scope."""
    names = ("scope", "limit_tokens", "limit_nano_usd", "spent", "held", "granted", "reserve")
    return request(**{name: getattr(seen, name) for name in names}).missing(ask)


def approve(**fields: Any) -> DecisionRequest:
    return DecisionRequest("r1", "d1", Choice.APPROVE, **fields)


DENY = DecisionRequest("r1", "d1", Choice.DENY)


def approval_by(name: str, amount: Amount, until: datetime | None = None) -> PastDecision:
    return PastDecision("d0", Choice.APPROVE, name, Identity.KEY, amount.tokens, amount.nano_usd, until, NOW)
