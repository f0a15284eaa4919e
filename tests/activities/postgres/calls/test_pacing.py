"""Slots of requests in Postgres, by a moved clock: workers and tasks share them, and calls keep theirs."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from purser.activities.pacing.pace import SLACK_S, Pace, Spacing
from purser.activities.postgres.calls.pacing import PacingStore
from purser.budget.postgres.connections.pools import Pool
from tests.support.calls import plan_calls

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CALL = ("default", "t1-k1")
HOUR = 3_600.0


@pytest.fixture
async def store(pool: Pool) -> PacingStore:
    await pool.execute(
        "insert into tasks (tenant, task_id, session_id, body, digest, input_seq)"
        " values ('default', 't1', 's1', '{}', '', 1)"
    )
    await pool.execute("insert into agents (tenant, task_id, agent_id, position) values ('default', 't1', 'a', 0)")
    await plan_calls(pool, "a", "t1", 2)
    return PacingStore(pool, now=NOW)


async def wait(
    store: PacingStore, *limits: Spacing, tokens: int = 1, most_s: float = HOUR, call: bool = False
) -> float:
    found = await store.wait_s(limits, tokens, most_s, CALL if call else None)
    assert found is not None
    return found


async def test_no_minute_contains_more_requests_of_all_tasks_than_the_limit(store: PacingStore, seed: int) -> None:
    chance, limit, rpm = random.Random(seed), Spacing.of("m", Pace(rpm=30)), 30
    clock, sent = 0.0, []
    for _ in range(120):
        clock += chance.choice((0, 0, 0, 0.3, 2))
        store.now = NOW + timedelta(seconds=clock)
        sent.append(clock + await wait(store, limit) + chance.uniform(0, SLACK_S))
    sent.sort()
    assert len([at for at in sent if at < 60]) >= 27, "the limit is also used"
    assert all(sent[index + rpm] - sent[index] >= 60 for index in range(len(sent) - rpm))


async def test_tokens_of_a_minute_stay_within_the_limit_but_for_one_request(store: PacingStore) -> None:
    limit = Spacing.of("m", Pace(tpm=1_000))
    waits = [await wait(store, limit, tokens=200) for _ in range(12)]
    assert waits[0] == 0
    assert sum(200 for one in waits if one < 60) <= 1_200
    assert sum(200 for one in waits if one < 60) >= 800


async def test_a_call_keeps_its_slot_while_it_waits_and_needs_a_new_one_for_the_next_request(
    store: PacingStore, pool: Pool
) -> None:
    limit = Spacing.of("m", Pace(rpm=6))
    assert await wait(store, limit) == 0
    first = await wait(store, limit, call=True)
    assert first == pytest.approx(62 / 6)
    store.now = NOW + timedelta(seconds=4)
    assert await wait(store, limit, call=True) == pytest.approx(first - 4), "it asks again too early"
    assert await wait(store, limit) == pytest.approx(2 * first - 4), "others queue behind it"
    store.now = NOW + timedelta(seconds=first + 1)
    assert await wait(store, limit, call=True) == 0
    assert await wait(store, limit, call=True) > 0
    assert await pool.fetchval("select paced_ms from calls where key = $1", CALL[1]) > 1_000 * first


async def test_a_slot_that_was_missed_is_replaced(store: PacingStore) -> None:
    limit = Spacing.of("m", Pace(rpm=6))
    await wait(store, limit)
    slot = await wait(store, limit, call=True)
    await wait(store, limit)
    store.now = NOW + timedelta(seconds=slot + SLACK_S + 1)
    assert await wait(store, limit, call=True) > 0, "the requests after it have their slots already"


async def test_a_request_counts_against_all_of_its_limits_or_none(store: PacingStore) -> None:
    own, shared = Spacing.of("openai/a", Pace(rpm=60)), Spacing.of("openai/*", Pace(rpm=6))
    assert await wait(store, own, shared) == 0
    assert await store.wait_s((own, shared), 1, 5) is None, "too far away: nothing is reserved"
    assert await wait(store, own) < 2
    assert await wait(store, shared) == pytest.approx(62 / 6)


async def test_a_pause_holds_for_all_requests_of_the_model_and_for_slots_within_it(store: PacingStore) -> None:
    limit = Spacing.of("m", Pace(rpm=6))
    await wait(store, limit)
    slot = await wait(store, limit, call=True)
    await store.pause("m", 30)
    await store.pause("m", 20)
    store.now = NOW + timedelta(seconds=slot)
    assert await wait(store, limit, call=True) >= 30 - slot
    assert await wait(store, Spacing("m")) >= 30 - slot
    assert await wait(store, Spacing("other")) == 0
