"""Layers of the summary of a very long conversation."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from purser.context.compression.layers import (
    FAN_IN,
    LEAF_MESSAGES,
    Layer,
    Level,
    compose,
    covering,
    fold_all,
    folded_level,
    plan_layers,
)


def compressed(layers: list[Layer], messages: int, *, narrow: bool = False) -> list[Layer]:
    """The layers after another compression of `messages` more messages."""
    first = layers[-1].last_seq + 1 if layers else 4
    new = Layer(Level.LEAF, first, first + messages - 1, messages, "new")
    plan = plan_layers(layers)
    plan = fold_all(plan) if narrow and plan.unchanged else plan
    folded = [covering(folded_level(plan.folded), plan.folded, "folded")] if plan.folded else []
    leaf = covering(Level.LEAF, [*([plan.leaf] if plan.leaf else []), new], "leaf")
    return sorted([*folded, *plan.unchanged, leaf], key=lambda layer: layer.first_seq)


def test_a_short_conversation_has_one_leaf() -> None:
    layers: list[Layer] = []
    for _ in range(4):
        layers = compressed(layers, LEAF_MESSAGES // 4)
        assert [layer.level for layer in layers] == [Level.LEAF]
    assert compose(layers) == layers[0].text


def test_a_full_leaf_is_left_alone_and_another_one_begins() -> None:
    layers = compressed([], LEAF_MESSAGES)
    layers = compressed(layers, 30)
    layers = compressed(layers, 30)
    assert [(layer.level, layer.messages, layer.text) for layer in layers] == [
        (Level.LEAF, LEAF_MESSAGES, "leaf"),
        (Level.LEAF, 60, "leaf"),
    ]
    assert compose(layers) == "[messages 4 to 203]\nleaf\n[messages 204 to 263]\nleaf"


def test_too_many_leaves_become_a_section_and_too_many_sections_the_session() -> None:
    seen: list[list[Level]] = []
    layers: list[Layer] = []
    for _ in range(3 * FAN_IN * FAN_IN):
        layers = compressed(layers, LEAF_MESSAGES)
        seen.append([layer.level for layer in layers])
    assert seen[FAN_IN - 1] == [Level.LEAF] * FAN_IN
    assert seen[FAN_IN] == [Level.SECTION, Level.LEAF]
    assert [Level.SESSION, Level.LEAF, Level.LEAF] in seen
    assert all(levels.count(Level.SESSION) <= 1 for levels in seen)


@given(steps=st.lists(st.tuples(st.integers(1, 2 * LEAF_MESSAGES), st.booleans()), max_size=80))
def test_layers_stay_few_and_cover_everything_once_and_in_order(steps: list[tuple[int, bool]]) -> None:
    layers: list[Layer] = []
    for messages, narrow in steps:
        layers = compressed(layers, messages, narrow=narrow)
        assert len(layers) <= 2 * FAN_IN + 2
        assert [layer.level for layer in layers] == sorted((layer.level for layer in layers), reverse=True)
        assert all(one.last_seq + 1 == other.first_seq for one, other in pairwise(layers))
        assert layers[0].first_seq == 4
        assert all(layer.messages == layer.last_seq - layer.first_seq + 1 for layer in layers)
    assert sum(layer.messages for layer in layers) == sum(messages for messages, _ in steps)


def test_a_layer_comes_back_from_json_as_it_was() -> None:
    layer = Layer(Level.SECTION, 4, 99, 90, "text")
    assert Layer.from_json(layer.to_json()) == layer
