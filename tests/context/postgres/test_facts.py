"""Facts on a real Postgres: derived from the first message on, once, from redacted text; threads are apart."""

import asyncio

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import Message
from purser.context.facts import RULES_VERSION, Fact, extract_facts
from purser.context.postgres.conversation import facts as module
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.placeholders import Placeholders
from tests.support.context.conversations import talk, user

TENANT, SESSION = "acme", "s1"


@pytest.fixture
def facts(pool: Pool) -> Facts:
    """The store."""
    return Facts(pool, Placeholders(pool))


async def say(pool: Pool, *messages: Message, session: str = SESSION, thread: str = "", tenant: str = TENANT) -> None:
    """Appends messages."""
    await Conversations(pool).append(tenant, session, messages, origin=str(hash(messages)), thread=thread)


def ordered(found: list[Fact]) -> list[Fact]:
    """In any order, the same."""
    return sorted(found, key=repr)


def budgets(found: list[Fact]) -> list[tuple[int, str, int | None]]:
    """Message, value and successor of the stated budgets."""
    return [(fact.seq, fact.value, fact.superseded_by) for fact in found if fact.relation == "budget"]


async def test_there_are_facts_from_the_first_message_on_and_more_with_each_append(pool: Pool, facts: Facts) -> None:
    await say(pool, user("My budget is $300."))
    assert await facts.stored(TENANT, SESSION) == []
    assert budgets(await facts.all(TENANT, SESSION)) == [(1, "$300", None)]
    assert budgets(await facts.stored(TENANT, SESSION)) == [(1, "$300", None)]
    await say(pool, user("Fine."), user("My budget is now $400."))
    assert budgets(await facts.all(TENANT, SESSION)) == [(1, "$300", 3), (3, "$400", None)]


async def test_facts_derived_in_steps_are_those_of_the_whole_conversation(
    pool: Pool, facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEP_MESSAGES", 7)
    said = [*talk(20), user("My budget is $300."), *talk(20), user("My budget is $400.")]
    await say(pool, *said)
    whole = extract_facts(await Conversations(pool).read_thread(TENANT, SESSION))
    for _ in range(2):
        assert ordered(await facts.all(TENANT, SESSION)) == ordered(whole)


async def test_readers_at_once_store_each_fact_once(pool: Pool, facts: Facts) -> None:
    await say(pool, *talk(40), user("My budget is $300."))
    found = await asyncio.gather(*(facts.all(TENANT, SESSION) for _ in range(6)))
    assert all(one == found[0] for one in found)
    assert await pool.fetchval("select count(*) from facts") == len(found[0])


async def test_facts_of_other_rules_are_derived_again(pool: Pool, facts: Facts) -> None:
    await say(pool, user("My budget is $300."))
    await facts.all(TENANT, SESSION)
    await pool.execute("update facts set value = 'what other rules found'")
    assert budgets(await facts.all(TENANT, SESSION)) == [(1, "what other rules found", None)]
    newer = Facts(pool, Placeholders(pool), rules=RULES_VERSION + 1)
    assert budgets(await newer.all(TENANT, SESSION)) == [(1, "$300", None)]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-11-20T01:00:00+08:00", "2026-11-21"),
        ("2026-11-19T22:00:00-05:00", "2026-11-20"),
        ("2026-11-19T22:00:00Z", "2026-11-20"),
    ],
)
async def test_a_relative_date_counts_from_the_day_where_the_message_was_written(
    pool: Pool, facts: Facts, written: str, day: str
) -> None:
    await say(pool, Message.parse({"role": "user", "content": "We meet tomorrow.", "created_at": written}))
    found = await facts.all(TENANT, SESSION)
    assert [fact.value for fact in found] == [f"tomorrow ({day})"]
    assert found == extract_facts(await Conversations(pool).read_thread(TENANT, SESSION))


async def test_tenants_sessions_and_threads_are_apart(pool: Pool, facts: Facts) -> None:
    await say(pool, user("My budget is $300."))
    await say(pool, user("My budget is $400."), thread="t1/a1")
    await say(pool, user("My budget is $500."), session="s2")
    await say(pool, user("My budget is $600."), tenant="other")
    assert budgets(await facts.all(TENANT, SESSION)) == [(1, "$300", None)]
    assert budgets(await facts.all(TENANT, SESSION, "t1/a1")) == [(2, "$400", None)]
    assert budgets(await facts.all(TENANT, "s2")) == [(1, "$500", None)]
    assert budgets(await facts.all("other", SESSION)) == [(1, "$600", None)]
    assert await facts.all("third", SESSION) == []


async def test_facts_are_derived_from_redacted_text(pool: Pool, facts: Facts) -> None:
    await say(pool, user("My mail is ana.berg@example.com and my budget is $300."))
    found = await facts.all(TENANT, SESSION)
    assert budgets(found) == [(1, "$300", None)]
    assert "ana.berg" not in str(found)
    assert "[EMAIL_1]" in str(found)


async def test_facts_go_with_their_messages(pool: Pool, facts: Facts) -> None:
    await say(pool, user("My budget is $300."), user("My code is AB-77123."))
    assert {fact.seq for fact in await facts.all(TENANT, SESSION)} == {1, 2}
    await pool.execute("delete from messages where tenant = $1 and session_id = $2 and seq = 1", TENANT, SESSION)
    assert {fact.seq for fact in await facts.all(TENANT, SESSION)} == {2}


async def test_long_and_odd_texts_are_stored(pool: Pool, facts: Facts) -> None:
    odd = 'My code is "A\0B-77123" \ud83d, and I prefer ' + "very " * 3_000 + "long names."
    await say(pool, user(odd), user("My " + "long " * 3 + "code is AB-" + "7" * 70 + "."))
    whole = extract_facts(await Conversations(pool).read_thread(TENANT, SESSION))
    assert whole
    assert ordered(await facts.all(TENANT, SESSION)) == ordered(whole)


async def test_a_tool_message_that_names_no_call_is_read_like_any_other(pool: Pool, facts: Facts) -> None:
    await say(pool, Message("tool", '{"ticket_id": "T-4711", "state": "closed"}'), user("My budget is $300."))
    found = await facts.all(TENANT, SESSION)
    assert budgets(found) == [(2, "$300", None)]
    assert ("T-4711", "state", "closed") in {(fact.subject, fact.relation, fact.value) for fact in found}
