"""Why the gate did not admit, in the words of the contract."""

from purser.budget.decisions import Amount, Decision
from purser.workflows.contract import Shortage


def shortage_of(decision: Decision, asked: Amount, retry_after_ms: int | None = None) -> Shortage | None:
    """The decisive scope and what was asked of it; `None` if the gate admitted."""
    if decision.verdict.admits:
        return None
    decisive = decision.decisive
    return Shortage(str(decisive.scope), decisive.reason, asked.tokens, asked.nano_usd, retry_after_ms or 0)
