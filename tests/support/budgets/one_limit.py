"""Scopes with one limit, in tokens or money."""

from typing import Any

from purser.budget.gate import Amount, ScopeView
from purser.budget.policies.fields import Mode
from purser.budget.scopes import Scope

SESSION = Scope.parse("session:s1")
UNITS = ("tokens", "nano_usd")


def view(unit: str = "tokens", limit: int | None = None, mode: str = "hard", **fields: Any) -> ScopeView:
    """A scope with one limit; spent, held and granted are figures of that unit."""
    amounts: dict[str, Any] = {name: Amount(**{unit: fields.pop(name, 0)}) for name in ("spent", "held", "granted")}
    limits: dict[str, Any] = {"limit_tokens": None, "limit_nano_usd": None, f"limit_{unit}": limit}
    return ScopeView(SESSION, Mode(mode), **limits, **amounts, **fields)


def ask(unit: str, amount: int) -> Amount:
    """An ask for one unit; where money counts, the one token never matters."""
    return Amount(amount) if unit == "tokens" else Amount(1, amount)
