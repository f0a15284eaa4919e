"""The price book, built from the settings."""

from fractions import Fraction

from purser.budget.pricing.price_book import PriceBook
from purser.budget.pricing.rates import Price, Rates
from purser.compose.settings import Settings


def price_book(settings: Settings) -> PriceBook:
    """Prices of the price file, then of LiteLLM's table; a model in neither costs the ceiling, or is an error.

    Raises:
        InvalidPrices: the price file cannot be read.
    """
    ceiling = settings.unknown_price_ceiling_nano_usd_per_token if settings.unknown_price == "ceiling" else None
    unknown = None if ceiling is None else Price(Rates(*[Fraction(ceiling)] * 6))
    return PriceBook.load(settings.price_file, unknown)
