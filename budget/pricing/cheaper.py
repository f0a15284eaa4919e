"""The choice of a cheaper model from the list of a ladder."""

from collections.abc import Iterable

from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage


def cheaper_model(prices: PriceBook, model: str, names: Iterable[str], usage: Usage, *, money_counts: bool) -> str:
    """Returns the first of `names` that is cheaper than `model` and whose window the call fits; else `model` itself.

    Where money counts, a model without a known price is never taken, and any known price is better than none. Where it
    does not, a model without a price is taken for cheaper than one that has a price: it is listed as such.

    Args:
        prices: prices of models.
        model: the model that the call has.
        names: models to choose from, in order.
        usage: the most that the call may use.
        money_counts: whether a scope of its path limits money.
    """
    own = prices.find(model)
    for name in names:
        window, price = prices.context_window(name), prices.find(name)
        if name == model or (window is not None and usage.total > window):
            continue
        if price is None:
            cheaper = own is not None and not money_counts
        elif own is None:
            cheaper = money_counts
        else:
            cheaper = price.ceiling(usage) < own.ceiling(usage)
        if cheaper:
            return name
    return model
