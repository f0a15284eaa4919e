"""Usage: every report format gives the same figures, and no contradiction lowers a charge."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.budget.usage import Shape, Usage, normalize

tokens = st.integers(0, 10**7)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Usage whose split is known."""
    fresh, read, written, written_1h, output = draw(st.tuples(tokens, tokens, tokens, tokens, tokens))
    return Usage(fresh, read, written, written_1h, output, draw(st.none() | st.integers(0, output)))


# --- what providers really send --------------------------------------------------------------------------------------


REPORTS: dict[str, tuple[dict[str, Any], Usage]] = {
    "OpenAI chat counts cached tokens inside the prompt": (
        {
            "prompt_tokens": 10_000,
            "completion_tokens": 500,
            "total_tokens": 10_500,
            "prompt_tokens_details": {"cached_tokens": 9_000, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 128, "accepted_prediction_tokens": 0},
        },
        Usage(input=1_000, cache_read=9_000, output=500, reasoning=128),
    ),
    "OpenAI reports cache writes inside the prompt too": (
        {
            "prompt_tokens": 2_600,
            "completion_tokens": 300,
            "total_tokens": 2_900,
            "prompt_tokens_details": {"cached_tokens": 2_000, "cache_write_tokens": 400},
        },
        Usage(input=200, cache_read=2_000, cache_write_5m=400, output=300),
    ),
    "OpenAI responses": (
        {
            "input_tokens": 10_000,
            "input_tokens_details": {"cached_tokens": 9_000},
            "output_tokens": 500,
            "output_tokens_details": {"reasoning_tokens": 320},
            "total_tokens": 10_500,
        },
        Usage(input=1_000, cache_read=9_000, output=500, reasoning=320),
    ),
    "OpenAI embeddings have no output": (
        {"prompt_tokens": 8, "total_tokens": 8},
        Usage(input=8),
    ),
    "Anthropic counts cached tokens outside the input (the payload of BerriAI/litellm#9812)": (
        {
            "input_tokens": 3,
            "cache_creation_input_tokens": 12_304,
            "cache_read_input_tokens": 0,
            "output_tokens": 550,
        },
        Usage(input=3, cache_write_5m=12_304, output=550),
    ),
    "Anthropic reports the lifetimes of cache writes": (
        {
            "input_tokens": 2_048,
            "cache_read_input_tokens": 1_800,
            "cache_creation_input_tokens": 248,
            "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
            "output_tokens": 503,
            "service_tier": "standard",
            "server_tool_use": None,
        },
        Usage(input=2_048, cache_read=1_800, cache_write_5m=148, cache_write_1h=100, output=503),
    ),
    "Anthropic omits compaction from the figures outside the iterations": (
        {
            "input_tokens": 23_000,
            "output_tokens": 1_000,
            "iterations": [
                {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
                {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000, "cache_read_input_tokens": 7},
            ],
        },
        Usage(input=203_000, cache_read=7, output=4_500),
    ),
    "LiteLLM repeats cached tokens under three names (the payload of BerriAI/litellm#11364)": (
        {
            "total_tokens": 103_925,
            "prompt_tokens": 98_805,
            "completion_tokens": 5_120,
            "prompt_tokens_details": {"text_tokens": None, "cached_tokens": 66_360, "cache_creation_tokens": 32_435},
            "cache_read_input_tokens": 66_360,
            "completion_tokens_details": {"reasoning_tokens": 1_710},
            "cache_creation_input_tokens": 32_435,
        },
        Usage(input=10, cache_read=66_360, cache_write_5m=32_435, output=5_120, reasoning=1_710),
    ),
    "LiteLLM keeps the lifetimes in a nested block": (
        {
            "prompt_tokens": 1_000,
            "completion_tokens": 10,
            "total_tokens": 1_010,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "cache_creation_tokens": 900,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 300},
            },
            "cache_creation_input_tokens": 900,
            "cache_read_input_tokens": 0,
        },
        Usage(input=100, cache_write_5m=600, cache_write_1h=300, output=10),
    ),
    "DeepSeek names hits and misses": (
        {
            "prompt_tokens": 300,
            "completion_tokens": 20,
            "total_tokens": 320,
            "prompt_cache_hit_tokens": 256,
            "prompt_cache_miss_tokens": 44,
        },
        Usage(input=44, cache_read=256, output=20),
    ),
    "xAI counts reasoning outside the completion": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 9,
            "total_tokens": 409,
            "completion_tokens_details": {"reasoning_tokens": 300},
        },
        Usage(input=100, output=309, reasoning=300),
    ),
    "Gemini counts cached tokens inside the prompt, thoughts and tool use outside": (
        {
            "promptTokenCount": 5_000,
            "cachedContentTokenCount": 4_000,
            "candidatesTokenCount": 200,
            "thoughtsTokenCount": 700,
            "toolUsePromptTokenCount": 60,
            "totalTokenCount": 5_960,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5_000}],
        },
        Usage(input=1_060, cache_read=4_000, output=900, reasoning=700),
    ),
    "Gemini sometimes counts thoughts among the candidates": (
        {"promptTokenCount": 10, "candidatesTokenCount": 90, "thoughtsTokenCount": 70, "totalTokenCount": 100},
        Usage(input=10, output=90, reasoning=70),
    ),
    "more thoughts than candidates are not among them": (
        {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 70, "totalTokenCount": 15},
        Usage(input=10, output=75, reasoning=70),
    ),
    "Gemini may think and answer nothing": (
        {"promptTokenCount": 10, "thoughtsTokenCount": 70, "totalTokenCount": 80},
        Usage(input=10, output=70, reasoning=70),
    ),
    "Gemini's Python client writes snake case": (
        {"prompt_token_count": 10, "candidates_token_count": 5, "total_token_count": 15, "thoughts_token_count": None},
        Usage(input=10, output=5),
    ),
    "our own words": (
        {"input": 1, "cache_read": 2, "cache_write_5m": 3, "cache_write_1h": 4, "output": 5, "reasoning": 1},
        Usage(1, 2, 3, 4, 5, 1),
    ),
    "only a total": ({"total": 1_234}, Usage.from_total(1_234)),
}


