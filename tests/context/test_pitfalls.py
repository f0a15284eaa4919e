"""The linter of configurations."""

from dataclasses import replace

import pytest

from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
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
    money = {name: Policy(limit_nano_usd=limit, mode=Mode.HARD) for name, limit in (("agent", 10**7), ("task", 10**9))}
    [found] = lint(ContextSettings(), money)
    assert found.message.startswith("agent has a hard limit of $0.01: work")
    harmless = {
        "agent": Policy(limit_tokens=1_000, mode=Mode.SOFT),
        "task": Policy(limit_tokens=1_000, mode=Mode.HARD, shadow=True),
        "user": Policy(mode=Mode.HARD),
    }
    assert codes(policies=harmless) == []


@pytest.mark.parametrize(
    ("field", "percent", "share"),
    [("warn_at", [80, 95], [0.8, 1.5]), ("backpressure", [[90, 5]], [[0.9, 5]])]
    + [("ladder", [{"ratio": ratio, "output": 0.5}], [{"ratio": 0.8, "output": 0.5}]) for ratio in (80, "80")],
)
def test_a_percentage_that_stands_for_a_share_of_the_limit_is_seen(field: str, percent: object, share: object) -> None:
    def policy(ratios: object) -> Policy:
        return replace(Policy(), **{field: getattr(PolicyPatch.parse({field: ratios}), field)})

    [found] = lint(ContextSettings(), {"task": policy(percent)})
    assert found.code == "ratio_in_percent"
    assert found.message.startswith(f"{field} of task names the ratio ")
    assert codes(policies={"task": policy(share)}) == []


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
