"""What the checklist promises for running tasks: presets and figures of a task act in the windows of its calls."""

from typing import TYPE_CHECKING, Any

import pytest

from purser.activities.tasks.file import TaskFile
from purser.compose.settings import load_settings
from purser.compose.settings.context import resolved_context
from purser.context.compression.ranges import Range, choose_range
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.resolution import ResolvedContext
from purser.context.settings import PRESETS, ContextSettings
from purser.context.strategies import WINDOW_PRESETS, StrategyName
from purser.context.windows import plan_window, render
from purser.context.windows.plans import MemoryRef, PersonalRef, TextRef, WindowPlan

if TYPE_CHECKING:
    import asyncpg

BUDGET = 73_142


def settings(**fields: Any) -> ContextSettings:
    """The context settings of a task with these fields."""
    agent = {"id": "a1", "model": "gpt-4o", "instructions": "Be brief."}
    task = TaskFile.parse({"session_id": "s1", "task_id": "t1", "input": "hi", "agents": [agent]} | fields, ())
    return task.resolved_context(ResolvedContext()).settings


def session(count: int, tokens: int = 40, summary: SummaryRef | None = None) -> Conversation:
    """Questions and answers in turn, numbered from 1."""
    refs = (MessageRef(seq, ("assistant", "user")[seq % 2], tokens) for seq in range(1, count + 1))
    return Conversation("", tuple(refs), summary)


def plan(given: ContextSettings, conversation: Conversation, budget: int = BUDGET, **more: Any) -> WindowPlan:
    """The window of a call that asks a question of 10 tokens."""
    return plan_window(
        given, budget=budget, system_tokens=0, session=conversation, question=TextRef(10_000, 10),
        own=Conversation("t1/a1"), **more,
    )  # fmt: skip


def covered(given: ContextSettings, conversation: Conversation) -> Range:
    found = choose_range(conversation, given, BUDGET)
    assert found is not None
    return found


# --- seed 000 --------------------------------------------------------------------------------------------------------


def test_000_6_summarization_ratios_and_max_tokens_are_environment_variables_that_act(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "SUMMARIZATION_TRIGGER_RATIO": "0.8", "SUMMARIZATION_TARGET_RATIO": "0.4", "SUMMARIZATION_MAX_TOKENS": "1024",
        "SYSTEM_PROMPT_TOKEN_ESTIMATE": "3000", "SUMMARIZATION_MODEL": "gpt-4o-mini",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"PURSER_{name}", value)
    base = resolved_context(load_settings())
    assert base.source("summary_max_tokens") == base.source("target_ratio") == "environment"
    given = base.settings
    assert (given.trigger_ratio, given.target_ratio, given.system_token_reserve) == (0.8, 0.4, 3_000)
    assert covered(given, session(300, 240)).most_tokens == 1_024


def test_000_7_a_task_shows_the_newest_40_turns_that_fit_and_the_current_one() -> None:
    given = settings(use_case_preset="education")
    found = plan(given, session(60))
    assert found.session.seqs == tuple(range(21, 61))
    assert found.question.seq == 10_000, "the current turn is not one of them"
    assert [(one.first_seq, one.last_seq, one.reason) for one in found.session.dropped] == [
        (1, 20, "older_than_recents")
    ]
    assert plan(given, session(40)).session.seqs == tuple(range(1, 41))
    refs = tuple(ref._replace(tokens=900 if ref.seq == 4 else 40) for ref in session(12).messages)
    tight = plan(given, Conversation("", refs), budget=600)
    assert tight.session.seqs == tuple(range(5, 13)), "the first turn that does not fit ends the window"


def test_000_13_a_task_summarizes_from_6_turns_above_58514_tokens_to_29256_with_at_most_1024_tokens() -> None:
    given = settings(use_case_preset="education")
    assert plan(given, session(20, 2_925)).compress is None, "58,500 and the question are not above 58,513"
    assert plan(given, session(20, 2_926)).compress == ""
    assert plan(given, session(5, 12_000)).compress is None, "five turns are too few"
    assert plan(given, session(7, 10_000)).compress == ""
    found = covered(given, session(20, 2_926))
    assert found.most_tokens <= 1_024
    assert (20 - len(found.seqs)) * 2_926 + found.most_tokens <= 29_256
    assert given.primers == 0


# --- seed 001 --------------------------------------------------------------------------------------------------------


def test_001_2_a_task_with_the_preset_game_shows_10_rounds() -> None:
    assert plan(settings(use_case_preset="game"), session(60)).session.seqs == tuple(range(43, 61))


@pytest.mark.parametrize("rounds", [1, 5, 20])
def test_001_3_the_number_of_rounds_is_a_field_of_the_task(rounds: int) -> None:
    given = settings(context={"strategy": "sliding_window", "rounds": rounds, "keeps_first_request": False})
    # The question of the call is the newest round.
    assert plan(given, session(60)).session.seqs == tuple(range(60 - 2 * (rounds - 1) + 1, 61))


