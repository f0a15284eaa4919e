"""Ladders: what a step may say, what applies on it, and how people write it."""

import re
from decimal import Decimal
from typing import Any

import pytest

from purser.budget.errors import InvalidPolicy
from purser.budget.policies.ladder import LadderStep, compression, output_cap, reached, read_ladder, read_typed, typed

LADDER = [
    {"ratio": 0.95, "output": 300},
    {"ratio": "0.5", "compression": 0.6},
    {"ratio": 0.8, "model": ["openai/gpt-4o-mini", "claude-haiku-4-5"], "output": 0.5},
]


def test_steps_ascend_and_each_keeps_what_those_below_decide() -> None:
    ladder = read_ladder(LADDER)
    models = ("openai/gpt-4o-mini", "claude-haiku-4-5")
    assert [step.ratio for step in ladder] == [Decimal("0.5"), Decimal("0.8"), Decimal("0.95")]
    assert reached(ladder, 0) is None
    found = [reached(ladder, number) for number in (1, 2, 3)]
    assert [(one.step.model, one.step.output, one.step.compression) for one in found if one] == [
        ((), None, Decimal("0.6")),
        (models, Decimal("0.5"), Decimal("0.6")),
        (models, Decimal(300), Decimal("0.6")),
    ]


@pytest.mark.parametrize(
    ("outputs", "declared", "cap"),
    [
        ((None,), 4_096, 4_096),
        (("0.5",), 4_096, 2_048),
        (("0.5", 300, None), 4_096, 300),
        ((5_000,), 4_096, 4_096),
        (("0.01",), 4_096, 256),
        (("0.5",), 100, 100),
    ],
)
def test_the_smallest_output_applies_but_never_less_than_is_worth_a_call(
    outputs: tuple[Any, ...], declared: int, cap: int
) -> None:
    steps = [LadderStep(Decimal(1), output=None if one is None else Decimal(one)) for one in outputs]
    assert output_cap(steps, declared, 256) == cap


def test_the_strongest_compression_applies() -> None:
    assert compression([]) == 1
    shares = (None, Decimal("0.7"), Decimal("0.4"))
    assert compression(LadderStep(Decimal(1), compression=share) for share in shares) == Decimal("0.4")


def test_what_is_written_is_read_back() -> None:
    ladder = read_ladder(LADDER)
    text = "50%: compression=60%; 80%: model=openai/gpt-4o-mini model=claude-haiku-4-5 output=50%; 95%: output=300"
    assert typed(ladder) == text
    assert read_ladder([read_typed(one) for one in text.split(";")]) == ladder
    assert read_ladder([step.to_json() for step in ladder]) == ladder
    assert read_ladder([step.shown() for step in ladder]) == ladder


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "ladder {} is not valid: give a list of steps"),
        ([{"ratio": 0.1, "output": 1}] * 11, "ladder has 11 steps: give at most 10"),
        ([0.8], "ladder step 0.8 is not valid: give an object with ratio"),
        ([{"ratio": 0.8, "outputs": 1}], "ladder step has the unknown field 'outputs': use ratio, model, output"),
        ([{"ratio": 0.8}], "ladder step 0.8 does nothing: give it model, output or compression"),
        ([{"output": 5}], "ladder ratio None is not valid"),
        ([{"ratio": 0, "output": 5}], "ladder ratio 0 is not valid: use a number above 0 and up to 100"),
        ([{"ratio": "1e999999", "output": 5}], "ladder ratio '1e999999' is not valid"),
        ([{"ratio": True, "output": 5}], "ladder ratio True is not valid"),
        ([{"ratio": 0.8, "output": 0}], "ladder output 0 is not valid: use a share of the output cap below 1"),
        ([{"ratio": 0.8, "output": 1.5}], "ladder output 1.5 is not valid"),
        ([{"ratio": 0.8, "output": "1e99999999"}], "ladder output '1e99999999' is not valid"),
        ([{"ratio": 0.8, "compression": 1.1}], "ladder compression 1.1 is not valid"),
        ([{"ratio": 0.8, "model": []}], "ladder step 0.8 does nothing"),
        ([{"ratio": 0.8, "model": ["a b"]}], "ladder model ['a b'] is not valid"),
        ([{"ratio": 0.8, "model": ["a\x00"]}], "is not valid: give 1 to 10 names"),
        ([{"ratio": 0.8, "output": 5}, {"ratio": "0.80", "output": 6}], "ladder has two steps at 0.8"),
    ],
)
def test_a_step_that_cannot_be_read_is_named_with_the_remedy(value: Any, said: str) -> None:
    with pytest.raises(InvalidPolicy, match=re.escape(said)):
        read_ladder(value)


@pytest.mark.parametrize("text", ["", "80 %", "80 %:", "80 %: cheaper", "80 %: output=1 output=2", "80 % output=50%"])
def test_text_that_is_no_step_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidPolicy, match=r"is not valid: (write RATIO|give output once)"):
        read_typed(text)
