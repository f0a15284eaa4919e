"""Summaries on a real Postgres: growing versions with one writer at a time."""

import asyncio
from dataclasses import replace

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.layers import Layer, Level
from purser.context.compression.summaries import Method, Summary
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from tests.support.context.conversations import talk

PLACE = ("acme", "s1", "")
FIRST = Summary(
    version=1,
    first_seq=4,
    last_seq=40,
    text="what was said",
    method=Method.MODEL,
    key="k1",
    tokens_before=900,
    tokens_after=100,
    source_digest="digest",
    model="gpt-4o-mini",
    hold_id="17",
    layers=(Layer(Level.SECTION, 4, 20, 17, "what was"), Layer(Level.LEAF, 21, 40, 20, "said")),
    source_characters=4_000,
    prompt_version="2",
    language="en",
    fidelity=0.625,
    trigger="overflow",
)
NEXT = replace(FIRST, version=2, last_seq=60, key="k2")


@pytest.fixture
async def summaries(pool: Pool) -> Summaries:
    """The store, with a session."""
    await Conversations(pool).append("acme", "s1", talk(1), origin="o1")
    return Summaries(pool)


async def test_a_version_comes_back_as_it_was_stored(summaries: Summaries) -> None:
    assert await summaries.store(*PLACE, FIRST)
    found = await summaries.latest(*PLACE, model="gpt-4o")
    assert found is not None
    assert replace(found, tokens={}) == FIRST
    assert set(found.tokens) == {"o200k_base", "cl100k_base"}
    assert await summaries.by_key("acme", "s1", "k1") == found
    assert await summaries.by_key("other", "s1", "k1") is None
    assert await summaries.texts("acme", "s1", {"": 1, "t1/a1": 1}) == {"": "what was said"}


async def test_a_version_from_before_there_were_layers_has_one_leaf(summaries: Summaries, pool: Pool) -> None:
    assert await summaries.store(*PLACE, FIRST)
    await pool.execute("update summaries set layers = '[]'")
    found = await summaries.by_key("acme", "s1", "k1")
    assert found is not None
    assert found.parts == (Layer(Level.LEAF, 4, 40, 37, "what was said"),)


@pytest.mark.parametrize(
    "other",
    [
        replace(NEXT, version=1),
        replace(NEXT, version=3),
        replace(NEXT, first_seq=5),
        replace(NEXT, last_seq=40),
        replace(NEXT, last_seq=39),
        replace(NEXT, key="k1"),
    ],
    ids=["same version", "gap", "loses its start", "adds nothing", "loses its end", "same key"],
)
async def test_a_version_that_does_not_extend_the_last_one_is_not_stored(summaries: Summaries, other: Summary) -> None:
    assert await summaries.store(*PLACE, FIRST)
    assert not await summaries.store(*PLACE, other)
    assert await summaries.store(*PLACE, NEXT)
    latest = await summaries.latest(*PLACE, model="gpt-4o")
    assert latest is not None
    assert latest.version == 2


async def test_of_a_thread_as_it_was_the_newest_version_that_covers_nothing_later_is_read(summaries: Summaries) -> None:
    assert await summaries.store(*PLACE, FIRST)
    assert await summaries.store(*PLACE, NEXT)
    found = [await summaries.latest(*PLACE, model="gpt-4o", upto=upto) for upto in (39, 40, 59, 60, None)]
    assert [one and one.version for one in found] == [None, 1, 1, 2, 2]


async def test_of_many_who_write_the_next_version_one_does(summaries: Summaries) -> None:
    found = await asyncio.gather(*(summaries.store(*PLACE, replace(FIRST, key=f"k{one}")) for one in range(10)))
    assert sum(found) == 1


async def test_one_compression_per_thread_holds_the_claim(summaries: Summaries) -> None:
    assert sum(await asyncio.gather(*(summaries.claim(*PLACE, f"k{one}", 60) for one in range(10)))) == 1
    assert await summaries.claim("acme", "s1", "t1/a1", "k99", 60), "another thread is free"


async def test_a_claim_is_renewed_by_its_key_and_given_back(summaries: Summaries) -> None:
    assert await summaries.claim(*PLACE, "k1", 60)
    assert await summaries.claim(*PLACE, "k1", 60)
    assert not await summaries.claim(*PLACE, "k2", 60)
    await summaries.unclaim(*PLACE, "k2")
    assert not await summaries.claim(*PLACE, "k2", 60)
    await summaries.unclaim(*PLACE, "k1")
    assert await summaries.claim(*PLACE, "k2", 60)


async def test_a_claim_that_lapsed_is_free(summaries: Summaries) -> None:
    assert await summaries.claim(*PLACE, "k1", 0)
    assert await summaries.claim(*PLACE, "k2", 60)
    await summaries.unclaim(*PLACE, "k1")
    assert not await summaries.claim(*PLACE, "k3", 60)


# --- compression health ----------------------------------------------------------------------------------------------


async def test_three_failures_in_a_row_begin_a_pause_of_their_thread(summaries: Summaries) -> None:
    assert [await summaries.failed(*PLACE, cooldown_s=60) for _ in range(2)] == [False, False]
    assert not await summaries.cooling(*PLACE)
    assert await summaries.failed(*PLACE, cooldown_s=60)
    assert await summaries.cooling(*PLACE)
    assert not await summaries.cooling("acme", "s1", "t1/a1")
    assert not await summaries.cooling("other", "s1", "")


async def test_after_the_pause_it_takes_three_failures_again(summaries: Summaries) -> None:
    assert [await summaries.failed(*PLACE, cooldown_s=0) for _ in range(6)] == [False, False, True] * 2
    assert not await summaries.cooling(*PLACE)


async def test_a_success_forgets_the_failures_before_it(summaries: Summaries) -> None:
    for _ in range(2):
        await summaries.failed(*PLACE, cooldown_s=60)
    await summaries.succeeded(*PLACE)
    assert not await summaries.failed(*PLACE, cooldown_s=60)


async def test_what_gained_nothing_is_known_until_more_was_said(summaries: Summaries) -> None:
    assert not await summaries.is_fruitless(*PLACE, 40)
    await summaries.gained_nothing(*PLACE, 40)
    assert await summaries.is_fruitless(*PLACE, 40)
    assert not await summaries.is_fruitless(*PLACE, 41)
    assert not await summaries.is_fruitless("other", "s1", "", 40)


async def test_a_deleted_session_takes_its_health_with_it(summaries: Summaries, pool: Pool) -> None:
    await summaries.gained_nothing(*PLACE, 40)
    await pool.execute("delete from sessions")
    assert await pool.fetchval("select count(*) from compression_health") == 0
