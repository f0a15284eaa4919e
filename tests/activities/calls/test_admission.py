"""Admission: one key, one plan, one hold."""

from dataclasses import replace
from typing import Any

import pytest

from purser.activities.calls.admission import Admission
from purser.activities.calls.window_extras import WindowExtras
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls import Calls
from purser.activities.postgres.tasks import Tasks
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.agent_context import AgentContexts
from purser.activities.tasks.file import TaskFile
from purser.budget.errors import HoldClosed
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.policies import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path, Scope
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.workflows.contract import AdmitInput, AgentRef, Plan
from tests.support.actors import TESTER

TENANT = "acme"
AGENT = AgentRef(TENANT, "t1", "a")


@pytest.fixture
async def admission(pool: Pool) -> Admission:
    """The gate of a task of one agent."""
    settings, ledger_settings = ActivitySettings(), LedgerSettings(backpressure=())
    agents, conversations, prices = Agents(pool), Conversations(pool), PriceBook.load()
    policies = Policies(pool, ledger_settings)
    body = {
        "session_id": "s1",
        "task_id": "t1",
        "input": "Hello.",
        "context": {"history_window_size": 10, "primers_count": 1, "recents_count": 2},
        "agents": [{"id": "a", "model": "gpt-4o", "instructions": "Be brief.", "max_output_tokens": 1_000}],
    }
    await Tasks(pool, policies, conversations).submit(TENANT, TaskFile.parse(body, ()), "ann")
    return Admission(
        pool=pool,
        agent_contexts=AgentContexts(agents, conversations, Calibrations(pool), prices, settings),
        agents=agents,
        calls=Calls(pool),
        conversations=conversations,
        policies=policies,
        ledger=Ledger(pool, ledger_settings),
        prices=prices,
        extras=WindowExtras(
            conversations,
            Sessions(pool),
            PersonalSettings(pool),
            Memory(pool),
            memory_tokens=settings.memory_tokens,
            across_sessions=settings.memory_across_sessions,
        ),
        settings=settings,
    )


async def limit(admission: Admission, scope: str, **patch: Any) -> None:
    await admission.policies.set(TENANT, Scope.parse(scope), PolicyPatch.parse(patch), by=TESTER)


async def say(admission: Admission, count: int) -> None:
    """Grows the agent's own thread."""
    said = [Message(("assistant", "user")[n % 2], f"Sentence {n}. " * 20) for n in range(count)]
    await admission.conversations.append(TENANT, "s1", said, origin=f"say {count}", thread="t1/a")


async def test_the_hold_covers_the_prompt_and_the_declared_output(admission: Admission) -> None:
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert answer.tokens == call.plan.prompt_tokens + 1_000
    # gpt-4o: $2.50 a million tokens of input, $10 of output.
    assert answer.nano_usd == call.plan.prompt_tokens * 2_500 + 1_000 * 10_000


async def test_asking_again_under_a_key_is_for_the_same_and_adds_nothing(admission: Admission, pool: Pool) -> None:
    first = await admission.admit(AdmitInput(AGENT, "k1", 1))
    await say(admission, 3)
    assert await admission.admit(AdmitInput(AGENT, "k1", 1)) == first
    assert await pool.fetchval("select count(*) from holds") == 1
    other = await admission.admit(AdmitInput(AGENT, "k2", 2))
    assert other.tokens > first.tokens


async def test_a_plan_stays_when_its_hold_was_refused_and_is_granted_later(admission: Admission) -> None:
    await limit(admission, "task:t1", limit_tokens=10, mode="hard")
    refused = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert (refused.verdict, refused.hold_id) == ("refuse", "")
    assert refused.short is not None
    assert (refused.short.scope, refused.short.reason) == ("task:t1", "limit")
    await say(admission, 3)
    await limit(admission, "task:t1", limit_tokens=100_000)
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).tokens == refused.short.tokens