@pytest.mark.parametrize(("payload", "expected"), REPORTS.values(), ids=REPORTS.keys())
def test_reports_of_every_shape_become_the_same_classes(payload: dict[str, Any], expected: Usage) -> None:
    usage = normalize(payload)
    assert usage == expected
    assert usage.split_known is (payload.keys() != {"total"})


def test_nine_thousand_cached_of_ten_thousand_and_five_hundred_out_are_ten_thousand_five_hundred() -> None:
    inside = {"prompt_tokens": 10_000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 9_000}}
    outside = {"input_tokens": 1_000, "cache_read_input_tokens": 9_000, "output_tokens": 500}
    assert normalize(inside).total == normalize(outside).total == 10_500


def _written_as(usage: Usage, shape: Shape) -> Mapping[str, object]:
    """The report that a provider of this shape would send, details included."""
    writes = usage.cache_write_5m + usage.cache_write_1h
    lifetimes = {
        "ephemeral_5m_input_tokens": usage.cache_write_5m,
        "ephemeral_1h_input_tokens": usage.cache_write_1h,
    }
    match shape:
        case "purser":
            return usage.to_dict()
        case "openai":
            return {
                "prompt_tokens": usage.prompt,
                "completion_tokens": usage.output,
                "total_tokens": usage.total,
                "prompt_tokens_details": {
                    "cached_tokens": usage.cache_read,
                    "cache_creation_tokens": writes,
                    "cache_creation_token_details": lifetimes,
                },
                "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation_input_tokens": writes,
            }
        case "anthropic":
            return {
                "input_tokens": usage.input,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation_input_tokens": writes,
                "cache_creation": lifetimes,
                "output_tokens": usage.output,
                "output_tokens_details": {"thinking_tokens": usage.reasoning},
            }
        case "gemini":
            return {
                "promptTokenCount": usage.prompt,
                "cachedContentTokenCount": usage.cache_read,
                "candidatesTokenCount": usage.output - (usage.reasoning or 0),
                "thoughtsTokenCount": usage.reasoning,
                "totalTokenCount": usage.total,
            }


