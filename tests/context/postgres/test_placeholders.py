"""Placeholders on a real Postgres: consistent within a session, without stored values."""

import asyncio
import threading

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.errors import SessionNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.redaction import Redactor
from tests.support.context.conversations import talk

PLACE = ("acme", "s1")


@pytest.fixture
async def placeholders(pool: Pool) -> Placeholders:
    """The store, with sessions of two tenants."""
    for tenant, session_id in (PLACE, ("acme", "s2"), ("other", "s1")):
        await Conversations(pool).append(tenant, session_id, talk(1), origin="o1")
    return Placeholders(pool)


async def redact(placeholders: Placeholders, text: str, *place: str) -> str:
    tenant, session_id = place or PLACE
    result, _ = await placeholders.redacted(tenant, session_id, lambda redactor: redactor.redact(text))
    return result


async def test_a_value_keeps_its_placeholder_from_one_compression_to_the_next(placeholders: Placeholders) -> None:
    assert await redact(placeholders, "a@x.org wrote to b@x.org") == "[EMAIL_1] wrote to [EMAIL_2]"
    assert await redact(placeholders, "c@x.org answered B@X.ORG") == "[EMAIL_3] answered [EMAIL_2]"


async def test_what_was_replaced_is_counted_by_label(placeholders: Placeholders) -> None:
    texts = ("a@x.org, a@x.org", "b@x.org")
    result, counts = await placeholders.redacted(*PLACE, lambda redactor: [redactor.redact(text) for text in texts])
    assert result == ["[EMAIL_1], [EMAIL_1]", "[EMAIL_2]"]
    assert counts == {"EMAIL": 3}


async def test_no_session_sees_what_another_one_numbered(placeholders: Placeholders, pool: Pool) -> None:
    await redact(placeholders, "a@x.org b@x.org")
    for place in (("acme", "s2"), ("other", "s1")):
        assert await redact(placeholders, "b@x.org", *place) == "[EMAIL_1]"
    digests = await pool.fetch("select distinct digest from placeholders")
    assert len(digests) == 4, "the same value has another digest under the key of another session"


async def test_values_are_stored_nowhere(placeholders: Placeholders, pool: Pool) -> None:
    await redact(placeholders, "a@x.org")
    rows = [*await pool.fetch("select * from placeholders"), *await pool.fetch("select * from redaction_keys")]
    assert len(rows) == 2
    assert "a@x.org" not in str([dict(row) for row in rows])


async def test_storing_again_changes_nothing(placeholders: Placeholders, pool: Pool) -> None:
    redactor = await placeholders.redactor(*PLACE)
    redactor.redact("a@x.org")
    assert await placeholders.store(*PLACE, redactor)
    redactor.redact("b@x.org")
    assert await placeholders.store(*PLACE, redactor)
    assert await pool.fetchval("select count(*) from placeholders") == 2


async def test_a_number_that_was_taken_meanwhile_is_not_used(placeholders: Placeholders, pool: Pool) -> None:
    first, second = await placeholders.redactor(*PLACE), await placeholders.redactor(*PLACE)
    first.redact("a@x.org")
    second.redact("b@x.org c@x.org")
    assert await placeholders.store(*PLACE, first)
    assert not await placeholders.store(*PLACE, second)
    assert await pool.fetchval("select count(*) from placeholders") == 1, "all or none"


async def test_a_value_that_was_numbered_meanwhile_gets_no_second_number(placeholders: Placeholders) -> None:
    first, second = await placeholders.redactor(*PLACE), await placeholders.redactor(*PLACE)
    first.redact("a@x.org b@x.org")
    second.redact("[EMAIL_7] b@x.org")
    assert await placeholders.store(*PLACE, first)
    assert not await placeholders.store(*PLACE, second)


async def test_compressions_at_the_same_time_agree(placeholders: Placeholders, pool: Pool) -> None:
    together = threading.Barrier(5)
    tries = [0] * 5

    async def compress(number: int) -> dict[str, str]:
        values = ["shared@x.org", f"own{number}@x.org"]

        def work(redactor: Redactor) -> dict[str, str]:
            tries[number] += 1
            if tries[number] == 1:
                together.wait(30)  # All of them start from the same placeholders.
            return {value: redactor.redact(value) for value in values}

        return (await placeholders.redacted(*PLACE, work))[0]

    results = await asyncio.gather(*(compress(number) for number in range(5)))
    assert sum(tries) > 5, "no two of them collided"
    named = {value: placeholder for result in results for value, placeholder in result.items()}
    assert all(result[value] == named[value] for result in results for value in result)
    assert sorted(named.values()) == [f"[EMAIL_{number}]" for number in range(1, 7)]
    assert await pool.fetchval("select count(*) from placeholders") == 6


async def test_deleting_a_session_deletes_its_placeholders_and_its_key(placeholders: Placeholders, pool: Pool) -> None:
    await redact(placeholders, "a@x.org")
    await pool.execute("delete from messages where tenant = 'acme' and session_id = 's1'")
    await pool.execute("delete from sessions where tenant = 'acme' and session_id = 's1'")
    assert await pool.fetchval("select count(*) from placeholders") == 0
    assert await pool.fetchval("select count(*) from redaction_keys") == 0


async def test_a_session_that_does_not_exist_has_no_placeholders(placeholders: Placeholders) -> None:
    with pytest.raises(SessionNotFound, match="'s9'"):
        await placeholders.redactor("acme", "s9")
