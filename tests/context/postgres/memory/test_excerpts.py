"""Excerpts of long threads: planning gets the same window as from the whole thread."""

import random
import uuid

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.ranges import choose_range
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.conversations import Conversation
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.windows import plan_window
from purser.context.windows.excerpts import Within
from purser.context.windows.plans import TextRef, WindowPlan
from tests.support.context.conversations import assistant, calling, result, transcript, user

TENANT, MODEL = "acme", "gpt-4o"
QUESTION = TextRef(100_000, 40)


async def summarised(pool: Pool, session: str) -> None:
    """Stores a summary of all but the newest messages of a beginning of the session."""
    conversations = Conversations(pool)
    found = await conversations.conversation(TENANT, session, model=MODEL, upto=90)
    if span := choose_range(found, ContextSettings(), 1_000):
        key = str(uuid.uuid4())
        stored = Summary(1, span.first_seq, span.last_seq, "earlier", Method.EXTRACTIVE, key, 100, 20, "digest")
        assert await Summaries(pool).store(TENANT, session, "", stored)


def plan(settings: ContextSettings, budget: int, session: Conversation) -> WindowPlan:
    own = Conversation("t/a")
    return plan_window(settings, budget=budget, system_tokens=0, session=session, question=QUESTION, own=own)


@pytest.mark.parametrize("with_summary", [False, True])
async def test_a_window_planned_from_an_excerpt_is_that_of_the_whole(pool: Pool, seed: int, with_summary: bool) -> None:
    chance, excerpts = random.Random(seed), 0
    for number in range(6):
        messages, session = transcript(chance), f"s{number}"
        await Conversations(pool).append(TENANT, session, messages, origin="o")
        if with_summary:
            await summarised(pool, session)
        conversations = Conversations(pool)
        for strategy in StrategyName:
            settings = ContextSettings(strategy=strategy)
            budget = chance.randint(800, 4_000)
            whole = await conversations.conversation(TENANT, session, model=MODEL)
            within = Within(budget, settings.primers)
            part = await conversations.conversation(TENANT, session, model=MODEL, within=within)
            excerpts += part.omitted is not None
            expected, found = plan(settings, budget, whole), plan(settings, budget, part)
            assert found.strategy == expected.strategy
            assert found.session.seqs == expected.session.seqs, (number, strategy, budget)
            assert found.session.tokens == expected.session.tokens
            assert states(found, len(messages)) == states(expected, len(messages))
    assert excerpts, "nothing was left unread"


async def test_rules_by_length_know_a_long_thread_from_its_excerpt(pool: Pool) -> None:
    newest = [user("word " * 30), assistant("word " * 30)] * 23
    crossing = [calling(*"abcd"), *[result(one, "word " * 30) for one in "abcd"]]
    messages = [*[user("word " * 30)] * 40, *crossing, *newest]
    conversations, settings, budget = Conversations(pool), ContextSettings(strategy=StrategyName.SMART_TRUNCATION), 800
    await conversations.append(TENANT, "s", messages, origin="o")
    covered = Summary(1, 1, 20, "earlier", Method.EXTRACTIVE, str(uuid.uuid4()), 100, 20, "digest")
    assert await Summaries(pool).store(TENANT, "s", "", covered)
    whole = await conversations.conversation(TENANT, "s", model=MODEL)
    for tokens in range(budget, 4_000, 50):
        part = await conversations.conversation(TENANT, "s", model=MODEL, within=Within(tokens, settings.primers))
        assert plan(settings, budget, part).session.seqs == plan(settings, budget, whole).session.seqs


async def test_a_thread_is_read_whole_if_a_call_leaves_too_few_newer_messages(pool: Pool) -> None:
    ids = [f"c{number}" for number in range(26)]
    newest = [user("word"), assistant("word")] * 20
    messages = [*[user("word")] * 100, calling(*ids), *[result(one, "word") for one in ids], *newest]
    await Conversations(pool).append(TENANT, "s", messages, origin="o")
    found = await Conversations(pool).conversation(TENANT, "s", model=MODEL, within=Within(100, 3))
    assert (found.omitted, len(found.messages)) == (None, len(messages))


def states(found: WindowPlan, last: int) -> dict[int, str]:
    """State of each message."""
    view = found.session
    fate = {seq: "dropped" for one in view.dropped for seq in range(one.first_seq, one.last_seq + 1)}
    if view.summary:
        fate |= dict.fromkeys(range(view.summary.first_seq, view.summary.last_seq + 1), "covered")
    fate |= dict.fromkeys(view.seqs, "verbatim")
    assert sorted(fate) == list(range(1, last + 1)), "a partition of the thread"
    return fate


async def test_a_thread_that_fits_is_read_whole(pool: Pool) -> None:
    conversations = Conversations(pool)
    await conversations.append(TENANT, "s", [user(f"message {number}") for number in range(200)], origin="o")
    found = await conversations.conversation(TENANT, "s", model=MODEL, within=Within(100_000, 3))
    assert (found.omitted, len(found.messages)) == (None, 200)


async def test_the_work_does_not_grow_with_the_thread(pool: Pool) -> None:
    messages = [user("word " * 100) if number % 2 == 0 else assistant("word " * 100) for number in range(1_200)]
    conversations = Conversations(pool)
    await conversations.append(TENANT, "s", messages, origin="o")
    found = await conversations.conversation(TENANT, "s", model=MODEL, within=Within(8_000, 3))
    assert len(found.messages) < 110
    assert found.omitted is not None
    assert plan(ContextSettings(), 8_000, found).compress == ""
