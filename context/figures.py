"""Figures of a context: what a task, a session, a user or a request for a window may set, with its bounds."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from purser.context.errors import InvalidSettings
from purser.context.resolution import resolve
from purser.context.settings import PRESETS
from purser.context.strategies import Part, StrategyName
from purser.context.strategies.choice import Preference

MOST = 500_000_000
"""Largest number of messages or tokens: sums of a few stay in the range of SQL's integers."""
MOST_HEADER = 200
"""Most characters of the line above a summary."""


_NUMBER = re.compile(r"true|false|(0|[1-9]\d{0,15})(\.\d{1,16})?")


def _known(name: str) -> str:
    if name not in PRESETS:
        raise ValueError(f"use one of {', '.join(PRESETS)}")
    return name


def _whole(order: tuple[Part, ...]) -> tuple[Part, ...]:
    if sorted(order) != sorted(Part):
        raise ValueError(f"name each of {', '.join(Part)} once")
    return order


def _largest_first(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(pairs, reverse=True))


Count = Annotated[int, Field(ge=0, le=MOST)]
Positive = Annotated[int, Field(ge=1, le=MOST)]
Ratio = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Rule = Annotated[str, Field(min_length=1, max_length=2_000)]
Header = Annotated[str, Field(max_length=MOST_HEADER, pattern=r"^[^\r\n]*$")]
PresetName = Annotated[str, AfterValidator(_known)]
Order = Annotated[tuple[Part, ...], AfterValidator(_whole)]
RoundsBySize = Annotated[tuple[tuple[Positive, Positive], ...], Field(max_length=20), AfterValidator(_largest_first)]


class Figures(BaseModel):
    """Figures of a context; what is left out comes from the next layer of `purser.context.resolution`."""

    # Built when it is first used: settings need only the types above.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, defer_build=True)

    preset: PresetName | None = None
    """Preset whose figures apply where no other layer above it sets them."""
    strategy: StrategyName | None = None
    preference: Preference | None = None
    primers_count: Count | None = None
    recents_count: Count | None = None
    recents_only: bool | None = None
    batch_count: Positive | None = None
    rounds: Positive | None = None
    rounds_by_size: RoundsBySize | None = None
    summary_by_rounds: bool | None = None
    history_window_size: Positive | None = None
    min_messages: Count | None = None
    trigger_ratio: Ratio | None = None
    target_ratio: Ratio | None = None
    keep_ratio: Ratio | None = None
    reply_reserve: Count | None = None
    keeps_first_request: bool | None = None
    order: Order | None = None
    summary_ratio: Ratio | None = None
    summary_min_tokens: Positive | None = None
    summary_max_tokens: Positive | None = None
    summary_header: Header | None = None
    summary_keep: Rule | None = None
    summary_drop: Rule | None = None
    max_tokens: Positive | None = None
    window_tokens: Positive | None = None
    model: Annotated[str, Field(min_length=1, max_length=256)] | None = None

    @classmethod
    def of(cls, given: object, place: str) -> Self:
        """Validates an object; raises `InvalidSettings`, which names the field, for example `context.rounds`."""
        try:
            found = cls.model_validate_json(json.dumps(given))
        except ValidationError as error:
            faults = (
                f"{'.'.join(map(str, (place, *fault['loc'])))}: {fault['msg'].removeprefix('Value error, ')}"
                for fault in error.errors(include_input=False, include_url=False)
            )
            raise InvalidSettings("; ".join(faults)) from None
        found.check()
        return found

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Self:
        """Reads figures from options, which may be texts such as `5` or `51:4,30:6`; raises `InvalidSettings`."""
        values = {name: value for name, value in given.items() if value is not None}
        for name, text in values.items():
            if isinstance(text, str) and _NUMBER.fullmatch(text):
                values[name] = json.loads(text)
            if name == "order":
                values[name] = str(text).split(",")
            if name == "rounds_by_size":
                pairs = (pair.split(":") for pair in str(text).split(","))
                values[name] = [[int(one) if one.isdecimal() else one for one in pair] for pair in pairs]
        return cls.of(values, "window")

    def check(self) -> None:
        """Raises `InvalidSettings` if the figures contradict one another or the defaults."""
        resolve(request=self.given)

    @property
    def given(self) -> Mapping[str, Any]:
        """The figures that are set, by name."""
        return {name: getattr(self, name) for name in FIGURES if getattr(self, name) is not None}


FIGURES = tuple(Figures.model_fields)
"""Names of all figures."""
