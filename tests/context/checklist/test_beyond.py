"""Ideas that the systems of the checklist name as future ones, and what Purser has of them."""

from typing import TYPE_CHECKING

import pytest

from purser.context import optimize
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import SummarySource
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import Kind, extract_facts
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.tokens import count_text
from purser.context.tokens import counting as counting_of_tokens
from purser.context.tokens.exact import by_litellm

if TYPE_CHECKING:
    import asyncpg

MODEL, TENANT = "gpt-4o", "acme"
PREFERENCE = "I am allergic to peanuts, so never put any into my dishes."
CHAT = [
    Message(("user", "assistant")[n % 2], f"That sounds nice, and the walk was rather long, too, {n}.")
    for n in range(60)
]


def test_002_12_and_003_24_what_a_user_prefers_outlasts_small_talk_without_a_pin() -> None:
    messages = [*CHAT[:20], Message("user", PREFERENCE), *CHAT[20:]]
    summary = extract(SummarySource.of("", messages), 60, lambda text: count_text(text, MODEL).tokens)
    assert PREFERENCE in summary


def test_003_24_preferences_of_a_user_are_learned_from_the_first_message_and_replaced_by_later_ones() -> None:
    said = ["My budget is $300.", PREFERENCE, "My budget is now $500."]
    found = extract_facts([StoredMessage(seq, "", Message("user", text), {}) for seq, text in enumerate(said, 1)])
    live = [fact for fact in found if fact.superseded_by is None]
    assert [fact.value for fact in live if fact.kind is Kind.MONEY] == ["$500"]
    assert [fact.seq for fact in live if fact.kind is Kind.PREFERENCE] == [2]


def test_003_21_optimizing_without_a_summary_counts_each_text_a_few_times_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def counting(text: str, model: str) -> int | None:
        asked.append(text)
        return by_litellm(text, model)

    monkeypatch.setattr(counting_of_tokens, "by_litellm", counting)
    messages = [one.to_openai() for one in CHAT]
    _, stats = optimize(messages, 2_600)
    assert stats["messages_removed"]
    assert 0 < sum(map(len, asked)) <= 4 * sum(len(one.text) for one in CHAT)


async def test_004_19_memory_finds_the_messages_that_a_summary_covers(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    messages = [Message("user", PREFERENCE), *CHAT]
    await Conversations(pool).append(TENANT, "s1", messages, origin="talk")
    covering = Summary(1, 1, 40, "They chatted.", Method.EXTRACTIVE, "k1", 1_000, 10, "digest")
    assert await Summaries(pool).store(TENANT, "s1", "", covering)
    results = await Memory(pool).search(TENANT, "s1", "Which allergic reactions, peanuts?", limit=1)
    assert [one.text for one in results.found] == [PREFERENCE]