def test_001_5_a_task_with_the_preset_game_fills_nine_tenths_of_its_budget() -> None:
    given = settings(use_case_preset="game")
    found = plan(given, session(18, 100), budget=1_500)
    assert 1_000 < found.tokens <= 1_350


# --- seed 002 --------------------------------------------------------------------------------------------------------


def test_002_2_a_task_compresses_the_oldest_6_at_16_messages_and_then_every_6() -> None:
    given = settings(use_case_preset="cookhero")
    assert plan(given, session(15)).compress is None
    assert plan(given, session(16)).compress == ""
    assert covered(given, session(16)).seqs == tuple(range(1, 7))
    later = session(21, summary=SummaryRef(1, 1, 6, 100))
    assert plan(given, later).compress is None
    later = session(22, summary=SummaryRef(1, 1, 6, 100))
    assert plan(given, later).compress == ""
    assert covered(given, later).seqs == tuple(range(7, 13))
    own = settings(context={"strategy": "summary", "batch_count": 4, "recents_count": 6, "keeps_first_request": False})
    assert covered(own, session(13)).seqs == (1, 2, 3, 4)


def test_002_2_a_batch_that_is_not_covered_yet_stays_verbatim() -> None:
    found = plan(settings(use_case_preset="cookhero"), session(16))
    assert found.session.seqs == tuple(range(1, 17))
    assert found.session.dropped == ()


ORDERS = [
    (None, ["personal", "system", "summary", "said", "memory", "asked"]),
    ("cookhero", ["personal", "system", "summary", "said", "asked", "memory"]),
]


@pytest.mark.parametrize(("preset", "order"), ORDERS)
def test_002_6_the_order_of_the_parts_is_a_setting_of_the_task(preset: str | None, order: list[str]) -> None:
    given = settings(use_case_preset=preset) if preset else settings()
    assert rendered(given) == order
    turned = ["memory", "system", "newest", "conversation", "summary", "settings"]
    assert rendered(settings(context={"order": turned})) == ["memory", "system", "asked", "said", "summary", "personal"]


def rendered(given: ContextSettings) -> list[str]:
    """The texts of a call's messages; that of a summary without its header."""
    conversation = Conversation("", (MessageRef(7, "user", 10),), SummaryRef(1, 1, 6, 40), keeps_first_request=False)
    found = plan(given, conversation, personal=PersonalRef((1, 0), 10), memory=MemoryRef((), 10))
    stored = {7: StoredMessage(7, "", Message("user", "said"), {})}
    stored[10_000] = StoredMessage(10_000, "", Message("user", "asked"), {})
    messages = render(
        found, stored, {"": "summary"}, "system", personal=Message("user", "personal"),
        memory=Message("user", "memory"), order=given.order, header=given.summary_header, count=len,
    )  # fmt: skip
    return [str(message["content"]).splitlines()[-1] for message in messages]


# --- seed 003 --------------------------------------------------------------------------------------------------------


def test_003_3_rounds_by_size_are_a_figure_of_the_task() -> None:
    usual = settings(context={"strategy": "smart_truncation", "keeps_first_request": False})
    assert [len(plan(usual, session(count)).session.seqs) for count in (14, 20, 40, 60)] == [14, 14, 10, 6]
    own = settings(
        context={"strategy": "smart_truncation", "keeps_first_request": False, "rounds_by_size": [[5, 3], [30, 2]]}
    )
    assert [len(plan(own, session(count)).session.seqs) for count in (4, 20, 40)] == [4, 4, 2]


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_2f_3_recents_and_what_a_compression_covers_are_counted_in_rounds_where_a_task_says_so(rounds: int) -> None:
    """A round is a question with all that follows it, here four messages."""
    refs = (MessageRef(seq, ("user" if seq % 4 == 1 else "assistant"), 400) for seq in range(1, 101))
    talked = Conversation("", tuple(refs))
    context = {"primers_count": 0, "recents_count": 10, "keeps_first_request": False, "rounds_by_size": [[5, rounds]]}
    in_rounds = covered(settings(context=context | {"summary_by_rounds": True}), talked)
    assert in_rounds.seqs == tuple(range(1, 101 - 4 * rounds))
    in_messages = covered(settings(context=context), talked)
    assert in_messages.seqs == tuple(range(1, 91)), "recents_count counts messages"


