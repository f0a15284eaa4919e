"""What the preset `shannon` and the budgets around it promise, number by number."""

from pathlib import Path

import pytest

from purser.activities.compression.summarizer import TEMPERATURE
from purser.activities.errors import InvalidTask
from purser.budget import PRESETS as BUDGET_PRESETS
from purser.budget import Amount, Kind, Mode, Policy, PriceBook, Scope, Verdict, gate_answer, resolve
from purser.budget.gate import ScopeView
from purser.compose.errors import SettingsError
from purser.compose.settings import load_settings
from purser.compose.settings.ledger import ledger_settings
from purser.context.compression.acceptance import fault
from purser.context.compression.requests import SummarySource, summary_request
from purser.context.errors import InvalidSettings
from purser.context.pitfalls import lint
from purser.context.resolution import ResolvedContext
from purser.context.settings import PRESETS, ContextSettings
from purser.context.strategies import WINDOW_PRESETS
from purser.context.strategies.settings import share
from purser.context.tokens import count_message, legacy_estimate, window_of
from tests.support.context.conversations import calling, result, talk, user
from tests.support.context.shannon import MODEL, task, verbatim, window

PRESET = WINDOW_PRESETS["shannon"].settings


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A directory without a settings file."""
    monkeypatch.chdir(tmp_path)


# --- counting --------------------------------------------------------------------------------------------------------


def test_estimator_is_available_by_name_next_to_the_exact_counter() -> None:
    assert legacy_estimate("shannon", ["a" * 400]) == int((400 // 4 + 5) * 1.1)
    assert legacy_estimate("shannon_code", ["a" * 300]) == int((300 // 3 + 5) * 1.1)
    assert legacy_estimate("shannon_table", ["好" * 300]) == 200 + 4 + 3
    assert legacy_estimate("shannon_table", ["a" * 300]) == 75 + 4 + 3
    with pytest.raises(InvalidSettings, match="no estimator"):
        legacy_estimate("nobody", [])


# --- primers, summary, recents ---------------------------------------------------------------------------------------


def test_primers_summary_recents_are_3_and_20_with_nothing_to_compress_up_to_23_messages() -> None:
    assert (PRESET.primers_count, PRESET.recents_count) == (3, 20)
    counts = [100] * 60
    assert not window(talk(23), 2_400, counts=counts[:23]).stats.optimization_applied, "though it is above the trigger"
    assert window(talk(24), 2_500, counts=counts[:24]).stats.optimization_applied
    found = window(talk(60), 7_000, counts=counts)
    assert verbatim(found) == [0, 1, 2, *range(40, 60)]
    assert found.summarised == ((3, 39),)


@pytest.mark.parametrize("count", [21, 22, 23, 24, 25])
def test_primers_summary_recents_never_show_a_message_twice(count: int) -> None:
    found = window(talk(count), 100 * count, counts=[100] * count)
    assert len(set(verbatim(found))) == len(verbatim(found))


@pytest.mark.parametrize(("primers", "recents"), [(1, 10), (5, 50)])
def test_primers_summary_recents_are_adjustable(primers: int, recents: int) -> None:
    settings = ContextSettings(primers_count=primers, recents_count=recents)
    assert (settings.primers_count, settings.recents_count) == (primers, recents)


def test_trigger_and_target_are_37500_and_18750_of_50000() -> None:
    assert (share(50_000, PRESET.trigger_ratio), share(50_000, PRESET.keep_ratio)) == (37_500, 18_750)
    assert (share(50_000, 0.75), share(50_000, 0.375)) == (37_500, 18_750)
    below = [1_250] * 29 + [37_500 - 3 - 29 * 1_250]
    assert not window(talk(30), 50_000, counts=below).stats.optimization_applied
    above = window(talk(30), 50_000, counts=[*below[:-1], below[-1] + 1])
    assert above.stats.optimization_applied
    assert above.tokens <= 18_750 + 3


def test_trigger_of_debugging_is_0_85_and_one_of_0_95_is_warned_of() -> None:
    assert PRESETS["debugging"]["trigger_ratio"] == 0.85
    assert [found.code for found in lint(ContextSettings(trigger_ratio=0.95))] == ["late_trigger"]


def test_target_is_met_by_fewer_recents_in_whole_groups_where_3_and_20_are_too_much() -> None:
    messages = [user("go on"), *(one for number in range(30) for one in (calling(f"c{number}"), result(f"c{number}")))]
    found = window(messages, 50_000, counts=[1_000] * len(messages))
    assert found.tokens <= 18_750 + 3
    assert len(verbatim(found)) < 23
    shown = [message for message in found.messages if message.role in ("assistant", "tool")]
    assert [message.role for message in shown] == ["assistant", "tool"] * (len(shown) // 2)


def test_compress_call_asks_for_400_tokens_at_temperature_0_2_in_the_same_language() -> None:
    assert (PRESET.summary_most_tokens, TEMPERATURE) == (400, 0.2)
    asked = summary_request(SummarySource.of("", talk(6)), 400)[0]["content"]
    for phrase in ("at most 400 tokens", "language of the conversation", "decisions", "open questions", "names"):
        assert phrase in asked


def test_compress_call_is_held_to_its_length_and_shown_as_a_summary() -> None:
    assert fault("word " * 500, 500, most_tokens=400, tokens_before=5_000) == "over_target"
    found = window(talk(60), 7_000, counts=[100] * 60)
    [summary] = [message for message in found.messages if "They noted orders." in message.text]
    assert summary.text == "Previous context summary:\nThey noted orders."
    assert count_message(summary.to_openai(), MODEL).tokens <= 400


# --- budgets ---------------------------------------------------------------------------------------------------------


def test_three_budgets_are_200000_200000_and_50000(nothing_set: None) -> None:
    limits = {kind: policy.limit_tokens for kind, policy in ledger_settings(load_settings()).defaults.items()}
    assert [limits[kind] for kind in (Kind.SESSION, Kind.TASK, Kind.AGENT)] == [200_000, 200_000, 50_000]


def view(mode: Mode, spent: int, limit: int = 1_000) -> ScopeView:
    scope = Scope.parse("session:s1")
    return ScopeView(scope, mode, limit, None, spent=Amount(spent), held=Amount(0), granted=Amount(0))


@pytest.mark.parametrize(
    ("mode", "spent", "verdict"),
    [
        (Mode.HARD, 1_000, Verdict.REFUSE),
        (Mode.SOFT, 1_000, Verdict.WARN),
        (Mode.APPROVAL, 1_000, Verdict.ASK),
        (Mode.HARD, 799, Verdict.WARN),
        (Mode.HARD, 798, Verdict.ALLOW),
    ],
)
def test_check_refuses_warns_or_asks_by_mode_and_warns_from_0_80(mode: Mode, spent: int, verdict: Verdict) -> None:
    assert gate_answer([view(mode, spent)], Amount(1)).verdict is verdict


@pytest.mark.parametrize(
    ("used", "delay_ms"),
    [(0, 0), (799, 0), (800, 50), (850, 300), (900, 750), (950, 1_500), (999, 1_500), (1_000, 5_000), (1_200, 5_000)],
)
def test_backpressure_steps(used: int, delay_ms: int) -> None:
    assert gate_answer([view(Mode.SOFT, used - 1 if used else 0)], Amount(1)).delay_ms == delay_ms


def test_backpressure_recovers_by_itself() -> None:
    assert gate_answer([view(Mode.SOFT, 949)], Amount(1)).delay_ms == 1_500
    assert gate_answer([view(Mode.SOFT, 949, limit=10_000)], Amount(1)).delay_ms == 0


def test_presets_have_their_numbers() -> None:
    chat, debugging, long_running = (
        (ContextSettings().overridden(PRESETS[name]), BUDGET_PRESETS[name])
        for name in ("chat", "debugging", "long_running")
    )
    assert (chat[0].history_window_size, chat[0].primers_count, chat[0].recents_count) == (30, 2, 10)
    assert chat[1][Kind.AGENT].limit_tokens == 25_000
    found = debugging[0]
    assert (found.history_window_size, found.primers_count, found.recents_count) == (100, 5, 30)
    assert debugging[1][Kind.AGENT].limit_tokens == 75_000
    assert long_running[0].history_window_size == 75
    assert long_running[1][Kind.TASK].limit_tokens == 300_000


def test_presets_let_a_long_task_keep_a_history_of_1000_messages() -> None:
    context = {"history_window_size": 1_000}
    submitted = task(use_case_preset="long_running", context=context)
    assert submitted.resolved_context(ResolvedContext()).settings.history_window_size == 1_000


@pytest.mark.parametrize("size", [1, 4, 1_001, 1_000_000])
def test_shannons_clamps_are_not_kept_any_positive_limit_is_valid(size: int) -> None:
    given = {"history_window_size": size, "primers_count": size, "recents_count": size}
    found = task(context=given).resolved_context(ResolvedContext()).settings
    assert (found.history_window_size, found.primers_count, found.recents_count) == (size, size, size)
    with pytest.raises(InvalidTask, match="history_window_size"):
        task(context={"history_window_size": 0})


def test_override_order_is_request_preset_environment_file_per_field(
    nothing_set: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "purser.toml").write_text("primers_count = 1\nrecents_count = 11\nhistory_window_messages = 21")
    monkeypatch.setenv("PURSER_RECENTS_COUNT", "12")
    settings = load_settings()
    assert (settings.source("primers_count"), settings.source("recents_count")) == ("file", "environment")
    below = ContextSettings(
        primers_count=settings.primers_count,
        recents_count=settings.recents_count,
        history_window_size=settings.history_window_messages,
    )
    base = ResolvedContext(below)
    plain = task().resolved_context(base).settings
    assert (plain.primers_count, plain.recents_count, plain.history_window_size) == (1, 12, 21)
    preset = task(use_case_preset="debugging").resolved_context(base).settings
    assert (preset.primers_count, preset.recents_count, preset.history_window_size) == (5, 30, 100)
    asked = (
        task(use_case_preset="debugging", context={"history_window_size": 60})
        .resolved_context(ResolvedContext(below))
        .settings
    )
    assert (asked.primers_count, asked.history_window_size) == (5, 60)


def test_override_order_reports_the_source_of_each_field() -> None:
    submitted = task(use_case_preset="chat", context={"token_budget_per_agent": 9_000})
    [(_, patch, sources)] = [found for found in submitted.policies() if found[0].kind is Kind.AGENT]
    assert patch.limit_tokens == 9_000
    assert "limit_tokens" not in sources, "the request's own"
    [(_, patch, sources)] = [found for found in task(use_case_preset="chat").policies() if found[0].kind is Kind.AGENT]
    assert (patch.limit_tokens, sources["limit_tokens"]) == (25_000, "chat")
    resolved = resolve(None, patch, Policy(limit_tokens=50_000), {"mode": "environment"})
    assert (resolved.sources["limit_tokens"], resolved.sources["mode"]) == ("request", "environment")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HISTORY_WINDOW_MESSAGES", "0"),
        ("PRIMERS_COUNT", "-1"),
        ("RECENTS_COUNT", "-1"),
        ("SESSION_LIMIT_TOKENS", "-1"),
    ],
)
def test_limits_out_of_range_are_an_error_and_no_silent_clamp(
    nothing_set: None, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PURSER_{name}", value)
    with pytest.raises(SettingsError, match=name.lower()):
        load_settings()


def test_limits_leave_any_positive_budget_valid(nothing_set: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_TASK_LIMIT_TOKENS", "300000")
    monkeypatch.setenv("PURSER_HISTORY_WINDOW_SIZE", "1")
    monkeypatch.setenv("PURSER_RECENTS_COUNT", "5000")
    settings = load_settings()
    assert (settings.task_limit_tokens, settings.history_window_messages, settings.recents_count) == (300_000, 1, 5_000)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o", 128_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("gemini-1.5-pro", 2_097_152),
        ("llama-2-13b", 4_096),
        ("mixtral-8x7b", 32_768),
    ],
)
def test_model_windows(model: str, tokens: int) -> None:
    assert window_of(model, PriceBook.load().context_window(model)) == tokens


@pytest.mark.parametrize(
    ("messages", "tokens", "at_most"),
    [(50, 10_000, 10_000), (100, 25_000, 12_000), (500, 125_000, 15_000), (1_000, 250_000, 15_000)],
)
def test_compression_table_is_met_in_a_window_of_32000(messages: int, tokens: int, at_most: int) -> None:
    found = window(talk(messages), 32_000, counts=[tokens // messages] * messages)
    assert found.tokens <= at_most + 3
    assert found.stats.optimization_applied is (messages > 50)
