"""Context settings: budget of history, and precedence of overrides."""

from typing import Any

import pytest

from purser.context.errors import InvalidSettings
from purser.context.settings import PRESETS, ContextSettings
from purser.context.strategies.settings import share


def test_the_defaults_leave_73142_tokens_of_a_128000_window() -> None:
    assert ContextSettings().context_budget(128_000) == 73_142
    assert ContextSettings().context_budget() == 73_142


def test_a_counted_system_prompt_takes_its_place_only_above_the_reserve() -> None:
    settings = ContextSettings()
    assert settings.context_budget(128_000, system_tokens=2_000) == 73_142
    assert settings.context_budget(128_000, system_tokens=2_010) == 73_136


def test_reserves_larger_than_the_window_leave_nothing() -> None:
    assert ContextSettings().context_budget(4_096) == 0


def test_a_ratio_counts_as_it_is_written() -> None:
    assert share(100, 0.29) == 29
    assert share(1_000, 0.375) == 375


def test_the_first_layer_that_gives_a_field_wins() -> None:
    settings = ContextSettings(primers_count=9, recents_count=8)
    request = {"recents_count": 4, "primers_count": None}
    resolved = settings.overridden(request, PRESETS["debugging"])
    assert (resolved.primers_count, resolved.recents_count, resolved.history_window_size) == (5, 4, 100)
    assert resolved.trigger_ratio == 0.85


def test_a_trigger_without_a_target_brings_half_of_itself() -> None:
    assert ContextSettings().overridden({"trigger_ratio": 0.3}).target_ratio == 0.15
    assert ContextSettings().overridden({"trigger_ratio": 0.5}).target_ratio == 0.375


def test_trigger_1_is_off() -> None:
    assert not ContextSettings(trigger_ratio=1.0).compresses


@pytest.mark.parametrize(
    "fields",
    [
        {"trigger_ratio": 0.0},
        {"trigger_ratio": 1.1},
        {"target_ratio": 0.75},
        {"history_token_budget_ratio": 2},
        {"primers_count": -1},
        {"recents_count": -1},
    ],
)
def test_what_is_out_of_range_is_an_error_that_names_the_field(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettings, match=next(iter(fields))):
        ContextSettings(**fields)
