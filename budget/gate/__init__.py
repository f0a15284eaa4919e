"""The gate: what it answers to an ask (`answers`), and the rules by which it does (`rules`)."""

from purser.budget.gate.answers import (
    NOTHING,
    OUTCOMES,
    SHADOW,
    UNKNOWN_PRICE,
    Amount,
    GateAnswer,
    Pressure,
    ScopeAnswer,
    ScopeView,
    Verdict,
)
from purser.budget.gate.rules import gate_answer, pressure, price_of, room, smallest

__all__ = [
    "NOTHING",
    "OUTCOMES",
    "SHADOW",
    "UNKNOWN_PRICE",
    "Amount",
    "GateAnswer",
    "Pressure",
    "ScopeAnswer",
    "ScopeView",
    "Verdict",
    "gate_answer",
    "pressure",
    "price_of",
    "room",
    "smallest",
]
