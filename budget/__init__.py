"""What may be spent: scopes, policies, decisions, usage, prices, approvals, and the Postgres ledger.

Values and rules only; stores live in `budget.postgres`, so that importing a rule never loads a driver.
"""

from budget.approval_rules import judge
from budget.approvals import Actor, ApprovalRequest, ApprovalState, Choice, DecisionRequest, Identity
from budget.decisions import (
    Amount,
    Decision,
    Pressure,
    ScopeDecision,
    ScopeView,
    Verdict,
    decide,
    pressure,
)
from budget.errors import (
    AttemptConflict,
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
    NotFound,
    UnknownPrice,
)
from budget.holds import (
    AttemptAnswer,
    Extension,
    HoldAnswer,
    HoldRequest,
    HoldState,
    Released,
    Report,
    Settlement,
)
from budget.policies import (
    PRESETS,
    ApprovalRules,
    BackpressureStep,
    Mode,
    OnExpiry,
    Policy,
    PolicyPatch,
    Resolved,
    resolve,
)
from budget.prices import PriceBook
from budget.rates import Price, Rates
from budget.scopes import Kind, Path, Scope, agent_scope
from budget.usage import Usage, normalise
from budget.views import BudgetView
from budget.windows import Window, window_bounds

__all__ = [
    "PRESETS",
    "Actor",
    "Amount",
    "ApprovalRequest",
    "ApprovalRules",
    "ApprovalState",
    "AttemptAnswer",
    "AttemptConflict",
    "BackpressureStep",
    "BudgetError",
    "BudgetView",
    "Choice",
    "Conflict",
    "Decision",
    "DecisionConflict",
    "DecisionRefused",
    "DecisionRequest",
    "Extension",
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
    "ScopeDecision",
    "ScopeView",
    "Settlement",
    "UnknownPrice",
    "Usage",
    "Verdict",
    "Window",
    "agent_scope",
    "decide",
    "judge",
    "normalise",
    "pressure",
    "resolve",
    "window_bounds",
]
