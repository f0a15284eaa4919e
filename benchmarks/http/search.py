"""Search for the highest sustained rate: doubling until a rate fails, then bisection."""

from collections.abc import Callable
from dataclasses import dataclass

FIRST = 50.0
HIGHEST = 20_000.0
CLOSE = 1.10
"""The search ends when the lowest failed rate is at most this many times the highest sustained one."""


@dataclass(frozen=True)
class Tried:
    """One step of the search."""

    rate: float
    sustained: bool


def highest(sustained: Callable[[float], bool]) -> tuple[float, list[Tried]]:
    """The highest rate for which `sustained` is true, or 0, and the rates tried.

    A rate fails only if it fails twice: another process may have occupied the machine for a moment.
    """
    tried: list[Tried] = []
    good, bad = 0.0, HIGHEST
    rate = FIRST
    while rate < HIGHEST and bad > good * CLOSE:
        held = sustained(rate) or sustained(rate)
        tried.append(Tried(rate, held))
        good, bad = (rate, bad) if held else (good, rate)
        rate = round(good * 2 if bad == HIGHEST else (good + bad) / 2, 1)
        if bad < FIRST / 8:
            break
    return good, tried
