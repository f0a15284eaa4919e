"""What holds cost whose callers know their tokens: by what they state, else by the model that the hold names."""

from collections.abc import Callable

from purser.budget.holds import Report
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.pricing.prices import PriceBook
from purser.budget.pricing.quotes import Quote, Unpriced, charge, outcome_of, price_needed, quote, uncounted
from purser.budget.usage import Usage


class Pricing:
    """The price rule for callers who can state money: where a path limits money, they must if nobody else knows it."""

    def __init__(
        self, prices: PriceBook, policies: Policies, holds: Holds, unpriced: Callable[[Unpriced], None] = uncounted
    ) -> None:
        """Args:
        prices: of models.
        policies: tell whether the path of a report limits money.
        holds: tell the model of a hold.
        unpriced: called once for each report without a price.
        """
        self._prices = prices
        self._policies = policies
        self._holds = holds
        self._unpriced = unpriced

    def quote(self, model: str | None, tokens: int, least_tokens: int, nano_usd: int | None) -> Quote:
        """An ask and the least that makes sense, in tokens of either kind.

        Args:
            model, tokens, least_tokens: of the call.
            nano_usd: what the caller states for all tokens; `None`: nothing.
        """
        return quote(self._prices, model, Usage.from_total(tokens), Usage.from_total(least_tokens), nano_usd)

    async def addition(self, tenant: str, hold_id: str, tokens: int, nano_usd: int | None) -> Quote:
        """What a hold is extended by; raises `NotFound`."""
        known = nano_usd is not None or not tokens
        model = None if known else (await self._holds.get(tenant, hold_id)).model
        return self.quote(model, tokens, tokens, nano_usd)

    async def report(self, tenant: str, hold_id: str, usage: Usage, nano_usd: int | None) -> Report:
        """What an attempt of a hold cost.

        Raises:
            NotFound
            UnknownPrice, MoneyNeeded: nobody knows it, and a scope limits money.
        """
        if nano_usd is not None:
            return Report(usage, nano_usd)
        hold = await self._holds.get(tenant, hold_id)
        report = charge(self._prices, hold.model, usage, hold.asked_nano_usd)
        outcome = outcome_of(report)
        if outcome is not None:
            for view in await self._policies.budgets_of(tenant, hold.path.scopes, hold.task_id):
                if view.policy.limit_nano_usd is not None:
                    self._unpriced(Unpriced.REFUSED)
                    raise price_needed(hold.model, str(view.scope), view.policy.limit_nano_usd)
            self._unpriced(outcome)
        return report
