"""What the pitfalls and exercises of the preset `shannon` promise, number by number."""

import uuid
from datetime import timedelta

import pytest

from purser.budget import Mode, Policy, Usage
from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.ranges import choose_range
from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import Message
from purser.context.conversation.pins import PIN_BUDGET, check_pins
from purser.context.errors import PinsTooLarge, WindowTooSmall
from purser.context.memories import VectorMemory
from purser.context.pitfalls import UsageStatistics, lint
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.memory.memory import Memory
from purser.context.redaction import Redactor
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.context.tokens import count_text
from purser.context.windows.clipping import clip
from tests.support.actors import ANA
from tests.support.budgets.prices import per_million
from tests.support.context.conversations import calling, result, talk, user
from tests.support.context.shannon import MODEL, task, verbatim, window

# --- pitfalls and exercises ------------------------------------------------------------------------------------------


def test_five_pitfalls_are_warned_of() -> None:
    settings = ContextSettings(trigger_ratio=0.95, primers_count=1, recents_count=50)
    policies = {"agent": Policy(limit_tokens=10_000, mode=Mode.HARD)}
    found = lint(settings, policies, UsageStatistics(sessions=100, one_message_sessions=90, summaries=50))
    assert [one.code for one in found] == [
        "late_trigger",
        "few_primers",
        "small_hard_limit",
        "session_per_request",
        "unchecked_summaries",
    ]


def test_exercise_1_a_debugging_user_who_is_forgotten_takes_the_preset() -> None:
    usual, debugging = ContextSettings(), task(use_case_preset="debugging").resolved_context(ResolvedContext()).settings
    said = Conversation("", tuple(MessageRef(seq, "user", 100) for seq in range(1, 101)))
    covered = [choose_range(said, settings, 100_000) for settings in (usual, debugging)]
    assert [one and one.last_seq for one in covered] == [80, 70], "the last 30 messages stay instead of the last 20"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Write to ana@example.org today.", "EMAIL"),
        ("Call +1 415-555-2671 today.", "PHONE"),
        ("My SSN is 536-90-4399.", "SSN"),
        ("Card 4111 1111 1111 1111 please.", "CARD"),
        ("The host is 192.168.10.20.", "IP"),
        ("The key is sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z.", "API_KEY"),
        ("password: hunter2!xyz", "SECRET"),
    ],
)
def test_exercise_2_seven_types_are_redacted(text: str, label: str) -> None:
    redactor = Redactor()
    assert f"[{label}_1]" in redactor.redact(text)
    assert redactor.counts == {label: 1}


@pytest.mark.parametrize("character", ["好", "👩‍👩‍👧‍👦", "e\u0301", "🇩🇪"])
def test_exercise_2_a_cut_splits_no_character(character: str) -> None:
    def count(part: str) -> int:
        return count_text(part, MODEL).tokens

    text = character * 200
    head, mark, tail = clip(text, count(text) // 2, count).partition("\n[…")
    assert mark
    for part in (head, tail.partition("…]\n")[2]):
        assert part == character * (len(part) // len(character))


def test_exercise_2_an_embedder_that_is_down_loses_nothing() -> None:
    def away(texts: object) -> list[list[float]]:
        raise ConnectionError

    memory = VectorMemory(away)
    memory.add_message("user", "My class is 7b.")
    assert [found.text for found in memory.retrieve("Which class?")] == ["My class is 7b."]


async def test_exercise_3_pinned_messages_have_author_reason_time_and_expiry(
    pool: Pool,
) -> None:
    tenant, pins = uuid.uuid4().hex, Pins(pool, budget=100)
    await Conversations(pool).append(tenant, "s1", [user("My class is 7b.")], origin="a")
    begun = await pool.fetchval("select now()")
    until = begun + timedelta(days=1)
    await pins.pin(tenant, "s1", 1, author=ANA, reason="the class", until=until)
    [pin] = await pins.live(tenant, "s1")
    assert (pin.author, pin.reason, pin.until) == ("ana", "the class", until)
    assert begun <= pin.pinned_at < until
    await pool.execute("update pins set until = pinned_at where tenant = $1", tenant)
    assert await pins.live(tenant, "s1") == []


def test_exercise_3_pinned_messages_stay_with_their_pair_partners() -> None:
    messages = talk(60)
    messages[10:12] = [Message("assistant", tool_calls=calling("c1").tool_calls, pinned=True), result("c1", "7b")]
    found = window(messages, 2_000)
    assert {10, 11} <= set(verbatim(found))
    assert all(not first <= 10 <= last for first, last in found.summarised)


def test_exercise_3_too_many_pins_are_refused_or_an_error_that_names_them() -> None:
    check_pins(PIN_BUDGET, PIN_BUDGET)
    with pytest.raises(PinsTooLarge, match=f"{PIN_BUDGET:,}|{PIN_BUDGET}"):
        check_pins(PIN_BUDGET + 1, PIN_BUDGET)
    with pytest.raises(WindowTooSmall, match="pins"):
        window([user("hi"), user("word " * 300, pinned=True), *talk(10)], 200)


# --- money and memory ------------------------------------------------------------------------------------------------


def test_cost_example_is_637500_tokens_where_the_history_is_sent_each_round() -> None:
    price = per_million("2.5", "10")
    once = Usage(input=500 * 50)
    resent = sum((Usage(input=500 * turn) for turn in range(1, 51)), start=Usage())
    assert (once.total, price.cost(once)) == (25_000, 62_500_000)
    assert (resent.total, price.cost(resent)) == (637_500, 1_593_750_000)


async def test_long_term_memory_reaches_across_the_sessions_of_a_user(pool: Pool) -> None:
    tenant, conversations, memory = uuid.uuid4().hex, Conversations(pool), Memory(pool)
    await conversations.append(tenant, "s1", [user("My class is 7b-2041.")], origin="a", user_id="ana")
    await conversations.append(tenant, "s2", [user("Hello again.")], origin="a", user_id="ana")
    await conversations.append(tenant, "s3", [user("My class is 9c.")], origin="a", user_id="ben")
    found = (await memory.search(tenant, "s2", "Which class?", limit=3, user_id="ana")).found
    assert [one.text for one in found if "class" in one.text] == ["My class is 7b-2041."]
    alone = (await memory.search(tenant, "s2", "Which class?", limit=3)).found
    assert not any("class" in one.text for one in alone)
