"""Holds on a path, for any workflow."""

from dataclasses import dataclass

from temporalio import activity

from activities.call_metrics import Decided, nobody
from budget.decisions import Amount
from budget.holds import HoldAnswer, HoldRequest
from budget.postgres.ledger import Ledger
from budget.postgres.pricing import Pricing
from budget.scopes import Path
from context.postgres.payers import Payers
from workflows.contract import ActivityName, HoldInput, HoldResult, Shortage


@dataclass(frozen=True)
class Hold:
    """The activity `hold`."""

    ledger: Ledger
    payers: Payers
    pricing: Pricing
    decided: Decided = nobody
    """Told of every verdict."""

    @activity.defn(name=ActivityName.HOLD)
    async def hold(self, request: HoldInput) -> HoldResult:
        """Holds tokens and money on every scope of the path, or on none. To wait and to ask is up to the workflow."""
        stated = Path.parse(request.path)
        path = await self.payers.complete(request.tenant, stated)
        model, least_tokens = request.model or None, request.min_tokens or request.tokens
        ask, least = await self.pricing.ask(request.tenant, path, model, request.tokens, least_tokens, request.nano_usd)
        asked = HoldRequest(request.key, path, ask, least, model=model, patient=request.patient, stated=stated)
        answer = await self.ledger.hold(request.tenant, asked)
        self.decided(answer.decision)
        return _result(answer, ask)


def _result(answer: HoldAnswer, ask: Amount) -> HoldResult:
    decision, short = answer.decision, None
    if not decision.verdict.admits:
        decisive = decision.decisive
        short = Shortage(str(decisive.scope), decisive.reason, ask.tokens, ask.nano_usd, answer.retry_after_ms or 0)
    return HoldResult(
        verdict=decision.verdict,
        hold_id=answer.hold_id or "",
        tokens=answer.amount.tokens,
        nano_usd=answer.amount.nano_usd,
        delay_ms=decision.delay_ms,
        retry_after_ms=answer.retry_after_ms or 0,
        short=short,
    )
