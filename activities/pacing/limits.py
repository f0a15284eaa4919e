"""Which limits of providers a request counts against."""

from collections.abc import Mapping

from purser.activities.models.egress.routes import host_label, own_name
from purser.activities.pacing.pace import Pace, Spacing
from purser.budget.pricing.price_book import PriceBook

_ANY = "*"


class Pacing:
    """The limits of an installation."""

    def __init__(self, limits: Mapping[str, Pace], prices: PriceBook) -> None:
        """Args:
        limits: pace by the name of a model, such as `openai/gpt-4o`, or `host:port/name` of a model at an `api_base`; a
            name that ends in `*` limits all models with that prefix together.
        prices: know the providers of models that are named without one.
        """
        self._prices = prices
        self._limits = {self._full_name(name): pace for name, pace in limits.items()}

    def spacings(self, model: str, api_base: str | None = None) -> tuple[Spacing, ...]:
        """The limits that a request counts against, first that of the model itself; none if it is not limited."""
        if not self._limits:
            return ()
        name = self._full_name(model, api_base)
        own = Spacing.of(name, self._limits.get(name, Pace()))
        shared = tuple(
            Spacing.of(limit, pace)
            for limit, pace in sorted(self._limits.items())
            if limit.endswith(_ANY) and name.startswith(limit[:-1])
        )
        return (own, *shared) if shared or name in self._limits else ()

    def _full_name(self, model: str, api_base: str | None = None) -> str:
        """The name of a model with its provider, however it is named."""
        if api_base is not None:
            return f"{host_label(api_base)}/{own_name(model)}"
        provider = self._prices.provider(model)
        return model if not provider or model.startswith(f"{provider}/") else f"{provider}/{model}"