def test_003_6_the_length_of_a_summary_is_a_ratio_within_bounds() -> None:
    context = {"primers_count": 0, "recents_count": 10, "keeps_first_request": False, "summary_ratio": 0.15}
    bounds = {"summary_min_tokens": 100, "summary_max_tokens": 800}
    lengths = [covered(settings(context=context | bounds), session(count, 100)).most_tokens for count in (14, 30, 110)]
    assert lengths == [100, 300, 800]
    assert covered(settings(context=context), session(110, 100)).most_tokens == 1_500
    optimizer = settings(use_case_preset="optimizer")
    # 15 % of the source, 100 to 800 characters of 2.5 characters each to a token.
    assert (optimizer.summary_ratio, optimizer.summary_min_tokens, optimizer.summary_max_tokens) == (0.15, 40, 320)


def test_003_25_auto_counts_the_characters_of_a_chinese_thread() -> None:
    refs = tuple(ref._replace(characters=390) for ref in session(12, 300).messages)
    chinese = plan(settings(context={"strategy": "auto"}), Conversation("", refs), question_characters=15)
    assert "medium conversation of 13 messages and 4,695 characters" in chinese.strategy_reason
    unknown = plan(settings(context={"strategy": "auto"}), session(12, 300))
    assert "14,440 characters" in unknown.strategy_reason, "four characters for each token"


async def test_003_25_the_store_knows_the_characters_of_each_message(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    conversations = Conversations(pool)
    said = [Message("user", "改到下午5点"), Message("assistant", "好的，改到下午5点。" * 40)]
    await conversations.append("acme", "s1", said, origin="a")
    found = await conversations.conversation("acme", "s1", model="gpt-4o")
    assert [ref.characters for ref in found.messages] == [6, 400]
    assert found.figures.characters == 406


def test_003_26_default_strategy_and_preference_are_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PURSER_STRATEGY", "auto")
    monkeypatch.setenv("PURSER_PREFERENCE", "quality")
    base = resolved_context(load_settings())
    assert (base.settings.strategy, base.settings.preference) == (StrategyName.AUTO, "quality")
    assert (base.source("strategy"), base.source("preference")) == ("environment", "environment")


def test_every_figure_is_a_setting_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "purser.toml").write_text(
        'context_preset = "cookhero"\nrounds = 3\nsummary_header = ""\nmax_context_tokens = 9000\n'
        'window_order = ["system", "settings", "summary", "conversation", "newest", "memory"]\n'
        "history_window_messages = 1"
    )
    monkeypatch.chdir(tmp_path)
    base = resolved_context(load_settings())
    assert (base.settings.rounds, base.settings.summary_header, base.settings.max_tokens) == (3, "", 9_000)
    assert (base.settings.history_window_size, base.source("order")) == (1, "file")
    assert base.preset == "cookhero"


# --- seed 004 --------------------------------------------------------------------------------------------------------


def test_004_5_a_task_with_the_preset_shannon_has_400_tokens_and_the_header_of_its_summary() -> None:
    given = settings(use_case_preset="shannon")
    assert covered(given, session(300, 240)).most_tokens == 400
    conversation = Conversation("", (MessageRef(7, "user", 10),), SummaryRef(1, 1, 6, 40), keeps_first_request=False)
    stored = {seq: StoredMessage(seq, "", Message("user", "hi"), {}) for seq in (7, 10_000)}
    shown = render(plan(given, conversation), stored, {"": "text"}, "Be brief.", header=given.summary_header, count=len)
    assert shown[1] == {"role": "user", "content": "Previous context summary:\ntext"}
    bare = render(plan(given, conversation), stored, {"": "text"}, "Be brief.", header="", count=len)
    assert bare[1]["content"] == "text"


# --- presets of tasks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WINDOW_PRESETS)
def test_a_preset_of_windows_is_a_use_case_preset_and_a_preset_of_the_context(name: str) -> None:
    assert settings(use_case_preset=name) == settings(context={"preset": name})
    assert settings(use_case_preset=name).strategy is WINDOW_PRESETS[name].strategy
    chat = settings(use_case_preset="chat", context={"preset": name})
    assert chat == settings(use_case_preset=name), "the preset of the context precedes that of the task"


@pytest.mark.parametrize("name", PRESETS)
def test_a_figure_of_the_task_overrides_that_of_its_preset(name: str) -> None:
    given = settings(use_case_preset=name, context={"recents_count": 3, "strategy": "hybrid"})
    assert (given.recents_count, given.strategy) == (3, StrategyName.HYBRID)


def test_use_case_preset_and_context_rounds_order_summary_max_tokens_and_preset_are_fields_of_a_task_file() -> None:
    order = ["system", "settings", "summary", "conversation", "newest", "memory"]
    context = {"preset": "game", "rounds": 4, "order": order, "summary_max_tokens": 300}
    given = settings(use_case_preset="debugging", context=context)
    assert (given.rounds, list(given.order), given.summary_max_tokens) == (4, order, 300)
    assert given.strategy is StrategyName.SLIDING_WINDOW
