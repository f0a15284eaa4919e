"""Admission: one key, one plan, one hold."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from purser.activities.calls.admission import Admission
from purser.activities.calls.ladder import CallLadder
from purser.activities.calls.room import CallRoom
from purser.activities.calls.window_extras import WindowExtras
from purser.activities.models.metrics import ignore_verdict
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls.calls import Calls
from purser.activities.postgres.calls.outputs import Outputs
from purser.activities.postgres.tasks import Tasks
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.agent_context import AgentContexts
from purser.activities.tasks.file import TaskFile
from purser.budget.errors import HoldClosed
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.learned_holds import AHEAD
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path, Scope
from purser.budget.usage import Usage
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.tokens import count_request, count_text
from purser.context.windows import render
from purser.context.windows.plans import WindowPlan
from purser.workflows.contract import AdmitInput, AgentRef, Plan
from tests.support.actors import TESTER
from tests.support.context.conversations import parts, talk

TENANT = "acme"
AGENT = AgentRef(TENANT, "t1", "a")


@pytest.fixture
async def admission(pool: Pool) -> Admission:
    """The gate of a task of one agent."""
    settings, ledger_settings = ActivitySettings(), LedgerSettings(backpressure=())
    agents, conversations, prices = Agents(pool), Conversations(pool), PriceBook.load()
    policies = Policies(pool, ledger_settings)
    contexts = AgentContexts(agents, conversations, Calibrations(pool), PersonalSettings(pool), prices, settings)
    room = CallRoom(policies, prices, settings)
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
        agent_contexts=contexts,
        agents=agents,
        calls=Calls(pool),
        outputs=Outputs(pool),
        conversations=conversations,
        room=room,
        ladder=CallLadder(contexts, room, AsyncMock(return_value=True)),
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
        on_verdict=ignore_verdict,
        on_window=Mock(),
        on_step=Mock(),
    )


async def limit(admission: Admission, scope: str, **patch: Any) -> None:
    await admission.room.policies.set(TENANT, Scope.parse(scope), PolicyPatch.parse(patch), by=TESTER)


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


async def test_what_a_crash_leaves_between_hold_and_call_is_one_hold(
    admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*_: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as crashing:
        crashing.setattr(Calls, "held", crash)
        with pytest.raises(ConnectionError):
            await admission.admit(AdmitInput(AGENT, "k1", 1))
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    [budget] = await admission.room.policies.budgets_of(TENANT, [Scope.parse("session:s1")])
    [stored] = await admission.calls.of_task(TENANT, "t1")
    assert (budget.held.tokens, stored.hold_id) == (answer.tokens, answer.hold_id)


async def test_other_calls_get_their_holds_while_a_call_is_stored(
    admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing, stored = asyncio.Event(), asyncio.Event()

    async def store(*_: object) -> None:
        storing.set()
        await stored.wait()

    monkeypatch.setattr(Calls, "held", store)
    first = asyncio.create_task(admission.admit(AdmitInput(AGENT, "k1", 1)))
    await storing.wait()
    try:
        second = await admission.ledger.hold(TENANT, HoldRequest("k2", Path.parse(["session:s1"]), Amount(1)))
    finally:
        stored.set()
    assert second.hold_id
    assert (await first).hold_id


async def test_memory_brings_back_the_session_and_the_agents_own_steps_but_not_what_siblings_write(
    admission: Admission,
) -> None:
    await admission.conversations.append(
        TENANT,
        "s2",
        [Message("user", f"The key number {n} hangs behind the blue door.") for n in range(16)],
        origin="old",
    )
    agents = [{"id": one, "model": "gpt-4o", "instructions": "Be brief."} for one in "ab"]
    context = {"max_tokens": 300, "primers_count": 0, "trigger_ratio": 1.0}
    body = {"session_id": "s2", "task_id": "t2", "input": "Which key number hangs there?", "agents": agents}
    tasks = Tasks(admission.pool, admission.room.policies, admission.conversations)
    await tasks.submit(TENANT, TaskFile.parse({**body, "context": context}, ()), "ann")
    for thread in ("t2/a", "t2/b"):
        said = [Message("assistant", f"The key number {n} hangs here, says {thread}.") for n in range(24)]
        await admission.conversations.append(TENANT, "s2", said, origin=thread, thread=thread)
    await admission.admit(AdmitInput(AgentRef(TENANT, "t2", "a"), "k1", 1, may_compress=False))
    plan = (await admission.calls.get(AgentRef(TENANT, "t2", "a"), "k1")).plan
    assert plan.memory is not None
    found = await admission.conversations.read(TENANT, "s2", [seq for _, seq in plan.memory.found])
    assert {one.thread for one in found.values()} == {"", "t2/a"}
    assert plan.memory.tokens <= plan.memory.most_tokens <= 300 // 4


async def submit_after(admission: Admission, said: Mapping[str, Sequence[Message]], **more: Any) -> AgentRef:
    """An agent `a` of a task in a session with these messages, by their origin."""
    for origin, messages in said.items():
        await admission.conversations.append(TENANT, "s2", messages, origin=origin)
    agents = [{"id": "a", "model": "gpt-4o", "instructions": "Be brief.", "max_output_tokens": 300}]
    body = {"session_id": "s2", "task_id": "t2", "input": "Well?", "agents": agents, **more}
    tasks = Tasks(admission.pool, admission.room.policies, admission.conversations)
    await tasks.submit(TENANT, TaskFile.parse(body, ()), "ann")
    return AgentRef(TENANT, "t2", "a")


async def planned(admission: Admission, agent: AgentRef, key: str) -> WindowPlan:
    """The window of a call of the agent."""
    await admission.admit(AdmitInput(agent, key, 1, may_compress=False))
    return (await admission.calls.get(agent, key)).plan


async def test_what_others_say_and_summarize_meanwhile_changes_no_window_until_it_would_drop_messages(
    admission: Admission,
) -> None:
    agent = await submit_after(
        admission, {"old": talk(30)}, context={"history_window_size": 50, "primers_count": 3, "recents_count": 5}
    )
    before = await planned(admission, agent, "k1")
    assert before.session.seqs == tuple(range(1, 31))
    await admission.conversations.append(TENANT, "s2", talk(60), origin="of others")
    later = Summary(1, 4, 70, "Others said much.", Method.EXTRACTIVE, str(uuid.uuid4()), 900, 20, "digest")
    assert await Summaries(admission.pool).store(TENANT, "s2", "", later)
    assert (await planned(admission, agent, "k2")).session == before.session
    await limit(admission, "agent:t2/a", limit_tokens=3 * (before.prompt_tokens + 300) - 100, mode="hard")
    cut = await planned(admission, agent, "k3")
    assert cut.session.summary is not None
    assert (cut.session.summary.version, cut.session.seqs, cut.session.dropped) == (1, (1, 2, 3), ())


async def test_replies_of_other_agents_in_the_session_say_whose_they_are_and_the_agents_own_do_not(
    admission: Admission,
) -> None:
    said = {
        "task:t0:input": [Message("user", "Is it safe?")],
        "task:t0:replies": [
            Message("assistant", f"So says {name}.", name=name) for name in ("optimist", "a", "critic")
        ],
        "http:1": [Message("assistant", "Hello.", name="Luna"), Message("assistant", "Welcome.")],
    }
    agent = await submit_after(admission, said)
    plan = await planned(admission, agent, "k1")
    assert plan.session.lines == ((2, "[reply of the agent optimist:]"), (4, "[reply of the agent critic:]"))
    assert WindowPlan.from_json(plan.to_json()) == plan
    stored = await admission.conversations.read(TENANT, "s2", plan.seqs)
    shown = render(plan, stored, {}, "Be brief.", count=lambda text: count_text(text, "gpt-4o").tokens)
    assert [(one["role"], one["content"]) for one in shown[1:-1]] == [
        ("user", "Is it safe?"),
        ("assistant", parts("[reply of the agent optimist:]", "So says optimist.")),
        ("assistant", "So says a."),
        ("assistant", parts("[reply of the agent critic:]", "So says critic.")),
        ("assistant", "Hello."),
        ("assistant", "Welcome."),
    ]
    assert count_request(shown, (), "gpt-4o").tokens == plan.prompt_tokens


async def seen(admission: Admission, *tokens: int) -> None:
    """What replies of the agent needed."""
    async with admission.pool.acquire() as connection, connection.transaction():
        for one in tokens:
            await admission.outputs.add(TENANT, "a", "gpt-4o", one, connection)


async def test_a_learned_hold_covers_a_quantile_of_what_the_agent_used_before(admission: Admission) -> None:
    await limit(admission, "agent:t1/a", learned_holds=0.9)
    await seen(admission, *range(300, 490, 10))
    first = await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert first.tokens == call.plan.prompt_tokens + 1_000, "19 replies are too few"
    await seen(admission, 490)
    second = await admission.admit(AdmitInput(AGENT, "k2", 2))
    call = await admission.calls.get(AGENT, "k2")
    # The 18th of 20 replies, and what is still held when it would be topped up.
    assert second.tokens == call.plan.prompt_tokens + 470 + AHEAD
    assert second.nano_usd == call.plan.prompt_tokens * 2_500 + (470 + AHEAD) * 10_000
    assert (call.prompt_tokens, call.request_cap) == (call.plan.prompt_tokens, 1_000)
    await seen(admission, *[10] * 64)
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).tokens == first.tokens, "an ask that is repeated"
    third = await admission.admit(AdmitInput(AGENT, "k3", 3))
    assert third.tokens == call.plan.prompt_tokens + 256, "the least output"


async def test_without_learning_the_whole_cap_is_held_whatever_was_used_before(admission: Admission) -> None:
    await limit(admission, "agent:t1/a", learned_holds=0)
    await seen(admission, *[10] * 64)
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert answer.tokens == (await admission.calls.get(AGENT, "k1")).plan.prompt_tokens + 1_000


async def test_a_learned_hold_of_which_only_a_part_fits_has_no_room_to_grow(admission: Admission) -> None:
    await limit(admission, "agent:t1/a", learned_holds=0.9)
    await seen(admission, *[500] * 20)
    whole = await admission.admit(AdmitInput(AGENT, "k1", 1))
    prompt = (await admission.calls.get(AGENT, "k1")).prompt_tokens
    await limit(admission, "task:t1", limit_tokens=whole.tokens + prompt + 300, mode="hard")
    part = await admission.admit(AdmitInput(AGENT, "k2", 2))
    assert (part.tokens, (await admission.calls.get(AGENT, "k2")).request_cap) == (prompt + 300, 300)


async def test_what_the_provider_reported_for_the_last_call_is_not_estimated_again(
    admission: Admission, pool: Pool
) -> None:
    body = {
        "session_id": "s1",
        "task_id": "t2",
        "input": "Hello.",
        "agents": [
            {"id": "a", "model": "claude-sonnet-4-5", "instructions": "Be brief. " * 200, "max_output_tokens": 500}
        ],
    }
    await Tasks(pool, admission.room.policies, admission.conversations).submit(TENANT, TaskFile.parse(body, ()), "ann")
    agent = AgentRef(TENANT, "t2", "a")
    first = await admission.admit(AdmitInput(agent, "k1", 1))
    counted = (await admission.calls.get(agent, "k1")).plan.prompt_tokens
    assert first.tokens == counted + 500, "nothing is known yet"
    reported = counted * 9 // 10
    for usage, known in ((Usage(input=reported - 300, cache_read=300), True), (Usage(unsplit=reported), False)):
        await pool.execute("update calls set usage = $1 where key = 'k1'", usage.to_dict())
        said = [Message("assistant", f"Sentence {known}. " * 20)]
        await admission.conversations.append(TENANT, "s1", said, origin=f"{known}", thread="t2/a")
        answer = await admission.admit(AdmitInput(agent, f"k-{known}", 2))
        grown = (await admission.calls.get(agent, f"k-{known}")).plan.prompt_tokens - counted
        assert grown > 0
        assert answer.tokens == (reported if known else counted) + grown + 500


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
    await admission.room.policies.set(
        TENANT, Scope.parse("session:s1"), PolicyPatch(), clear=["limit_nano_usd"], by=TESTER
    )
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


async def test_an_admission_repeated_after_its_hold_has_ended_says_so_however_long_its_delay(
    admission: Admission, pool: Pool
) -> None:
    await limit(admission, "task:t1", limit_tokens=10, backpressure=[["1.00", 300_000]])
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    await admission.ledger.release(TENANT, hold_id=answer.hold_id)
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).hold_id == answer.hold_id
    assert await pool.fetchval("select count(*) from holds where state = 'held'") == 0


async def test_an_admission_that_comes_after_its_key_was_closed_holds_nothing(admission: Admission, pool: Pool) -> None:
    await admission.ledger.release(TENANT, key="k1")
    with pytest.raises(HoldClosed):
        await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert await pool.fetchval("select count(*) from holds where state = 'held'") == 0


async def test_the_model_is_told_last_what_is_left_for_it_alone(admission: Admission) -> None:
    """The line is stored with the call, so that a retry shows it again whatever was spent meanwhile."""
    for scope, tokens in (("tenant:acme", 777_777), ("session:s1", 77_777), ("agent:t3/a", 10_000)):
        await limit(admission, scope, limit_tokens=tokens, mode="hard")
    body = {
        "session_id": "s1",
        "task_id": "t3",
        "input": "Hello.",
        "context": {"budget_line": True},
        "agents": [{"id": "a", "model": "gpt-4o", "instructions": "Be brief.", "max_output_tokens": 1_000}],
    }
    await Tasks(admission.pool, admission.room.policies, admission.conversations).submit(
        TENANT, TaskFile.parse(body, ()), "ann"
    )
    agent = AgentRef(TENANT, "t3", "a")
    first = await admission.admit(AdmitInput(agent, "k1", 1))
    call = await admission.calls.get(agent, "k1")
    assert call.plan.closing.startswith("Budget left, at least: 10,000 of 10,000 tokens for you; 200,000 of 200,000")
    assert "777" not in call.plan.closing
    await admission.ledger.settle(TENANT, first.hold_id, 1, Report(Usage(input=900), 0))
    await admission.admit(AdmitInput(agent, "k2", 2))
    assert "9,000 of 10,000" in (await admission.calls.get(agent, "k2")).plan.closing
    assert (await admission.calls.get(agent, "k1")).plan.closing == call.plan.closing