async def test_every_verdict_on_a_turn_is_reported(admission: Admission) -> None:
    verdicts: list[tuple[str, str]] = []
    watched = replace(admission, on_verdict=lambda answer: verdicts.append((answer.verdict, answer.decisive.reason)))
    await watched.admit(AdmitInput(AGENT, "k1", 1))
    await limit(admission, "task:t1", limit_tokens=10, mode="hard")
    await watched.admit(AdmitInput(AGENT, "k2", 2))
    assert verdicts == [("allow", "fits"), ("refuse", "limit")]


async def test_a_call_without_a_price_is_refused_by_the_gate_where_money_is_limited(
    admission: Admission, pool: Pool
) -> None:
    blind = replace(admission, prices=PriceBook({}, {}, None))
    await limit(admission, "session:s1", limit_tokens=5_000, mode="hard")
    await admission.ledger.hold(TENANT, HoldRequest("other", Path.parse(["session:s1"]), Amount(5_000)))
    assert (await blind.admit(AdmitInput(AGENT, "k1", 1))).verdict == "wait"
    await limit(admission, "session:s1", limit_tokens=100_000, limit_nano_usd=10**9, mode="soft")
    for key in ("k1", "k2"):
        refused = await blind.admit(AdmitInput(AGENT, key, 1))
        assert (refused.verdict, refused.hold_id) == ("refuse", "")
        assert refused.short is not None
        assert (refused.short.scope, refused.short.reason, refused.short.nano_usd) == ("session:s1", "unknown_price", 0)
    assert await pool.fetchval("select count(*) from holds where state = 'held'") == 1
    await admission.policies.set(TENANT, Scope.parse("session:s1"), PolicyPatch(), clear=["limit_nano_usd"], by=TESTER)
    assert (await blind.admit(AdmitInput(AGENT, "k2", 1))).verdict == "allow"


async def test_a_thread_past_the_soft_mark_is_compressed_in_parallel_with_the_call(admission: Admission) -> None:
    await say(admission, 30)
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert (answer.plan, answer.verdict, answer.compress_thread) == (Plan.CALL, "allow", "t1/a")
    assert answer.compress_budget > 0
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).compress_budget == answer.compress_budget
    call = await admission.calls.get(AGENT, "k1")
    assert call.plan.own.dropped == (), "all of it fits"


async def test_a_window_that_would_leave_something_out_is_compressed_before_anything_is_held(
    admission: Admission, pool: Pool
) -> None:
    await say(admission, 30)
    await limit(admission, "agent:t1/a", limit_tokens=1_500, mode="hard")
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert (answer.plan, answer.compress_thread, answer.verdict) == (Plan.COMPRESS, "t1/a", "")
    assert await pool.fetchval("select count(*) from holds") == 0
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1, may_compress=False))).plan is Plan.CALL


async def test_nothing_is_to_be_compressed_below_the_soft_mark(admission: Admission) -> None:
    await say(admission, 3)
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert (answer.plan, answer.compress_thread, answer.compress_budget) == (Plan.CALL, "", 0)


async def test_what_is_left_of_the_agents_limit_bounds_its_window(admission: Admission) -> None:
    await say(admission, 9)
    await limit(admission, "agent:t1/a", limit_tokens=600, mode="hard")
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1, may_compress=False))
    call = await admission.calls.get(AGENT, "k1")
    assert answer.tokens <= 600
    assert call.plan.own.dropped


async def test_a_delay_longer_than_the_lease_is_inside_the_lease_all_the_same(admission: Admission, pool: Pool) -> None:
    await limit(admission, "task:t1", limit_tokens=10, backpressure=[["1.00", 300_000]])
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert answer.delay_ms == 300_000
    assert await pool.fetchval("select extract(epoch from expires_at - clock_timestamp()) > 360 from holds")


async def test_an_admission_that_comes_after_its_key_was_closed_holds_nothing(admission: Admission, pool: Pool) -> None:
    await admission.ledger.release(TENANT, key="k1")
    with pytest.raises(HoldClosed):
        await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert await pool.fetchval("select count(*) from holds where state = 'held'") == 0
