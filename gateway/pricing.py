"""Money for callers who state tokens only."""

from budget.errors import UnknownPrice
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from budget.scopes import Path
from budget.usage import Usage
from gateway.errors import MoneyNeeded


class Pricing:
    """Prices usage from the price book, and insists on a price where a path limits money."""

    def __init__(self, prices: PriceBook, policies: Policies) -> None:
        self._prices = prices
        self._policies = policies

    async def nano_usd(self, tenant: str, path: Path, model: str | None, *usages: Usage) -> list[int]:
        """Nano-dollars of each usage; zeros where the price is unknown and no scope limits money.

        Raises:
            UnknownPrice: a scope limits money and the model has no price.
            MoneyNeeded: a scope limits money and there is no model.
        """
        unknown: UnknownPrice | None = None
        if model is not None:
            try:
                price = self._prices.price(model)
                return [price.cost(usage) for usage in usages]
            except UnknownPrice as error:
                unknown = error
        for view in await self._policies.budgets_of(tenant, path.scopes, path.task_id()):
            if view.policy.limit_nano_usd is not None:
                raise unknown or MoneyNeeded(str(view.scope), view.policy.limit_nano_usd)
        return [0 for _ in usages]