@given(usages(), st.sampled_from(["purser", "openai", "anthropic", "gemini"]))
def test_what_a_provider_counted_is_what_is_read(usage: Usage, shape: Shape) -> None:
    if shape == "gemini":  # it does not report cache writes
        usage = Usage(input=usage.input, cache_read=usage.cache_read, output=usage.output, reasoning=usage.reasoning)
    report = _written_as(usage, shape)
    assert normalize(report) == normalize(report, shape) == usage


@given(usages(), st.integers(0, 10**9))
def test_a_total_never_lowers_the_charge_and_its_surplus_is_never_dropped(usage: Usage, total: int) -> None:
    shapes: dict[Shape, str] = {"openai": "total_tokens", "gemini": "totalTokenCount", "purser": "total"}
    for shape, field in shapes.items():
        report = {**_written_as(usage, shape), field: total}
        output = usage.output
        if shape == "gemini" and total == normalize(report).prompt + usage.output - (usage.reasoning or 0):
            # Such a total says that the candidates include the thoughts, where they can.
            output = max(usage.output - (usage.reasoning or 0), usage.reasoning or 0)
        assert normalize(report).total >= max(total, normalize(report).prompt + output)


# --- the value -------------------------------------------------------------------------------------------------------


@given(usages(), usages(), tokens)
def test_usage_adds_up_class_by_class(one: Usage, other: Usage, rest: int) -> None:
    both = one + other + Usage.from_total(rest)
    assert both.total == one.total + other.total + rest
    assert both.prompt == one.prompt + other.prompt
    assert both.split_known is (rest == 0)
    assert one + other == other + one


def test_reasoning_of_a_sum_is_known_only_if_all_of_it_is() -> None:
    assert (Usage(output=5, reasoning=2) + Usage(output=5, reasoning=1)).reasoning == 3
    assert (Usage(output=5, reasoning=2) + Usage(output=5)).reasoning is None
    assert (Usage() + Usage(output=5, reasoning=2)).reasoning == 2


def test_an_estimate_stays_one_when_added() -> None:
    assert (Usage(input=1) + Usage(input=1, estimated=True)).estimated


@given(usages(), tokens, st.booleans())
def test_the_dictionary_round_trips_through_json(usage: Usage, rest: int, estimated: bool) -> None:
    usage += Usage(unsplit=rest, estimated=estimated)
    assert Usage.from_dict(json.loads(json.dumps(usage.to_dict()))) == usage


@pytest.mark.proof  # imports LiteLLM, which takes seconds
def test_litellms_own_transformations_are_read_without_double_counting() -> None:
    script = """
import json, os
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig

anthropic = {"input_tokens": 3, "cache_creation_input_tokens": 12304, "cache_read_input_tokens": 700,
             "cache_creation": {"ephemeral_5m_input_tokens": 12000, "ephemeral_1h_input_tokens": 304},
             "output_tokens": 550}
gemini = {"promptTokenCount": 5000, "cachedContentTokenCount": 4000, "candidatesTokenCount": 200,
          "thoughtsTokenCount": 700, "toolUsePromptTokenCount": 60, "totalTokenCount": 5960}
read = {
    "anthropic": AnthropicConfig().calculate_usage(usage_object=anthropic, reasoning_content=None),
    "gemini": VertexGeminiConfig.calculate_usage({"usageMetadata": gemini}),
}
raw = {"anthropic": anthropic, "gemini": gemini}
print(json.dumps({name: [raw[name], usage.model_dump()] for name, usage in read.items()}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for shape, (raw, through_litellm) in json.loads(done.stdout.splitlines()[-1]).items():
        direct, through = normalize(raw), normalize(through_litellm)
        assert (through.prompt, through.cache_read, through.cache_write_1h, through.total) == (
            direct.prompt,
            direct.cache_read,
            direct.cache_write_1h,
            direct.total,
        ), shape
