"""Money for callers who state tokens only, at every door alike."""

from collections.abc import Callable
from enum import StrEnum

from budget.decisions import Amount
from budget.errors import MoneyNeeded, UnknownPrice
from budget.holds import Report
from budget.postgres.holds import Holds
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from budget.rates import Price
from budget.scopes import Path
from budget.usage import Usage


class Unpriced(StrEnum):
    """What becomes of a call that nobody knows the price of."""

    REFUSED = "refused"
    """A scope of its path limits money, so the call or its report is refused."""
    FREE = "free"
    """No scope limits money, so it is charged tokens alone."""
    ESTIMATED = "estimated"
    """The price is gone since the call was admitted, so it is charged the money that was held for it."""


def uncounted(outcome: Unpriced) -> None:
    """Counts nothing."""


class Pricing:
    """Prices usage from the price book, and insists on a price where a path limits money."""

    def __init__(
        self, prices: PriceBook, policies: Policies, holds: Holds, unpriced: Callable[[Unpriced], None] = uncounted
    ) -> None:
        """Args:
        prices: of models.
        policies: tell whether a path limits money.
        holds: tell the model of a hold.
        unpriced: called once for each call without a price.
        """
        self._prices = prices
        self._policies = policies
        self._holds = holds
        self._unpriced = unpriced

    async def ask(
        self, tenant: str, path: Path, model: str | None, tokens: int, least_tokens: int, nano_usd: int | None
    ) -> tuple[Amount, Amount]:
        """An ask and the least that makes sense, with money: as stated, else the dearest that the model could charge.

        Args:
            tenant, path, model: of the call.
            tokens, least_tokens: the ask, and what it may shrink to.
            nano_usd: what the caller states for all tokens; `None`: nothing.

        Raises:
            UnknownPrice: a scope limits money and the model has no price.
            MoneyNeeded: a scope limits money and there is no model.
        """
        if nano_usd is not None:
            return Amount(tokens, nano_usd), Amount(least_tokens, -(-nano_usd * least_tokens // tokens))
        price = await self._price(tenant, path, model)
        ask, least = (
            Amount(count, 0 if price is None else price.cost(Usage.from_total(count)))
            for count in (tokens, least_tokens)
        )
        return ask, least

    async def report(self, tenant: str, hold_id: str, usage: Usage, nano_usd: int | None) -> Report:
        """What an attempt of a hold cost: as stated, else by the price of the hold's model.

        Raises:
            NotFound, UnknownPrice, MoneyNeeded
        """
        if nano_usd is not None:
            return Report(usage, nano_usd)
        hold = await self._holds.get(tenant, hold_id)
        price = await self._price(tenant, hold.path, hold.model)
        if price is None and usage.total:
            self._unpriced(Unpriced.FREE)
        return Report(usage, 0 if price is None else price.cost(usage), priced=price is not None)

    async def addition(self, tenant: str, hold_id: str, tokens: int, nano_usd: int | None) -> Amount:
        """What a hold is extended by; raises as `report`."""
        if nano_usd is not None or not tokens:
            return Amount(tokens, nano_usd or 0)
        hold = await self._holds.get(tenant, hold_id)
        price = await self._price(tenant, hold.path, hold.model)
        return Amount(tokens, 0 if price is None else price.cost(Usage.from_total(tokens)))

    async def _price(self, tenant: str, path: Path, model: str | None) -> Price | None:
        """The price of a model; `None` if nobody knows it and no scope of the path limits money."""
        unknown: UnknownPrice | None = None
        if model is not None:
            try:
                return self._prices.price(model)
            except UnknownPrice as error:
                unknown = error
        for view in await self._policies.budgets_of(tenant, path.scopes, path.task_id()):
            if view.policy.limit_nano_usd is not None:
                self._unpriced(Unpriced.REFUSED)
                raise unknown or MoneyNeeded(str(view.scope), view.policy.limit_nano_usd)
        return None
