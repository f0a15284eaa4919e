"""Converts the gate's verdict into the `Shortage` of the workflow contract."""

from purser.budget.decisions import Amount, Decision
from purser.workflows.contract import Shortage


def shortage_of(decision: Decision, asked: Amount, retry_after_ms: int | None = None) -> Shortage | None:
    """Returns the decisive scope and the amount asked for; `None` if the gate admitted."""
    if decision.verdict.admits:
        return None
    decisive = decision.decisive
    return Shortage(str(decisive.scope), decisive.reason, asked.tokens, asked.nano_usd, retry_after_ms or 0)
