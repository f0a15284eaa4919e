"""The ladder of a policy: how calls spend less while its scope fills up, before they ask, wait or are refused.

A step is reached when the scope, the whole ask included, is used up to its ratio. What a step leaves open, the steps
below it decide. Where several scopes of a path have ladders, the smallest output and the strongest compression apply,
and each list of models in turn, outermost first.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import pairwise
from typing import Any, Self

from purser.budget.errors import InvalidPolicy

MAX_LADDER = 10
"""Most steps of one ladder, and most models of one step."""
_MODEL = re.compile(r"[!-:<-~]{1,200}")
_WORD = re.compile(r"(model|output|compression)=(\S+)")


@dataclass(frozen=True, slots=True)
class LadderStep:
    """From `ratio` on, calls spend less. A field that is not set is left to the steps below."""

    ratio: Decimal
    """Lower bound, inclusive."""
    model: tuple[str, ...] = ()
    """Models to choose from, in order: the first that is cheaper than the one that the call has."""
    output: Decimal | None = None
    """Below 1: share of the output cap. From 1 on: output tokens."""
    compression: Decimal | None = None
    """Share of its context window that a call may fill; the rest is summarised or left out."""

    @classmethod
    def parse(cls, value: object) -> Self:
        """Reads one step of the field `ladder`; raises `InvalidPolicy`."""
        names = [item.name for item in fields(cls)]
        if not isinstance(value, Mapping):
            raise InvalidPolicy(f"ladder step {str(value)[:80]} is not valid: give an object with ratio")
        if unknown := sorted(set(value) - set(names)):
            raise InvalidPolicy(f"ladder step has the unknown field {unknown[0]!r}: use {', '.join(names)}")
        given = {name: item for name, item in value.items() if item is not None and item != []}
        step = cls(
            ratio=_number(given.get("ratio"), "ratio", most=100),
            model=_models(given["model"]) if "model" in given else (),
            output=_output(given["output"]) if "output" in given else None,
            compression=_number(given["compression"], "compression", most=1) if "compression" in given else None,
        )
        if not step.model and step.output is None and step.compression is None:
            raise InvalidPolicy(f"ladder step {step.ratio} does nothing: give it model, output or compression")
        return step

    def to_json(self) -> dict[str, Any]:
        """The fields that are set, as SQL stores them."""
        numbers = {name: getattr(self, name) for name in ("ratio", "output", "compression")}
        shown: dict[str, Any] = {name: str(value) for name, value in numbers.items() if value is not None}
        return shown | ({"model": list(self.model)} if self.model else {})

    def shown(self) -> dict[str, Any]:
        """All fields, as the API returns them."""
        return {
            "ratio": float(self.ratio),
            "model": list(self.model),
            "output": None if self.output is None else (int if self.output >= 1 else float)(self.output),
            "compression": None if self.compression is None else float(self.compression),
        }


Ladder = tuple[LadderStep, ...]
"""Steps, ascending by ratio."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far up a ladder a call is."""

    number: int
    """Of the highest step that is reached, from 1."""
    step: LadderStep
    """What applies there: its fields, and those of the steps below that it leaves open."""


def read_ladder(value: object) -> Ladder:
    """Reads the field `ladder` of a policy; raises `InvalidPolicy`."""
    if not isinstance(value, list | tuple):
        raise InvalidPolicy(f"ladder {str(value)[:80]} is not valid: give a list of steps")
    if len(value) > MAX_LADDER:
        raise InvalidPolicy(f"ladder has {len(value)} steps: give at most {MAX_LADDER}")
    steps = [one if isinstance(one, LadderStep) else LadderStep.parse(one) for one in value]
    steps.sort(key=lambda step: step.ratio)
    for one, other in pairwise(steps):
        if one.ratio == other.ratio:
            raise InvalidPolicy(f"ladder has two steps at {one.ratio}: join them to one")
    return tuple(steps)


