"""Calibrations on a real Postgres: separate by tenant and model, without lost reports."""

import asyncio

from purser.budget.postgres.connections.pools import Pool
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.tokens.calibration import ONE, Calibration

CLAUDE = "claude-sonnet-4-5"


async def test_what_was_learned_comes_back(pool: Pool) -> None:
    calibrations = Calibrations(pool)
    learned = await calibrations.learn("acme", CLAUDE, 10_000, 12_500)
    assert learned == await calibrations.of("acme", CLAUDE) == Calibration(1_050_000, 1)


async def test_tenants_and_models_learn_from_their_own_calls_alone(pool: Pool) -> None:
    calibrations = Calibrations(pool)
    await calibrations.learn("acme", CLAUDE, 10_000, 12_500)
    assert await calibrations.of("other", CLAUDE) == Calibration()
    assert await calibrations.of("acme", "claude-opus-4-1") == Calibration()


async def test_an_exact_count_is_never_corrected(pool: Pool) -> None:
    calibrations = Calibrations(pool)
    assert await calibrations.learn("acme", "gpt-4o", 10_000, 12_500) == Calibration()
    assert await calibrations.of("acme", "gpt-4o") == Calibration()
    assert await pool.fetchval("select count(*) from token_calibrations") == 0


async def test_reports_that_come_at_once_all_count(pool: Pool) -> None:
    calibrations = Calibrations(pool)
    await asyncio.gather(*(calibrations.learn("acme", CLAUDE, 10_000, 12_000) for _ in range(40)))
    learned = await calibrations.of("acme", CLAUDE)
    assert learned.calls == 40
    assert 1.15 * ONE < learned.ratio < 1.2 * ONE
