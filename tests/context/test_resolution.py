"""Resolution of context settings: one precedence, and a source for each value."""

import pytest

from purser.context.errors import InvalidSettings
from purser.context.figures import FIGURES, Figures
from purser.context.resolution import ResolvedContext, resolve
from purser.context.settings import PRESETS, ContextSettings
from purser.context.strategies import Part, StrategyName

BASE = ResolvedContext(
    ContextSettings(rounds=2, recents_count=7, primers_count=1, batch_count=9),
    {"rounds": "environment", "recents_count": "environment", "primers_count": "file", "batch_count": "environment"},
)


def test_request_session_user_preset_environment_file_and_default_win_in_this_order() -> None:
    found = resolve(
        BASE,
        request={"rounds": 3},
        session={"rounds": 4, "min_messages": 8},
        user={"rounds": 5, "min_messages": 9, "summary_max_tokens": 77},
        use_case_preset="cookhero",
    )
    settings = found.settings
    assert (settings.rounds, settings.min_messages, settings.summary_max_tokens) == (3, 8, 77)
    assert (settings.batch_count, settings.recents_count, settings.strategy) == (6, 10, StrategyName.SUMMARY)
    names = ("rounds", "min_messages", "summary_max_tokens", "batch_count", "trigger_ratio")
    assert [found.source(name) for name in names] == ["request", "session", "user", "cookhero", "default"]
    plain = resolve(BASE)
    assert [plain.source(name) for name in ("recents_count", "primers_count")] == ["environment", "file"]
    assert plain.settings == BASE.settings


@pytest.mark.parametrize(
    ("layers", "preset"),
    [
        ({"request": {"preset": "game"}, "use_case_preset": "chat", "session": {"preset": "shannon"}}, "game"),
        ({"use_case_preset": "chat", "session": {"preset": "shannon"}}, "chat"),
        ({"session": {"preset": "shannon"}, "user": {"preset": "game"}}, "shannon"),
        ({"user": {"preset": "game"}}, "game"),
    ],
)
def test_the_preset_of_the_first_layer_that_names_one_applies(layers: dict[str, object], preset: str) -> None:
    found = resolve(ResolvedContext(preset="education"), **layers)  # type: ignore[arg-type]
    assert found.preset == preset
    assert {name for name, source in found.sources.items() if source == preset} >= set(PRESETS[preset])


def test_every_figure_can_be_set_and_reaches_the_settings() -> None:
    given = {
        "preset": "education", "strategy": "hybrid", "preference": "fast", "primers_count": 0, "recents_count": 9,
        "recents_only": True, "batch_count": 3, "rounds": 4, "rounds_by_size": [[5, 2], [50, 1]],
        "summary_by_rounds": True, "history_window_size": 1, "min_messages": 6, "trigger_ratio": 0.5,
        "target_ratio": 0.2, "keep_ratio": 0.9, "reply_reserve": 2000, "keeps_first_request": False,
        "order": ["system", "settings", "summary", "conversation", "newest", "memory"], "summary_ratio": 0.15,
        "summary_min_tokens": 40, "summary_max_tokens": 400, "summary_header": "", "summary_keep": "ids",
        "summary_drop": "jokes", "max_tokens": 4096, "window_tokens": 8192, "model": "gpt-4o-mini",
    }  # fmt: skip
    assert set(given) == set(FIGURES)
    found = resolve(request=Figures.of(given, "context").given)
    assert set(found.sources) == set(FIGURES) - {"preset"}
    assert set(found.sources.values()) == {"request"}
    assert found.settings.rounds_by_size == ((50, 1), (5, 2)), "the larger size is asked first"
    assert found.settings.order[:2] == (Part.SYSTEM, Part.SETTINGS)
    assert found.settings.context_budget(128_000) == int((8_192 - 4_096 - 2_000) * 0.6)
    assert resolve(request={"max_tokens": 4_096}).settings.context_budget(128_000) == 4_096


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"rounds": 0}, "context.rounds"),
        ({"rounds": "5"}, "context.rounds"),
        ({"preset": "chess"}, "context.preset"),
        ({"order": ["system"]}, "context.order"),
        ({"summary_header": "two\nlines"}, "context.summary_header"),
        ({"speed": 1}, "context.speed"),
        ({"trigger_ratio": 0.5, "target_ratio": 0.6}, "target_ratio"),
        ([], "context"),
    ],
)
def test_a_figure_that_is_unknown_or_out_of_range_is_an_error_that_names_it(given: object, named: str) -> None:
    with pytest.raises(InvalidSettings, match=named):
        Figures.of(given, "context")


def test_trigger_and_target_of_different_layers_never_contradict_each_other() -> None:
    found = resolve(request={"trigger_ratio": 0.3}, user={"target_ratio": 0.5})
    assert (found.settings.trigger_ratio, found.settings.target_ratio) == (0.3, 0.15)
    assert found.source("target_ratio") == "request"
    found = resolve(request={"target_ratio": 0.8}, user={"trigger_ratio": 0.5})
    assert (found.settings.trigger_ratio, found.settings.target_ratio) == (0.9, 0.8)
    assert found.source("trigger_ratio") == "request"
