"""Prices as lists of providers print them."""

from fractions import Fraction

from purser.budget.money import NANO
from purser.budget.pricing.rates import Price, Rates


def per_million(fresh: str, output: str) -> Price:
    """The price for dollars per million tokens of input, cached or not, and of output."""
    into, out = (Fraction(dollars) * NANO / 10**6 for dollars in (fresh, output))
    return Price(Rates(into, into, into, into, out, out))
