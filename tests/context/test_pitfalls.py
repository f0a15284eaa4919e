"""The linter of configurations."""

import pytest

from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy
from purser.context.pitfalls import UsageStatistics, lint
from purser.context.settings import PRESETS, ContextSettings


def codes(
    settings: ContextSettings | None = None,
    policies: dict[str, Policy] | None = None,
    usage_statistics: UsageStatistics | None = None,
) -> list[str]:
    return [found.code for found in lint(settings or ContextSettings(), policies, usage_statistics)]


def test_the_defaults_and_every_preset_are_clean() -> None:
    assert codes() == []
    assert [codes(ContextSettings().overridden(preset)) for preset in PRESETS.values()] == [[]] * len(PRESETS)


@pytest.mark.parametrize(("trigger", "found"), [(0.90, []), (0.95, ["late_trigger"]), (1.0, [])])
def test_a_trigger_close_to_the_window_is_late_and_one_that_is_off_is_not(trigger: float, found: list[str]) -> None:
    assert codes(ContextSettings(trigger_ratio=trigger)) == found


def test_many_recents_need_more_than_one_primer() -> None:
    assert codes(ContextSettings(primers_count=1, recents_count=50)) == ["few_primers"]
    assert codes(ContextSettings(primers_count=0, recents_count=10)) == []


def test_a_small_limit_is_only_a_pitfall_where_it_is_hard() -> None:
    policies = {
        "agent": Policy(limit_tokens=10_000, mode=Mode.HARD),
        "task": Policy(limit_tokens=10_001, mode=Mode.HARD),
    }
    [found] = lint(ContextSettings(), policies)
    assert found.code == "small_hard_limit"
    assert found.message.startswith("agent has a hard limit of 10,000 tokens")
    assert codes(policies={"agent": Policy(limit_tokens=1_000, mode=Mode.SOFT), "user": Policy(mode=Mode.HARD)}) == []


def test_a_session_for_each_request_is_seen_from_many_sessions() -> None:
    assert codes(usage_statistics=UsageStatistics(sessions=100, one_message_sessions=51)) == ["session_per_request"]
    assert codes(usage_statistics=UsageStatistics(sessions=100, one_message_sessions=50)) == []
    assert codes(usage_statistics=UsageStatistics(sessions=19, one_message_sessions=19)) == []


def test_summaries_of_a_model_want_to_be_measured() -> None:
    assert codes(usage_statistics=UsageStatistics(summaries=7)) == ["unchecked_summaries"]
    assert codes(usage_statistics=UsageStatistics(summaries=7, scored_summaries=1)) == []


def test_every_warning_has_figures_and_a_remedy() -> None:
    found = lint(
        ContextSettings(trigger_ratio=0.95, primers_count=1, recents_count=50),
        {"session": Policy(limit_tokens=10_000, mode=Mode.HARD)},
        UsageStatistics(sessions=40, one_message_sessions=40, summaries=3),
    )
    assert len(found) == 5
    assert all(any(letter.isdigit() for letter in one.message) and one.remedy.endswith(".") for one in found)
