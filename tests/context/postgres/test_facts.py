"""Facts on a real Postgres: stored once, superseded, separate by tenant, session and thread."""

import asyncio
import random

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.facts import Fact, Kind, extract_facts, supersede
from purser.context.facts.values import MENTIONS
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from tests.support.conversations import talk, user

TENANT, SESSION = "acme", "s1"


@pytest.fixture
async def facts(pool: Pool) -> Facts:
    """The store, with two sessions of 20 messages for each of two tenants."""
    conversations = Conversations(pool)
    for tenant in (TENANT, "other"):
        for session in (SESSION, "s2"):
            await conversations.append(tenant, session, talk(20), origin="o")
    return Facts(pool)


def budget(seq: int, value: str) -> Fact:
    """A fact that states the user's budget."""
    return Fact(seq, Kind.MONEY, "user", "budget", value, f"My budget is {value}.", "user")


async def test_a_repeated_fact_is_stored_once(facts: Facts, pool: Pool) -> None:
    messages = await Conversations(pool).read_thread(TENANT, SESSION)
    found = extract_facts(messages)
    assert found
    for _ in range(3):
        await facts.add(TENANT, SESSION, "", found)
    assert sorted(await facts.all(TENANT, SESSION), key=repr) == sorted(found, key=repr)


async def test_tenants_sessions_and_threads_are_apart(facts: Facts) -> None:
    await facts.add(TENANT, SESSION, "", [budget(1, "$300")])
    await facts.add(TENANT, SESSION, "t1/a1", [budget(2, "$400")])
    await facts.add(TENANT, "s2", "", [budget(3, "$500")])
    await facts.add("other", SESSION, "", [budget(4, "$600")])
    assert await facts.all(TENANT, SESSION, "") == [budget(1, "$300")]
    assert await facts.all(TENANT, SESSION, "t1/a1") == [budget(2, "$400")]
    assert await facts.all(TENANT, SESSION) == [budget(1, "$300"), budget(2, "$400")]
    assert await facts.all(TENANT, "s2") == [budget(3, "$500")]
    assert await facts.all("other", SESSION) == [budget(4, "$600")]
    assert await facts.all("third", SESSION) == []


async def test_a_later_value_supersedes_an_earlier_one_which_remains_stored(facts: Facts) -> None:
    await facts.add(TENANT, SESSION, "", [budget(1, "$300")])
    await facts.add(TENANT, SESSION, "", [budget(5, "$400")])
    old, new = await facts.all(TENANT, SESSION)
    assert (old.value, old.superseded_by) == ("$300", 5)
    assert (new.value, new.superseded_by) == ("$400", None)


async def test_the_store_supersedes_as_the_rule_does_in_whatever_order_facts_come(facts: Facts, seed: int) -> None:
    draw = random.Random(seed)
    found = list(
        dict.fromkeys(
            Fact(
                draw.randint(1, 20),
                Kind.NUMBER,
                draw.choice("ab"),
                draw.choice(["size", "age", MENTIONS]),
                draw.choice("123"),
                "said",
                "user",
            )
            for _ in range(40)
        )
    )
    draw.shuffle(found)
    for start in range(0, len(found), 7):
        await facts.add(TENANT, SESSION, "", found[start : start + 7])
    assert sorted(await facts.all(TENANT, SESSION), key=repr) == sorted(supersede(found), key=repr)


async def test_concurrent_writers_see_each_others_facts(facts: Facts, pool: Pool) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await facts.add(TENANT, SESSION, "", [budget(1, "$300")], connection)
        later = asyncio.create_task(facts.add(TENANT, SESSION, "", [budget(5, "$400")]))
        await asyncio.sleep(0.2)
        assert not later.done()
    await later
    assert [fact.superseded_by for fact in await facts.all(TENANT, SESSION)] == [5, None]


async def test_facts_of_a_transaction_that_fails_are_not_stored(facts: Facts, pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await facts.add(TENANT, SESSION, "", [budget(1, "$300")], connection)
        await transaction.rollback()
    assert await facts.all(TENANT, SESSION) == []


async def test_facts_go_with_their_messages(facts: Facts, pool: Pool) -> None:
    await facts.add(TENANT, SESSION, "", [budget(1, "$300"), budget(2, "$400")])
    await pool.execute("delete from messages where tenant = $1 and session_id = $2 and seq = 1", TENANT, SESSION)
    assert [fact.seq for fact in await facts.all(TENANT, SESSION)] == [2]


async def test_long_and_odd_texts_are_stored(facts: Facts, pool: Pool) -> None:
    odd = 'My code is "A\0B-77123" \ud83d, and I prefer ' + "very " * 3_000 + "long names."
    await Conversations(pool).append(TENANT, SESSION, [user(odd)], origin="odd")
    [*_, stored] = await Conversations(pool).read_thread(TENANT, SESSION)
    found = extract_facts([stored])
    long = Fact(1, Kind.PREFERENCE, "user", "r" * 9_000, "v" * 9_000, "t" * 9_000, "user")
    await facts.add(TENANT, SESSION, "", [*found, long])
    assert sorted(await facts.all(TENANT, SESSION), key=repr) == sorted([*found, long], key=repr)
