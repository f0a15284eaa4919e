"""What a call costs: what is stated, else the price of its model, else unknown.

One rule for every caller, before a call (`quote`) and after it (`charge`). `None` states nothing, 0 is a statement.
Whether a call of unknown price may hold is decided by the gate, which alone sees under its locks what limits money.
"""

from dataclasses import dataclass
from enum import StrEnum

from purser.budget.decisions import Amount, Decision
from purser.budget.errors import MoneyNeeded, UnknownPrice
from purser.budget.holds import MAX_CALL_NANO_USD, Report
from purser.budget.pricing.prices import PriceBook
from purser.budget.usage import Usage


class Unpriced(StrEnum):
    """What becomes of a call of unknown price."""

    REFUSED = "refused"
    """A scope of its path limits money, so the call or its report is refused."""
    FREE = "free"
    """No money was asked for it either, so it is charged tokens alone."""
    ESTIMATED = "estimated"
    """It is charged the money that was asked for it."""


def uncounted(outcome: Unpriced) -> None:
    """Counts nothing."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What a call may use, and what that may cost."""

    full: Amount
    least: Amount
    """What it may shrink to."""
    priced: bool
    """False: the price is unknown, and the amounts hold no money."""
    model: str | None

    def insist(self, decision: Decision) -> None:
        """Check that the gate did not ask for a price.

        Raises:
            UnknownPrice, MoneyNeeded: as `price_needed`, where that is what the gate decided.
        """
        if decision.unpriced:
            scope = decision.decisive
            raise price_needed(self.model, str(scope.scope), scope.limit_nano_usd)


def quote(
    prices: PriceBook, model: str | None, full: Usage, least: Usage | None = None, stated: int | None = None
) -> Quote:
    """What a call may cost: as stated, else the dearest that its model could charge.

    Args:
        prices: of models.
        model: that is called; `None`: not named.
        full: the most that the call may use.
        least: what it may shrink to; `None`: all or nothing.
        stated: nano-dollars for `full`; a part of it costs its share, rounded up.
    """
    least = least or full
    price = prices.find(model)
    if stated is not None:
        money = stated, -(-stated * least.total // max(1, full.total))
    elif price is not None:
        money = price.ceiling(full), price.ceiling(least)
    else:
        money = 0, 0
    priced = stated is not None or price is not None or not full.total
    return Quote(Amount(full.total, money[0]), Amount(least.total, money[1]), priced, model)


def charge(
    prices: PriceBook, model: str | None, usage: Usage, asked_nano_usd: int, stated: int | None = None
) -> Report:
    """What an attempt cost: as stated, else by the price of its model, else what was asked for it.

    Args:
        prices: of models.
        model: that was called; `None`: not named.
        usage: of the attempt; what used nothing needs no price.
        asked_nano_usd: of the hold.
        stated: nano-dollars.
    """
    if stated is not None:
        return Report(usage, stated)
    price = prices.find(model)
    if price is not None:
        return Report(usage, min(price.cost(usage), MAX_CALL_NANO_USD))
    return Report(usage, asked_nano_usd, priced=False) if usage.total else Report(usage, 0)


def outcome_of(report: Report) -> Unpriced | None:
    """How a report without a price is charged; `None` with one."""
    if report.priced:
        return None
    return Unpriced.ESTIMATED if report.nano_usd else Unpriced.FREE


def price_needed(model: str | None, scope: str, limit: int | None) -> UnknownPrice | MoneyNeeded:
    """Why a call without a price is refused: its model has none, or it names no model.

    Args:
        model: if the caller named one.
        scope: that limits money.
        limit: of that scope, in nano-dollars.
    """
    return MoneyNeeded(scope, limit) if model is None else UnknownPrice(model, scope, limit)
