"""Holds on a path, for any workflow."""

from dataclasses import dataclass

from temporalio import activity

from activities.call_metrics import Decided, nobody
from budget.decisions import Amount
from budget.errors import UnknownPrice
from budget.holds import HoldAnswer, HoldRequest
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from budget.scopes import Path
from budget.usage import Usage
from workflows.contract import ActivityName, HoldInput, HoldResult, Shortage


@dataclass(frozen=True)
class Hold:
    """The activity `hold`."""

    ledger: Ledger
    policies: Policies
    prices: PriceBook
    decided: Decided = nobody
    """Told of every verdict."""

    @activity.defn(name=ActivityName.HOLD)
    async def hold(self, request: HoldInput) -> HoldResult:
        """Holds tokens and money on every scope of the path, or on none. To wait and to ask is up to the workflow."""
        path = Path.parse(request.path)
        ask = Amount(request.tokens, await self._nano_usd(request, path))
        least_tokens = request.min_tokens or request.tokens
        least = Amount(least_tokens, -(-ask.nano_usd * least_tokens // ask.tokens) if ask.tokens else 0)
        asked = HoldRequest(request.key, path, ask, least, model=request.model or None, patient=request.patient)
        answer = await self.ledger.hold(request.tenant, asked)
        self.decided(answer.decision)
        return _result(answer, ask)

    async def _nano_usd(self, request: HoldInput, path: Path) -> int:
        """Money as stated, else the dearest that the model could charge; raises `UnknownPrice`."""
        if request.nano_usd:
            return request.nano_usd
        try:
            return self.prices.price(request.model).cost(Usage.from_total(request.tokens))
        except UnknownPrice:
            for budget in await self.policies.budgets_of(request.tenant, path.scopes, path.task_id()):
                if budget.policy.limit_nano_usd is not None:
                    raise
            return 0


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
