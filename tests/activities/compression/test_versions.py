"""Versions of a summary that say too little, or too much, to be stored."""

from purser.activities.compression.versions import CompressionInput, CompressionRun, version_of
from purser.activities.compression.writing import Writer, WriteRequest
from purser.context.compression.ranges import Range
from purser.context.compression.summaries import Summary
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import extract_facts
from purser.context.redaction import Redactor
from purser.context.settings import ContextSettings
from tests.support.context.compressing import MODEL, PATH, TENANT, request
from tests.support.context.conversations import user

KEEP_RULES = ContextSettings().keep_rules
LONG = user(
    "Please note that the order with the number 1000 goes to our warehouse in Haven on May 7 2026 for 250 EUR by road"
    " because the customer who asked for it last week cannot wait for it any longer and because the driver who was to"
    " take it along on the way back from the other harbour has already left without it"
)
"""A sentence for which 100 tokens have no room, with facts for which they do."""
FOREIGN = [user(f"Заказ {1000 + day} отправлен в гавань {day + 7} 5 мая 2026 за {day + 100} EUR.") for day in range(40)]
"""Much to tell, so that every token is used."""


async def version(
    *said: Message, last: Summary | None = None, most_tokens: int = 100, model: str = MODEL
) -> Summary | None:
    """Builds the version that follows `last` from sentences of these messages, counted for a model."""
    stored = [StoredMessage(seq, "", message, {}) for seq, message in enumerate(said, last.last_seq + 1 if last else 4)]
    seqs = tuple(one.seq for one in stored)
    span = Range(4, seqs[-1], seqs, tokens_before=10_000, most_tokens=most_tokens)
    run = CompressionRun(request(), model, span, last, CompressionInput.of(stored, Redactor()), extract_facts(stored))

    async def as_it_is(text: str) -> str:
        return text

    writing = WriteRequest(TENANT, "k1", PATH, model, KEEP_RULES, run.language)
    return await version_of(run, Writer(writing, None, as_it_is), KEEP_RULES)


async def test_messages_that_say_nothing_make_no_version() -> None:
    assert await version(*[user(" ")] * 3) is None


async def test_facts_alone_may_replace_messages_but_not_an_earlier_version() -> None:
    alone = await version(LONG)
    assert alone is not None
    assert [layer.text for layer in alone.layers] == [""]
    assert await version(LONG, last=alone) is None


async def test_no_version_is_longer_than_it_may_be() -> None:
    # The parts of a text are counted alone; together they may take more where a count has a margin.
    for most_tokens in (100, 110, 120):
        found = await version(*FOREIGN, most_tokens=most_tokens, model="claude-3-5-sonnet")
        assert found is None or found.tokens_after <= most_tokens
