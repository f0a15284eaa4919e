"""Holds that learn: how much output the hold of a call covers at first, and how it grows while the reply streams.

A hold for the whole output cap is hardly ever used up, and keeps others waiting. A learned hold covers what most
replies of the same agent and model needed. It is topped up before a longer one exceeds it.
"""

from collections.abc import Sequence
from decimal import Decimal

from purser.budget.usage import Usage

REMEMBERED = 64
"""Latest replies of an agent and a model from which is learned."""
ENOUGH = 20
"""With fewer replies the whole output cap is held."""
AHEAD = 64
"""Tokens that are still held and not yet produced when a hold is topped up."""
LEAST_STEP = 256
"""Fewest tokens that the first attempt of a top-up asks for."""


def output_to_hold(seen: Sequence[int], quantile: Decimal, least: int, cap: int) -> int:
    """Returns the output tokens that a hold covers at first.

    Args:
        seen: output of earlier replies, as `output_seen` returns it.
        quantile: share of these replies that need no top-up; 0: hold the whole cap.
        least: never hold less, unless the cap is lower.
        cap: most output tokens of the call.
    """
    if not quantile or len(seen) < ENOUGH:
        return cap
    over, under = quantile.as_integer_ratio()
    rank = -(-over * len(seen) // under)
    return min(cap, max(least, sorted(seen)[rank - 1] + AHEAD))


def output_seen(usage: Usage, cap: int, *, streamed: bool, capped: bool) -> int:
    """Returns the output that is learned from a reply, at most its cap.

    It is the whole cap if the reply did not end by itself, because nobody knows how long it would have become: leaving
    it out would teach holds that long replies do not exist. It is the cap too if nobody could see the reply grow,
    because then no top-up can come in time: it arrived in one piece, or part of it was reasoning that is not sent.

    Args:
        usage: usage of the reply.
        cap: most output tokens of the call.
        streamed: whether the reply arrived in pieces.
        capped: whether the reply ended at its output cap or was cut.
    """
    hidden = not streamed or bool(usage.reasoning) or not usage.split_known
    return cap if capped or hidden else min(cap, usage.output)


def step(held: int, cap: int) -> int:
    """Returns the output tokens by which a hold for `held` output tokens grows."""
    return min(cap - held, max(LEAST_STEP, held // 2))