def reached(ladder: Ladder, number: int) -> Reached | None:
    """What applies on a step of a ladder; `None` below the first."""
    if not number:
        return None
    at = ladder[number - 1]
    below = ladder[:number][::-1]
    return Reached(
        number,
        LadderStep(
            at.ratio,
            next((one.model for one in below if one.model), ()),
            next((one.output for one in below if one.output is not None), None),
            next((one.compression for one in below if one.compression is not None), None),
        ),
    )


def output_cap(steps: Iterable[LadderStep], declared: int, least: int) -> int:
    """Most output tokens of a call on these steps: never below `least`, the least for which a call is worth making."""
    caps = (one.output if one.output >= 1 else declared * one.output for one in steps if one.output is not None)
    return max(min(least, declared), min([declared, *map(int, caps)]))


def compression(steps: Iterable[LadderStep]) -> Decimal:
    """Share of its context window that a call on these steps may fill."""
    return min((one.compression for one in steps if one.compression is not None), default=Decimal(1))


def typed(steps: Sequence[LadderStep]) -> str:
    """A ladder as people write it: `80 %: output=50%; 95 %: model=openai/gpt-4o-mini`."""
    return "; ".join(map(_typed, steps))


def read_typed(text: str) -> dict[str, Any]:
    """Reads one step as people write it: `80 %: model=openai/gpt-4o-mini output=50% compression=70%`.

    Several models are several words. Returns the JSON of the step; raises `InvalidPolicy`.
    """
    ratio, colon, words = text.strip().partition(":")
    found = [_WORD.fullmatch(word) for word in words.split()]
    if not colon or not found or None in found:
        raise InvalidPolicy(
            f"ladder step {text.strip()[:80]!r} is not valid: write RATIO: and one or more of model=NAME,"
            " output=SHARE or output=TOKENS, compression=SHARE, for example 80 %: output=50%"
        )
    step: dict[str, Any] = {"ratio": _plain(ratio)}
    for name, value in (word.groups() for word in found if word is not None):
        if name == "model":
            step.setdefault("model", []).append(value)
        elif name in step:
            raise InvalidPolicy(f"ladder step {text.strip()[:80]!r} is not valid: give {name} once")
        else:
            step[name] = _plain(value)
    return step


def _typed(step: LadderStep) -> str:
    words = [f"model={name}" for name in step.model]
    if step.output is not None:
        words.append(f"output={step.output if step.output >= 1 else _percent(step.output)}")
    if step.compression is not None:
        words.append(f"compression={_percent(step.compression)}")
    return f"{_percent(step.ratio)}: {' '.join(words)}"


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f}%"


def _plain(text: str) -> str:
    """A number that may be in percent, as a decimal; other text unchanged, for the error."""
    number = text.strip()
    try:
        return f"{(Decimal(number.removesuffix('%').strip()) / 100).normalize():f}" if number.endswith("%") else number
    except ArithmeticError:
        return number


def _number(value: object, name: str, *, most: int) -> Decimal:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 < number <= most or number != round(number, 6):
        raise InvalidPolicy(
            f"ladder {name} {value!r} is not valid: use a number above 0 and up to {most} with at most six decimals,"
            " for example 0.8"
        )
    return number


def _output(value: object) -> Decimal:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        number = Decimal("NaN")
    if number.is_finite() and 1 <= number <= 10**9 and number == int(number):
        return Decimal(int(number))
    if not number.is_finite() or not 0 < number < 1 or number != round(number, 6):
        raise InvalidPolicy(
            f"ladder output {value!r} is not valid: use a share of the output cap below 1, or whole tokens"
        )
    return number


def _models(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else [value]
    if not names or len(names) > MAX_LADDER or not all(isinstance(one, str) and _MODEL.fullmatch(one) for one in names):
        raise InvalidPolicy(
            f"ladder model {str(value)[:80]} is not valid: give 1 to {MAX_LADDER} names such as openai/gpt-4o-mini"
        )
    return tuple(names)
