"""Layered summaries: the summary of a very long conversation consists of a few texts, each covering a range.

New messages are merged into the newest leaf until it covers so many messages that another merge would lose detail;
then a new leaf begins. Too many layers of one level are folded into one of the next. A short conversation has one leaf.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Self

LEAF_MESSAGES = 200
"""Minimum number of messages in a leaf before the next one begins."""
FAN_IN = 4
"""Layers of one level that are folded into one of the next level when another one would be added."""


class Level(IntEnum):
    """Level of a layer: how much of the conversation it covers."""

    LEAF = 0
    SECTION = 1
    SESSION = 2
    """Covers the oldest part; at most one layer has this level."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A text that summarizes a contiguous range of a conversation."""

    level: Level
    first_seq: int
    last_seq: int
    messages: int
    """Number of messages covered."""
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**{**value, "level": Level(value["level"])})

    def to_json(self) -> dict[str, Any]:
        """The layer as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """What happens to the layers of a summary when messages are added; each tuple is ordered oldest first."""

    folded: tuple[Layer, ...] = ()
    """Layers to fold first, into one layer of the next level."""
    unchanged: tuple[Layer, ...] = ()
    """Layers that stay as they are."""
    leaf: Layer | None = None
    """Leaf into which new messages are merged; `None` if a new leaf begins."""


def plan_layers(layers: Sequence[Layer]) -> LayerPlan:
    """Plans where new messages go and which level is folded. At most one level is folded at a time.

    Args:
        layers: layers of the last version, oldest first.
    """
    if layers and layers[-1].level is Level.LEAF and layers[-1].messages < LEAF_MESSAGES:
        return LayerPlan(unchanged=tuple(layers[:-1]), leaf=layers[-1])
    leaves = tuple(layer for layer in layers if layer.level is Level.LEAF)
    older = tuple(layer for layer in layers if layer.level is not Level.LEAF)
    if sum(layer.level is Level.SECTION for layer in older) >= FAN_IN:
        return LayerPlan(folded=older, unchanged=leaves)
    return LayerPlan(folded=leaves, unchanged=older) if len(leaves) >= FAN_IN else LayerPlan(unchanged=tuple(layers))


def fold_all(plan: LayerPlan) -> LayerPlan:
    """The plan to use when older layers leave no room for the newest leaf: all of them become one layer."""
    older = sorted((*plan.folded, *plan.unchanged), key=lambda layer: layer.first_seq)
    return LayerPlan(folded=tuple(older), leaf=plan.leaf)


def folded_level(folded: Sequence[Layer]) -> Level:
    """Level of the layer into which these are folded."""
    return Level(min(Level.SESSION, max(layer.level for layer in folded) + 1))


def covering(level: Level, parts: Sequence[Layer], text: str) -> Layer:
    """Replaces several layers, given oldest first, by one."""
    return Layer(level, parts[0].first_seq, parts[-1].last_seq, sum(part.messages for part in parts), text)


def compose(layers: Sequence[Layer]) -> str:
    """Joins the layers into one text; where there are several, each is preceded by its range."""
    if len(layers) == 1:
        return layers[0].text
    return "\n".join(f"[messages {layer.first_seq} to {layer.last_seq}]\n{layer.text}" for layer in layers)
