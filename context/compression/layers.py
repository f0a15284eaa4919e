"""Layers: the summary of a very long conversation is a few texts, each of which stands for a range of it.

The newest leaf takes the rolling merge, until it covers so many messages that another merge would blur them: then a new
leaf begins. Too many layers of a level become one of the next level. A short conversation has one leaf.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Self

LEAF_MESSAGES = 200
"""Messages that a leaf covers at least before the next one begins."""
FAN_IN = 4
"""Layers of one level that become one of the next, when another one would follow."""


class Level(IntEnum):
    """How much a layer stands for."""

    LEAF = 0
    SECTION = 1
    SESSION = 2
    """The oldest part; there is one such layer at most."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A text that stands for a contiguous range of a conversation."""

    level: Level
    first_seq: int
    last_seq: int
    messages: int
    """How many it covers."""
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**{**value, "level": Level(value["level"])})

    def to_json(self) -> dict[str, Any]:
        """The layer as JSON takes it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """What becomes of the layers of a summary when messages are added to it; each list oldest first."""

    folded: tuple[Layer, ...] = ()
    """Become one layer of the next level, before all else."""
    unchanged: tuple[Layer, ...] = ()
    """Stay as they are."""
    leaf: Layer | None = None
    """Takes the rolling merge; `None`: a new leaf begins."""


def plan_layers(layers: Sequence[Layer]) -> LayerPlan:
    """Where new messages go, and whether a level overflows. At most one level is folded at a time.

    Args:
        layers: of the last version, oldest first.
    """
    if layers and layers[-1].level is Level.LEAF and layers[-1].messages < LEAF_MESSAGES:
        return LayerPlan(unchanged=tuple(layers[:-1]), leaf=layers[-1])
    leaves = tuple(layer for layer in layers if layer.level is Level.LEAF)
    older = tuple(layer for layer in layers if layer.level is not Level.LEAF)
    if sum(layer.level is Level.SECTION for layer in older) >= FAN_IN:
        return LayerPlan(folded=older, unchanged=leaves)
    return LayerPlan(folded=leaves, unchanged=older) if len(leaves) >= FAN_IN else LayerPlan(unchanged=tuple(layers))


def fold_all(plan: LayerPlan) -> LayerPlan:
    """The plan for when what is kept leaves no room for the newest leaf: all that is older becomes one layer."""
    older = sorted((*plan.folded, *plan.unchanged), key=lambda layer: layer.first_seq)
    return LayerPlan(folded=tuple(older), leaf=plan.leaf)


def folded_level(folded: Sequence[Layer]) -> Level:
    """Level of what these become."""
    return Level(min(Level.SESSION, max(layer.level for layer in folded) + 1))


def covering(level: Level, parts: Sequence[Layer], text: str) -> Layer:
    """One layer in the place of several, oldest first."""
    return Layer(level, parts[0].first_seq, parts[-1].last_seq, sum(part.messages for part in parts), text)


def compose(layers: Sequence[Layer]) -> str:
    """The layers as one text; where there are several, each with its range."""
    if len(layers) == 1:
        return layers[0].text
    return "\n".join(f"[messages {layer.first_seq} to {layer.last_seq}]\n{layer.text}" for layer in layers)
