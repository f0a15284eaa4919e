"""What may be spent: scopes, policies, the gate's verdicts, usage, prices, approvals, and the Postgres ledger.

Values and rules only; stores live in `purser.budget.postgres`, so that importing a rule never loads a driver.
"""

from purser.budget.actors import Actor
from purser.budget.approval_rules import judge
from purser.budget.approvals import ApprovalRequest, ApprovalState, Approver, Choice, DecisionRequest, Identity
from purser.budget.errors import (
    AttemptConflict,
    BeyondCounting,
    BudgetError,
    Conflict,
    DecisionConflict,
    DecisionRefused,
    HoldClosed,
    InvalidPolicy,
    InvalidPrices,
    InvalidRequest,
    InvalidScope,
    InvalidUsage,
    KeyReused,
    LedgerUnavailable,
    MoneyNeeded,
    NotFound,
    UnknownPrice,
)
from purser.budget.gate import Amount, GateAnswer, Pressure, ScopeAnswer, ScopeView, Verdict, gate_answer, pressure
from purser.budget.holds import (
    AttemptAnswer,
    Extension,
    HoldAnswer,
    HoldRequest,
    HoldState,
    Released,
    Report,
    Settlement,
)
from purser.budget.policies.fields import ApprovalRules, BackpressureStep, Mode, OnExpiry
from purser.budget.policies.policy import PRESETS, Policy, PolicyPatch, Resolved, resolve
from purser.budget.pricing.price_book import PriceBook
from purser.budget.pricing.rates import Price, Rates
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Path, Scope, agent_scope
from purser.budget.usage import Usage, normalize
from purser.budget.windows import Window, window_bounds

__all__ = [
    "PRESETS",
    "Actor",
    "Amount",
    "ApprovalRequest",
    "ApprovalRules",
    "ApprovalState",
    "Approver",
    "AttemptAnswer",
    "AttemptConflict",
    "BackpressureStep",
    "BeyondCounting",
    "BudgetError",
    "BudgetView",
    "Choice",
    "Conflict",
    "DecisionConflict",
    "DecisionRefused",
    "DecisionRequest",
    "Extension",
    "GateAnswer",
    "HoldAnswer",
    "HoldClosed",
    "HoldRequest",
    "HoldState",
    "Identity",
    "InvalidPolicy",
    "InvalidPrices",
    "InvalidRequest",
    "InvalidScope",
    "InvalidUsage",
    "KeyReused",
    "Kind",
    "LedgerUnavailable",
    "Mode",
    "MoneyNeeded",
    "NotFound",
    "OnExpiry",
    "Path",
    "Policy",
    "PolicyPatch",
    "Pressure",
    "Price",
    "PriceBook",
    "Rates",
    "Released",
    "Report",
    "Resolved",
    "Scope",
    "ScopeAnswer",
    "ScopeView",
    "Settlement",
    "UnknownPrice",
    "Usage",
    "Verdict",
    "Window",
    "agent_scope",
    "gate_answer",
    "judge",
    "normalize",
    "pressure",
    "resolve",
    "window_bounds",
]
