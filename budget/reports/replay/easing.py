"""What a recorded call would have asked for, and been charged, on the steps of ladders.

The ledger knows the model of a call and its usage by class of tokens. Its output cap is taken to be what it held beyond
its input. What a smaller window leaves out, and what another model answers, is not known: the tokens stay as they were,
but for output beyond a lower cap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from purser.budget.climbs import Climb
from purser.budget.gate import Amount
from purser.budget.policies.ladder import Reached
from purser.budget.pricing.call_prices import charge, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Scope
from purser.budget.usage import Usage


@dataclass(frozen=True, slots=True)
class Measured:
    """What the ledger knows of a call that reported its usage by class of tokens."""

    model: str
    prompt: int
    """Input tokens of one request."""
    usage: Usage
    """Of all attempts that reported."""
    nano_usd: int
    """What they were charged."""

    @classmethod
    def of(cls, model: str | None, usages: Sequence[Usage], nano_usd: int) -> "Measured | None":
        """Returns `None` if the model or the class of a token is not known, or nothing was used."""
        used = [usage for usage in usages if usage.total]
        if model is None or not used or not all(usage.split_known for usage in used):
            return None
        return cls(model, max(usage.prompt for usage in used), sum(used[1:], used[0]), nano_usd)


@dataclass(frozen=True, slots=True)
class Eased:
    """A call on the steps that it takes."""

    model: str
    ask: Amount
    priced: bool
    """Whether the price of the ask is known."""
    charged: Amount
    """What the attempts that reported would have been charged."""
    steps: tuple[tuple[Scope, Reached], ...]
    """The steps that change something."""


def eased(asked: Amount, priced: bool, call: Measured, climb: Climb, prices: PriceBook, least_output: int) -> Eased:
    """The call on these steps.

    Args:
        asked: what it asked for.
        priced: whether the price of that was known.
        call: what is known of it.
        climb: the steps.
        prices: prices of models.
        least_output: output tokens below which no step caps a call.
    """
    declared = asked.tokens - call.prompt
    cap = climb.output_cap(declared, least_output)
    changed = {one["scope"] for one in climb.stored(declared, cap)}
    steps = tuple((scope, one) for scope, one in climb.reached.items() if str(scope) in changed)
    ask, used = Usage(input=call.prompt, output=cap), call.usage
    if cap < declared and used.output > cap:
        reasoning = None if used.reasoning is None else min(used.reasoning, cap)
        used = replace(used, output=cap, reasoning=reasoning)
    if climb.model:
        quoted = quote(prices, climb.model, ask)
        charged = charge(prices, climb.model, used, 0).amount
        return Eased(climb.model, quoted.full, quoted.priced, charged, steps)
    price, ask_saves, call_saves = prices.find(call.model), None, None
    if price is not None:
        ask_saves = price.ceiling(Usage(input=call.prompt, output=declared)) - price.ceiling(ask)
        call_saves = price.cost(call.usage) - price.cost(used)
    held = _less(asked.nano_usd, ask.total, asked.tokens, ask_saves)
    nano_usd = _less(call.nano_usd, used.total, call.usage.total, call_saves)
    return Eased(call.model, Amount(ask.total, held), priced, Amount(used.total, nano_usd), steps)


def _less(nano_usd: int, tokens: int, of_tokens: int, saved: int | None) -> int:
    """Money for a part of the tokens: less what the others cost, or in proportion if their price is not known."""
    return max(0, nano_usd - saved) if saved is not None else -(-nano_usd * tokens // of_tokens)
