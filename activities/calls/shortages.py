"""Converts the gate's verdict into the `Shortage` of the workflow contract."""

from purser.budget.gate import Amount, GateAnswer
from purser.workflows.contract import Shortage


def shortage_of(answer: GateAnswer, asked: Amount, retry_after_ms: int | None = None) -> Shortage | None:
    """Returns the decisive scope and the amount asked for; `None` if the gate admitted."""
    if answer.verdict.admits:
        return None
    decisive = answer.decisive
    return Shortage(str(decisive.scope), decisive.reason, asked.tokens, asked.nano_usd, retry_after_ms or 0)
