"""Prices of holds over HTTP: as the caller states, else by the model that the hold names."""

from collections.abc import Callable

from purser.budget.holds import Report
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.pricing.call_prices import Quote, Unpriced, charge, ignore_unpriced, outcome_of, price_needed, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage


class Pricing:
    """The price rule for callers that can state money: they must, if a path limits money and the price is unknown."""

    def __init__(
        self,
        prices: PriceBook,
        policies: Policies,
        holds: Holds,
        on_unpriced: Callable[[Unpriced], None] = ignore_unpriced,
    ) -> None:
        """Args:
        prices: prices of models.
        policies: determine whether the path of a report limits money.
        holds: determine the model of a hold.
        on_unpriced: called for each report without a price.
        """
        self._prices = prices
        self._policies = policies
        self._holds = holds
        self._on_unpriced = on_unpriced

    def quote(self, model: str | None, tokens: int, least_tokens: int, nano_usd: int | None) -> Quote:
        """Returns the cost of an ask and of its minimum, in tokens of unknown class.

        Args:
            model, tokens, least_tokens: model, tokens and minimum tokens of the call.
            nano_usd: cost of all tokens as the caller states it; `None`: not stated.
        """
        return quote(self._prices, model, Usage.from_total(tokens), Usage.from_total(least_tokens), nano_usd)

    async def addition(self, tenant: str, hold_id: str, tokens: int, nano_usd: int | None) -> Quote:
        """Returns the cost of an addition to a hold; raises `NotFound`."""
        known = nano_usd is not None or not tokens
        model = None if known else (await self._holds.get(tenant, hold_id)).model
        return self.quote(model, tokens, tokens, nano_usd)

    async def report(self, tenant: str, hold_id: str, usage: Usage, nano_usd: int | None) -> Report:
        """Returns the report of an attempt with its cost.

        Raises:
            NotFound
            UnknownPrice, MoneyNeeded: the cost is unknown, and a scope limits money.
        """
        if nano_usd is not None:
            return Report(usage, nano_usd)
        hold = await self._holds.get(tenant, hold_id)
        report = charge(self._prices, hold.model, usage, hold.asked_nano_usd)
        outcome = outcome_of(report)
        if outcome is not None:
            for view in await self._policies.budgets_of(tenant, hold.path.scopes, hold.task_id):
                if view.policy.limit_nano_usd is not None:
                    self._on_unpriced(Unpriced.REFUSED)
                    raise price_needed(hold.model, str(view.scope), view.policy.limit_nano_usd)
            self._on_unpriced(outcome)
        return report
