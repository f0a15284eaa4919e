"""Rates: exact arithmetic from tokens to integer nano-dollars."""

import math
from dataclasses import astuple, dataclass
from fractions import Fraction

from purser.budget.usage import Usage


@dataclass(frozen=True, slots=True)
class Rates:
    """Nano-dollars per token of each class, as fractions, because some rates are not whole nano-dollars."""

    input: Fraction
    """Fresh input."""
    cache_read: Fraction
    """Input read from a provider's cache."""
    cache_write_5m: Fraction
    """Input written to a cache with a lifetime of five minutes."""
    cache_write_1h: Fraction
    """Input written to a cache with a lifetime of one hour."""
    output: Fraction
    """Output other than reasoning."""
    reasoning: Fraction
    """Reasoning output."""

    def __or__(self, other: "Rates") -> "Rates":
        """The higher of both rates, class by class."""
        return Rates(*map(max, astuple(self), astuple(other)))

    @property
    def dearest_input(self) -> Fraction:
        """Highest rate of an input token."""
        return max(self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h)

    @property
    def dearest_output(self) -> Fraction:
        """Highest rate of an output token."""
        return max(self.output, self.reasoning)


@dataclass(frozen=True, slots=True)
class Price:
    """The rates of one model."""

    rates: Rates
    """Rates below the first tier."""
    tiers: tuple[tuple[int, Rates], ...] = ()
    """`(above, rates)`, ascending: apply to the whole request if its prompt has more than `above` tokens."""

    def cost(self, usage: Usage) -> int:
        """Nano-dollars for `usage`, rounded up once; tokens of unknown class cost the highest possible rate."""
        rates = self._between(usage.prompt, usage.prompt + usage.unsplit)
        reasoning = usage.reasoning or 0
        plain = rates.dearest_output if usage.reasoning is None else rates.output
        parts = (
            (usage.input, rates.input),
            (usage.cache_read, rates.cache_read),
            (usage.cache_write_5m, rates.cache_write_5m),
            (usage.cache_write_1h, rates.cache_write_1h),
            (usage.output - reasoning, plain),
            (reasoning, rates.reasoning),
            (usage.unsplit, max(rates.dearest_input, rates.dearest_output)),
        )
        return math.ceil(sum(tokens * rate for tokens, rate in parts if tokens))

    def ceiling(self, usage: Usage, *, within: Usage | None = None) -> int:
        """Most nano-dollars that a request of at most `usage` can cost, whatever its caching and reasoning.

        Args:
            usage: the most that the request may use.
            within: the usage that decides which tiers can apply, for `usage` as a part of it; `None`: `usage` itself.
        """
        largest = within or usage
        rates = self._between(0, largest.prompt + largest.unsplit)
        parts = (
            (usage.prompt, rates.dearest_input),
            (usage.output, rates.dearest_output),
            (usage.unsplit, max(rates.dearest_input, rates.dearest_output)),
        )
        return math.ceil(sum(tokens * rate for tokens, rate in parts if tokens))

    def _between(self, fewest: int, most: int) -> Rates:
        """The highest rates, class by class, that can apply to a prompt of `fewest` to `most` tokens."""
        rates = self.rates
        for above, dearer in self.tiers:
            if most <= above:
                break
            rates = dearer if fewest > above else rates | dearer
        return rates
