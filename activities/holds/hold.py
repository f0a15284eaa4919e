"""The activity `hold`: asks for a hold on a path, from any workflow."""

from dataclasses import dataclass, replace

from temporalio import activity

from purser.activities.calls.shortages import shortage_of
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.budget.gate import Amount
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.budget.labels import parse_tags
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.scopes import Path
from purser.context.postgres.sessions.payers import Payers
from purser.workflows.contract import ActivityName, HoldInput, HoldResult


@dataclass(frozen=True)
class Hold:
    """The activity `hold`."""

    ledger: Ledger
    payers: Payers
    pricing: Pricing
    on_verdict: OnVerdict = ignore_verdict
    """Called with every verdict."""

    @activity.defn(name=ActivityName.HOLD)
    async def hold(self, request: HoldInput) -> HoldResult:
        """Holds tokens and money on every scope of the path, or on none. Waits and approvals are up to the workflow.

        Raises:
            UnknownPrice, MoneyNeeded: a scope limits money, and the cost of the call is unknown.
        """
        stated = replace(Path.parse(request.path), tags=parse_tags(request.tags))
        path = await self.payers.complete(request.tenant, stated)
        least_tokens = request.min_tokens or request.tokens
        quote = self.pricing.quote(request.model or None, request.tokens, least_tokens, request.nano_usd)
        asked = HoldRequest(
            request.key,
            path,
            quote.full,
            quote.least,
            model=quote.model,
            patient=request.patient,
            stated=stated,
            priced=quote.priced,
        )
        answer = await self.ledger.hold(request.tenant, asked)
        self.pricing.admitted(request.tenant, quote.model, answer)
        self.on_verdict(answer.gate)
        quote.check_priced(answer.gate)
        return _result(answer, quote.full)


def _result(answer: HoldAnswer, ask: Amount) -> HoldResult:
    gate = answer.gate
    return HoldResult(
        verdict=gate.verdict,
        hold_id=answer.hold_id or "",
        tokens=answer.amount.tokens,
        nano_usd=answer.amount.nano_usd,
        delay_ms=gate.delay_ms,
        retry_after_ms=answer.retry_after_ms or 0,
        short=shortage_of(gate, ask, answer.retry_after_ms),
    )
