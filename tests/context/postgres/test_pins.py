"""Pins on a real Postgres: pinned messages stay verbatim, within a budget, until the pin ends."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message
from purser.context.errors import MessageNotFound, PinsTooLarge, SessionNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.tokens import count_message
from tests.support.actors import ANA, BEN
from tests.support.context.conversations import calling, result, talk, user

TENANT, SESSION, MODEL = "acme", "s1", "gpt-4o"


@pytest.fixture
async def conversations(pool: Pool) -> Conversations:
    """A session of ten messages."""
    conversations = Conversations(pool)
    await conversations.append(TENANT, SESSION, talk(10), origin="o1")
    return conversations


@pytest.fixture
def pins(pool: Pool) -> Pins:
    """The store, with room for about four of the messages."""
    return Pins(pool, budget=100)


async def cover(pool: Pool, first: int, last: int, version: int = 1, passed: tuple[int, ...] = ()) -> None:
    """Stores a summary of this range."""
    summary = Summary(
        version, first, last, "earlier", Method.EXTRACTIVE, f"k{version}", 100, 20, "digest", passed=passed
    )
    assert await Summaries(pool).store(TENANT, SESSION, "", summary)


async def shown(conversations: Conversations) -> list[int]:
    """Sequence numbers that stay verbatim or follow the summary."""
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    return [seq for group in found.groups for seq in group.seqs]


async def age(pool: Pool, hours: int) -> None:
    """Moves all stored times into the past."""
    for table, columns in {
        "pins": ("pinned_at", "until", "ended_at"),
        "summaries": ("created_at",),
        "messages": ("created_at",),
    }.items():
        for column in columns:
            await pool.execute(f"update {table} set {column} = {column} - make_interval(hours => $1)", hours)


# --- who, why and until when -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("conversations")
async def test_a_pin_has_author_reason_and_end(pins: Pins) -> None:
    until = datetime.now(UTC) + timedelta(days=1)
    made = await pins.pin(TENANT, SESSION, 3, author=ANA, reason="the address", until=until)
    assert (made.seq, made.author, made.reason, made.until) == (3, "ana", "the address", until)
    assert await pins.live(TENANT, SESSION) == [made]


@pytest.mark.usefixtures("conversations")
async def test_the_same_pin_again_changes_nothing_and_another_takes_its_place(pins: Pins, pool: Pool) -> None:
    first = await pins.pin(TENANT, SESSION, 3, author=ANA, reason="address")
    assert await pins.pin(TENANT, SESSION, 3, author=ANA, reason="address") == first
    second = await pins.pin(TENANT, SESSION, 3, author=BEN)
    assert await pins.live(TENANT, SESSION) == [second]
    history = await pool.fetch("select author, ended_by from pins order by pin_id")
    assert [tuple(row) for row in history] == [("ana", "ben"), ("ben", None)]


async def test_a_message_that_comes_pinned_has_a_pin(conversations: Conversations, pins: Pins) -> None:
    await conversations.append(TENANT, SESSION, [user("keep", pinned=True), user("b")], origin="o2", author="backend")
    await conversations.append(TENANT, SESSION, [user("keep", pinned=True), user("b")], origin="o2", author="backend")
    assert [(pin.seq, pin.author, pin.reason) for pin in await pins.live(TENANT, SESSION)] == [(11, "backend", None)]
    assert await pins.unpin(TENANT, SESSION, 11, by=ANA)
    assert await pins.live(TENANT, SESSION) == []


@pytest.mark.usefixtures("conversations")
async def test_changes_are_audited_without_text(pins: Pins, pool: Pool) -> None:
    await pins.pin(TENANT, SESSION, 3, author=ANA, reason="secret reason")
    assert await pins.unpin(TENANT, SESSION, 3, by=BEN)
    assert not await pins.unpin(TENANT, SESSION, 3, by=BEN)
    changes = await pool.fetch("select by, action, target, before, after from changes order by change_id")
    pinned = {"seq": 3, "author": "ana", "until": None}
    assert [tuple(change) for change in changes] == [
        ("ana", "pin.set", "session:s1", None, pinned),
        ("ben", "pin.end", "session:s1", pinned, None),
    ]


@pytest.mark.usefixtures("conversations")
async def test_only_what_is_there_can_be_pinned_or_unpinned(pins: Pins, pool: Pool) -> None:
    with pytest.raises(MessageNotFound, match="session 's1' has no message 11"):
        await pins.pin(TENANT, SESSION, 11, author=ANA)
    with pytest.raises(MessageNotFound, match="session 's1' has no message 11"):
        await pins.unpin(TENANT, SESSION, 11, by=ANA)
    for tenant, session in (("other", SESSION), (TENANT, "s2")):
        with pytest.raises(SessionNotFound):
            await pins.pin(tenant, session, 3, author=ANA)
        with pytest.raises(SessionNotFound):
            await pins.unpin(tenant, session, 3, by=ANA)
    assert await pool.fetchval("select count(*) from pins") == 0


# --- in windows ------------------------------------------------------------------------------------------------------


async def test_what_is_pinned_after_it_was_covered_is_verbatim_again(
    conversations: Conversations, pins: Pins, pool: Pool
) -> None:
    await cover(pool, 2, 8)
    assert await shown(conversations) == [1, 9, 10]
    await pins.pin(TENANT, SESSION, 5, author=ANA)
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    assert [(ref.seq, ref.pinned) for ref in found.messages] == [(1, False), (5, True), (9, False), (10, False)]
    assert await shown(conversations) == [1, 5, 9, 10]


async def test_when_its_pin_ends_it_is_covered_again(conversations: Conversations, pins: Pins, pool: Pool) -> None:
    await cover(pool, 2, 8)
    await age(pool, 1)
    await pins.pin(TENANT, SESSION, 5, author=ANA)
    await pins.unpin(TENANT, SESSION, 5, by=ANA)
    assert await shown(conversations) == [1, 9, 10]
    await pins.pin(TENANT, SESSION, 5, author=ANA, until=datetime.now(UTC) + timedelta(minutes=5))
    assert await shown(conversations) == [1, 5, 9, 10]
    await age(pool, 1)
    assert await shown(conversations) == [1, 9, 10]


async def test_what_was_pinned_while_it_was_passed_over_is_not_lost_when_its_pin_ends(
    conversations: Conversations, pins: Pins, pool: Pool
) -> None:
    await pins.pin(TENANT, SESSION, 5, author=ANA)
    await age(pool, 1)
    await cover(pool, 2, 6, passed=(5,))
    await cover(pool, 2, 8, version=2, passed=(5,))
    await pins.unpin(TENANT, SESSION, 5, by=ANA)
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    [passed_over] = [group for group in found.groups if group.first_seq == 5]
    assert (passed_over.refs[0].pinned, passed_over.refs[0].passed_over, passed_over.fixed) == (False, True, False)
    assert await shown(conversations) == [1, 5, 9, 10], "no summary covers it"
    whole = await conversations.conversation(TENANT, SESSION, model=MODEL, whole=True)
    assert [seq for group in whole.groups for seq in group.seqs] == [1, 5, 9, 10]
    await cover(pool, 2, 9, version=3)
    assert await shown(conversations) == [1, 9, 10], "now one does, and message 9 is the newest user message"


async def test_a_pin_that_ended_before_the_summary_was_begun_leaves_nothing_behind(
    conversations: Conversations, pins: Pins, pool: Pool
) -> None:
    await pins.pin(TENANT, SESSION, 5, author=ANA)
    await pins.unpin(TENANT, SESSION, 5, by=ANA)
    await cover(pool, 2, 8)
    assert await shown(conversations) == [1, 9, 10]


async def test_a_pinned_result_keeps_its_call(conversations: Conversations, pins: Pins, pool: Pool) -> None:
    await conversations.append(TENANT, SESSION, [calling("a", "b"), result("a"), result("b"), user("x")], origin="o2")
    await cover(pool, 2, 13)
    await pins.pin(TENANT, SESSION, 13, author=ANA)
    assert await shown(conversations) == [1, 11, 12, 13, 14]


# --- their budget ----------------------------------------------------------------------------------------------------


async def test_too_many_pins_are_an_error_with_figures_and_change_nothing(
    conversations: Conversations, pins: Pins, pool: Pool
) -> None:
    counts = await conversations.tokens(TENANT, SESSION, range(1, 11), model=MODEL)
    seqs: list[int] = []
    taken = 0
    while taken + counts[len(seqs) + 1] <= 100:
        seqs.append(len(seqs) + 1)
        taken += counts[seqs[-1]]
        await pins.pin(TENANT, SESSION, seqs[-1], author=ANA)
    assert await pins.tokens(TENANT, SESSION) == taken
    more = len(seqs) + 1
    before = await pool.fetchval("select count(*) from changes")
    with pytest.raises(PinsTooLarge, match=f"would take {taken + counts[more]} tokens .* may take 100"):
        await pins.pin(TENANT, SESSION, more, author=ANA)
    assert [pin.seq for pin in await pins.live(TENANT, SESSION)] == seqs
    assert await pool.fetchval("select count(*) from changes") == before
    await pins.unpin(TENANT, SESSION, 1, by=ANA)
    await pins.pin(TENANT, SESSION, more, author=ANA)


async def test_an_expired_pin_no_longer_counts(conversations: Conversations, pins: Pins, pool: Pool) -> None:
    await pins.pin(TENANT, SESSION, 3, author=ANA, until=datetime.now(UTC) + timedelta(minutes=5))
    assert await pins.tokens(TENANT, SESSION) > 0
    await age(pool, 1)
    assert await pins.tokens(TENANT, SESSION) == 0
    assert await pins.live(TENANT, SESSION) == []
    assert not await pins.unpin(TENANT, SESSION, 3, by=ANA)
    again = await pins.pin(TENANT, SESSION, 3, author=BEN)
    assert await pins.live(TENANT, SESSION) == [again]
    assert [ref.pinned for ref in (await conversations.conversation(TENANT, SESSION, model=MODEL)).messages][2]


async def test_a_pin_counts_with_its_tool_group(conversations: Conversations, pins: Pins) -> None:
    group = [calling("a"), result("a", "found it")]
    await conversations.append(TENANT, SESSION, group, origin="o2")
    await pins.pin(TENANT, SESSION, 12, author=ANA)
    expected = sum(count_message(message.to_openai(), MODEL).tokens for message in group)
    assert await pins.tokens(TENANT, SESSION) == expected
    await pins.pin(TENANT, SESSION, 11, author=ANA)
    assert await pins.tokens(TENANT, SESSION) == expected, "a group counts once"


async def test_messages_that_come_pinned_share_the_budget(pool: Pool) -> None:
    conversations = Conversations(pool, pin_budget=50)
    pinned = [Message("user", message.text, pinned=True) for message in talk(10)]
    with pytest.raises(PinsTooLarge, match="50"):
        await conversations.append(TENANT, SESSION, pinned, origin="o1")
    assert await conversations.last_seq(TENANT, SESSION) == 0
    assert await conversations.append(TENANT, SESSION, pinned[:2], origin="o1") == [1, 2]


@pytest.mark.usefixtures("conversations")
async def test_pins_at_once_never_exceed_the_budget_together(pins: Pins) -> None:
    made = await asyncio.gather(
        *(pins.pin(TENANT, SESSION, seq, author=ANA) for seq in range(1, 11)), return_exceptions=True
    )
    assert any(isinstance(one, PinsTooLarge) for one in made)
    assert await pins.tokens(TENANT, SESSION) <= 100
