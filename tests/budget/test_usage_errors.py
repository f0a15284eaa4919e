"""Usage reports that contradict themselves or cannot be read."""

from typing import Any

import pytest

from purser.budget.errors import InvalidUsage
from purser.budget.usage import Usage, normalize
from purser.wire.limits import MAX_CALL_TOKENS

# --- contradictions --------------------------------------------------------------------------------------------------


def test_a_total_above_the_parts_leaves_the_rest_unsplit() -> None:
    usage = normalize({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 150})
    assert usage == Usage(input=100, output=20, unsplit=30)
    assert usage.total == 150
    assert not usage.split_known


def test_a_total_below_the_parts_is_not_believed() -> None:
    assert normalize({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 1}).total == 120


def test_cached_tokens_that_exceed_the_prompt_are_not_included_in_it() -> None:
    report = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 9_000}}
    assert normalize(report) == Usage(input=100, cache_read=9_000, output=20)


def test_cached_tokens_equal_to_the_rest_of_the_total_are_not_included_in_the_prompt() -> None:
    report = {"prompt_tokens": 5_000, "completion_tokens": 20, "total_tokens": 9_020, "cache_read_input_tokens": 4_000}
    assert normalize(report) == Usage(input=5_000, cache_read=4_000, output=20)


def test_reasoning_that_exceeds_the_output_is_not_included_in_it() -> None:
    report = {"prompt_tokens": 1, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 30}}
    assert normalize(report) == Usage(input=1, output=32, reasoning=30)


def test_tool_use_that_litellm_leaves_out_of_the_prompt_is_input() -> None:
    report = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 1_120,
        "prompt_tokens_details": {"tool_use_tokens": 1_000},
    }
    assert normalize(report) == Usage(input=1_100, output=20)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "12", [1], {"tokens": 1}])
@pytest.mark.parametrize(
    ("report", "field"),
    [
        ({"prompt_tokens": 1, "completion_tokens": None, "total_tokens": 2}, "completion_tokens"),
        ({"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": None}, "cache_read_input_tokens"),
        ({"promptTokenCount": 1, "candidatesTokenCount": 1, "thoughtsTokenCount": None}, "thoughtsTokenCount"),
        ({"total": None}, "total"),
        ({"input": None}, "input"),
        ({"output": 5, "reasoning": None}, "reasoning"),
    ],
)
def test_a_figure_that_is_no_count_is_an_error_that_names_the_field(
    report: dict[str, object], field: str, wrong: object
) -> None:
    with pytest.raises(InvalidUsage, match=field):
        normalize({**report, field: wrong})


@pytest.mark.parametrize(
    ("report", "says"),
    [
        ({}, "nothing"),
        ({"tokens": 5}, "'tokens'"),
        ({"prompt_tokens": 5}, "completion_tokens"),
        ({"completion_tokens": 5}, "prompt_tokens"),
        ({"input_tokens": 5, "cache_read_input_tokens": 1}, "output_tokens"),
        ({"prompt_tokens": 5, "promptTokenCount": 5}, "openai and gemini"),
        (
            {"input_tokens": 1, "output_tokens": 1, "total_tokens": 9, "cache_creation_input_tokens": 7},
            "name its shape",
        ),
        ({"input": 5, "prompt_tokens": 5}, "name its shape"),
        ({"input": 5, "inptu": 5}, "'inptu'"),
        ({"input": 5, "estimated": 1}, "estimated"),
        ({"output": 5, "reasoning": 6}, "part of output"),
        ({"prompt_tokens": 5, "completion_tokens": 5, "prompt_tokens_details": 7}, "prompt_tokens_details"),
        ({"iterations": 5}, "iterations"),
        ({"iterations": [5]}, "iteration"),
        ({"total": MAX_CALL_TOKENS + 1}, "not accepted"),
        ([("total", 5)], "list"),
        (None, "NoneType"),
    ],
)
def test_a_report_that_cannot_be_read_says_why(report: Any, says: str) -> None:
    with pytest.raises(InvalidUsage, match=says):
        normalize(report)


def test_naming_the_shape_settles_what_the_keys_leave_open() -> None:
    mixed = {"input_tokens": 100, "output_tokens": 1, "total_tokens": 101, "cache_read_input_tokens": 40}
    assert normalize(mixed, "openai") == Usage(input=60, cache_read=40, output=1)
    assert normalize(mixed, "anthropic") == Usage(input=100, cache_read=40, output=1)


def test_errors_never_repeat_text_from_the_report() -> None:
    with pytest.raises(InvalidUsage) as error:
        normalize({"prompt_tokens": "sk-secret", "completion_tokens": 1})
    assert "sk-secret" not in str(error.value)
