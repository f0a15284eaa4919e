"""Cost of a call: the stated amount, else the price of its model, else unknown.

All callers use the same rule, before a call (`quote`) and after it (`charge`). `None` means not stated; 0 is a stated
amount. Whether a call of unknown price may hold is up to the gate, which alone sees under its locks what limits money.
"""

from dataclasses import dataclass
from enum import StrEnum

from purser.budget.errors import MoneyNeeded, UnknownPrice
from purser.budget.gate import Amount, GateAnswer
from purser.budget.holds import Report
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_NANO_USD


class Unpriced(StrEnum):
    """What happens to a call of unknown price."""

    REFUSED = "refused"
    """A scope of its path limits money, so the call or its report is refused."""
    FREE = "free"
    """No money was asked for it either, so only its tokens are charged."""
    ESTIMATED = "estimated"
    """It is charged the money that the hold asked for."""


def ignore_unpriced(outcome: Unpriced) -> None:
    """Ignores the report: the default where nothing counts unpriced reports."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The most that a call may use and cost."""

    full: Amount
    least: Amount
    """The amount to which it may shrink."""
    priced: bool
    """False if the price is unknown: then the amounts contain no money."""
    model: str | None

    def check_priced(self, answer: GateAnswer) -> None:
        """Checks that the gate did not refuse the call for want of a price.

        Raises:
            UnknownPrice, MoneyNeeded: it did; see `price_needed`.
        """
        if answer.unpriced:
            view = answer.decisive.view
            figures = (view.limit_nano_usd, view.spent.nano_usd, view.held.nano_usd)
            raise price_needed(self.model, str(view.scope), *figures)


def quote(
    prices: PriceBook, model: str | None, full: Usage, least: Usage | None = None, stated: int | None = None
) -> Quote:
    """Returns the most that a call may cost: the stated amount, else the most that its model could charge.

    Args:
        prices: prices of models.
        model: the model to be called; `None`: not named.
        full: the most that the call may use.
        least: the usage to which it may shrink; `None`: all or nothing.
        stated: nano-dollars for `full`; a part of it costs its share, rounded up. `None`: not stated.
    """
    least = least or full
    price = prices.find(model)
    if stated is not None:
        money = stated, -(-stated * least.total // max(1, full.total))
    elif price is not None:
        # The gate shrinks money in proportion: at the rates of `full`, every amount in between is priced high enough.
        money = price.ceiling(full), price.ceiling(least, within=full)
    else:
        money = 0, 0
    priced = stated is not None or price is not None or not full.total
    return Quote(Amount(full.total, money[0]), Amount(least.total, money[1]), priced, model)


def charge(prices: PriceBook, model: str | None, usage: Usage, asked_nano_usd: int) -> Report:
    """Returns what an attempt cost by the price of its model, or what the hold asked for if it has none.

    Args:
        prices: prices of models.
        model: the model that was called; `None`: not named.
        usage: usage of the attempt; an attempt without usage needs no price.
        asked_nano_usd: nano-dollars that the hold asked for.
    """
    price = prices.find(model)
    if price is not None:
        return Report(usage, min(price.cost(usage), MAX_CALL_NANO_USD))
    return Report(usage, asked_nano_usd, priced=False) if usage.total else Report(usage, 0)


def outcome_of(report: Report) -> Unpriced | None:
    """How a report without a price is charged; `None` if it has a price."""
    if report.priced:
        return None
    return Unpriced.ESTIMATED if report.nano_usd else Unpriced.FREE


def price_needed(
    model: str | None, scope: str, limit: int | None, spent: int | None = None, held: int | None = None
) -> UnknownPrice | MoneyNeeded:
    """The error for a call without a price: its model has none, or it names no model.

    Args:
        model: the model, if the caller named one.
        scope: the scope that limits money.
        limit, spent, held: money of that scope in nano-dollars; `None`: not known.
    """
    figures = (limit, spent, held)
    return MoneyNeeded(scope, *figures) if model is None else UnknownPrice(model, scope, *figures)
