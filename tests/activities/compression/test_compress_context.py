"""`compress_context` on a real Postgres, with a real ledger and a real provider over HTTP."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from purser.budget.errors import InvalidRequest, LedgerUnavailable
from purser.budget.postgres.connections.pools import Connection, create_pool
from purser.context.compression.layers import Layer, Level
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.settings import ContextSettings
from purser.workflows.contract import CompressResult
from tests.support.context.compressing import MODEL, SUMMARY, TENANT, CompressionHarness, request
from tests.support.context.conversations import assistant, calling, result, talk, user
from tests.support.ledger import meet
from tests.support.world import eventually

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

# --- without a model -------------------------------------------------------------------------------------------------


async def test_a_session_of_200_messages_is_compressed_without_a_model(harness: CompressionHarness) -> None:
    found = await harness.activity().compress_context(request())
    assert (found.version, found.first_seq, found.last_seq) == (1, 4, 180)
    assert found.method == "extractive"
    assert 0 < found.tokens_after <= found.tokens_before // 4
    [row] = await harness.versions()
    assert (row["first_seq"], row["last_seq"], row["method"], row["model"]) == (4, 180, "extractive", None)
    assert "order 1" in row["text"]
    assert (await harness.books.rows())["holds"] == 0, "no model is called, so nothing is held"


async def test_the_next_prompt_contains_the_summary_also_after_a_restart(harness: CompressionHarness, dsn: str) -> None:
    await harness.activity().compress_context(request())
    async with await create_pool(dsn) as pool:
        prompt = await CompressionHarness.on(pool, harness.provider).prompt()
    [row] = await harness.versions()
    assert len(prompt) == 1 + 1 + 3 + 20 + 1
    assert prompt[1]["role"] == "user"
    assert prompt[1]["content"].startswith("Summary of messages 4 to 180 ")
    assert row["text"] in prompt[1]["content"]
    assert [one["content"] for one in prompt[2:-1]] == [one.text for one in (*talk(3), *talk(200)[-20:])]


async def test_a_compression_for_an_agent_covers_of_the_session_only_what_its_windows_show(
    harness: CompressionHarness,
) -> None:
    found = await harness.activity(upto=100).compress_context(request())
    assert (found.version, found.first_seq, found.last_seq) == (1, 4, 80)
    await harness.activity().compress_context(request("k2"))
    later = await harness.activity(upto=100).compress_context(request("k3"))
    assert (later.version, later.reason) == (0, "nothing_to_cover"), "another one has covered what came later"


async def test_the_next_version_covers_everything_that_the_last_one_did(harness: CompressionHarness) -> None:
    await harness.activity().compress_context(request("k1"))
    await harness.say(*talk(60))
    found = await harness.activity().compress_context(request("k2"))
    assert (found.version, found.first_seq, found.last_seq) == (2, 4, 240)
    first, second = await harness.versions()
    assert set(first["text"].splitlines()) & set(second["text"].splitlines())
    assert len(await harness.prompt()) == 1 + 1 + 3 + 20 + 1


async def test_the_newest_user_message_is_summarized_once_a_newer_one_follows(harness: CompressionHarness) -> None:
    [question] = await harness.say(user("Please note that order 7777 goes to Newport on May 9."))
    await harness.say(*(assistant("I am still looking for it in all the records that I have.") for _ in range(50)))
    await harness.activity().compress_context(request("k1"))
    await harness.say(*talk(60))
    await harness.activity().compress_context(request("k2"))
    first, second = await harness.versions()
    assert first["first_seq"] < question < first["last_seq"]
    assert (first["passed"], second["passed"]) == ([question], [])
    conversation = await harness.conversations.conversation(TENANT, "s1", model=MODEL)
    assert question not in [seq for one in conversation.groups for seq in one.seqs]
    assert first["tokens_before"] > first["tokens_after"]


async def test_facts_of_primers_are_not_stated_again(harness: CompressionHarness) -> None:
    await harness.activity().compress_context(replace(request(), budget_tokens=8_000))
    [row] = await harness.versions()
    stated = [int(seq) for seq in re.findall(r"^(\d+) user: ", row["text"], re.MULTILINE)]
    assert stated
    assert min(stated) >= row["first_seq"] == 4


async def test_where_nothing_gains_nothing_is_stored(harness: CompressionHarness) -> None:
    await harness.activity().compress_context(request("k1"))
    for key, thread in (("k2", ""), ("k3", "t1/a1")):
        found = await harness.activity().compress_context(request(key, thread))
        assert found == CompressResult(version=0, reason="nothing_to_cover")
    assert len(await harness.versions()) == 1


async def test_a_negative_budget_is_refused(harness: CompressionHarness) -> None:
    with pytest.raises(InvalidRequest, match="budget_tokens -1 is not valid"):
        await harness.activity().compress_context(request(budget_tokens=-1))
    assert await harness.versions() == []


async def test_an_unknown_session_has_nothing_to_cover(harness: CompressionHarness) -> None:
    found = await harness.activity().compress_context(replace(request(), session_id="nobody"))
    assert found.reason == "nothing_to_cover"


async def test_the_agents_own_thread_is_compressed_apart_and_keeps_calls_with_their_results(
    harness: CompressionHarness,
) -> None:
    for step in range(30):
        names = [f"c{step}-{place}" for place in range(1 + step % 3)]
        await harness.say(calling(*names), *(result(name, f"record {step} " * 20) for name in names), thread="t1/a1")
    found = await harness.activity(settings=ContextSettings(primers_count=2)).compress_context(request("k1", "t1/a1"))
    assert found.version == 1
    prompt = await harness.prompt()
    asked: set[str] = set()
    for message in prompt:
        assert not asked or message["role"] == "tool", "results follow their call at once"
        asked |= {call["id"] for call in message.get("tool_calls", ())}
        asked -= {message.get("tool_call_id", "")}
    assert not asked
    assert len([one for one in prompt if "Summary of messages" in str(one["content"])]) == 1


async def test_a_tool_message_that_names_no_call_does_not_keep_its_session_from_being_compressed(
    harness: CompressionHarness,
) -> None:
    log = Message("tool", "Ticket T-4711 was closed on May 3.", name="tracker")
    await harness.say(log, *talk(60))
    found = await harness.activity().compress_context(request())
    assert (found.version, found.reason) == (1, "")


async def test_a_given_budget_sets_the_target(harness: CompressionHarness) -> None:
    found = await harness.activity().compress_context(replace(request(), budget_tokens=1_000))
    conversation = await harness.conversations.conversation(TENANT, "s1", model=MODEL)
    assert found.last_seq > 180, "recents give way"
    assert conversation.tokens <= 375


async def test_text_is_redacted_before_it_is_stored(harness: CompressionHarness) -> None:
    await harness.say(user("Write to anna.berg@example.com about order 7777 of May 3."), *talk(30))
    await harness.activity().compress_context(request())
    [row] = await harness.versions()
    stored = f"{row['text']} {row['layers']} {await harness.pool.fetch('select * from facts')}"
    assert "[EMAIL_1]" in stored
    assert "anna.berg" not in stored
    assert harness.counter("redactions") == {"EMAIL": 1}


# --- once and only once ----------------------------------------------------------------------------------------------


async def test_an_attempt_after_the_commit_returns_the_stored_version_without_asking_the_model(
    harness: CompressionHarness,
) -> None:
    harness.answer(SUMMARY)
    first = await harness.activity(model=True).compress_context(request())
    await harness.say(*talk(60))
    assert await harness.summaries.claim(TENANT, "s1", "", "other", 60), "a running compression does not block it"
    assert await harness.activity(model=True).compress_context(request()) == first
    await harness.summaries.unclaim(TENANT, "s1", "", "other")
    assert len(harness.provider.served()) == 1
    assert len(await harness.versions()) == 1


async def test_of_two_compressions_at_once_one_runs(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    harness.provider.control.hold()
    first = asyncio.create_task(harness.activity(model=True).compress_context(request("k1")))
    await harness.provider.control.wait_held()
    assert await harness.activity(model=True).compress_context(request("k2")) == CompressResult(
        version=0, reason="busy"
    )
    harness.provider.control.continue_held()
    assert (await first).version == 1
    assert len(harness.provider.served()) == 1


async def test_ten_compressions_at_once_store_one_version(harness: CompressionHarness) -> None:
    found = await asyncio.gather(*(harness.activity().compress_context(request(f"k{one}")) for one in range(10)))
    assert [one["version"] for one in await harness.versions()] == [1]
    assert [one.version for one in found].count(1) == 1
    assert {one.reason for one in found if one.version == 0} <= {"busy", "nothing_to_cover"}


async def test_a_claim_that_lapsed_costs_a_call_but_never_a_version(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    harness.provider.control.hold(times=2)
    slow = asyncio.create_task(harness.activity(model=True).compress_context(request("k1")))
    await harness.provider.control.wait_held(1)
    await harness.pool.execute("update compressions set expires_at = now() - interval '1 second'")
    quick = asyncio.create_task(harness.activity(model=True).compress_context(request("k2")))
    await harness.provider.control.wait_held(2)
    harness.provider.control.continue_held()
    found = await asyncio.gather(slow, quick)
    assert sorted(one.version for one in found) == [0, 1]
    assert [one["version"] for one in await harness.versions()] == [1]
    charged = sum(served.charged_tokens for served in harness.provider.served())
    assert await harness.books.balance() == {"spent": charged}, "both calls were paid for"


async def test_a_compression_that_is_overtaken_while_it_reads_does_not_ask_the_model(
    harness: CompressionHarness,
) -> None:
    harness.answer(SUMMARY)
    await harness.pool.execute("update messages set tokens = '{}'")
    other = Summary(
        1, 4, 100, "what was said", Method.EXTRACTIVE, "k1", 900, 100, "digest",
        layers=(Layer(Level.LEAF, 4, 100, 97, "what was said"),), source_characters=4_000,
    )  # fmt: skip

    async def store(connection: Connection) -> None:
        # A conversation that was never counted is counted when it is read, and waits here to write that down.
        await connection.execute("select from messages for update")
        assert await harness.summaries.store(TENANT, "s1", "", other, connection)

    found = await meet(harness.pool, store, lambda: harness.activity(model=True).compress_context(request("k2")))
    assert found == CompressResult(version=0, reason="busy")
    assert harness.provider.served() == ()
    assert [one["version"] for one in await harness.versions()] == [1]


async def test_a_compression_renews_its_claim_while_the_model_writes(
    harness: CompressionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.activities.compress_context.LEASE_S", 1)
    harness.provider.control.hold()
    running = asyncio.create_task(harness.activity(model=True).compress_context(request()))
    await harness.provider.control.wait_held()
    claimed = await harness.pool.fetchval("select expires_at from compressions")
    await eventually(lambda: harness.pool.fetchval("select true from compressions where expires_at > $1", claimed))
    harness.provider.control.continue_held()
    await running


async def test_what_is_said_while_a_model_writes_stays_verbatim(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    harness.provider.control.hold()
    running = asyncio.create_task(harness.activity(model=True).compress_context(request()))
    await harness.provider.control.wait_held()
    await asyncio.gather(*(harness.say(user(f"meanwhile {one}")) for one in range(50)))
    harness.provider.control.continue_held()
    found = await running
    conversation = await harness.conversations.conversation(TENANT, "s1", model=MODEL)
    verbatim = {ref.seq for ref in conversation.messages}
    covered = set(range(found.first_seq, found.last_seq + 1))
    assert not verbatim & covered
    assert verbatim | covered == set(range(1, 251))
    stored = await harness.conversations.read(TENANT, "s1", sorted(verbatim))
    assert sum(_is_new(one) for one in stored.values()) == 50


def _is_new(stored: StoredMessage) -> bool:
    return stored.message.text.startswith("meanwhile ")


async def test_no_transaction_is_open_while_a_model_writes(harness: CompressionHarness) -> None:
    harness.provider.control.hold()
    running = asyncio.create_task(harness.activity(model=True).compress_context(request()))
    await harness.provider.control.wait_held()
    in_transaction = (
        "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'"
    )
    assert await harness.pool.fetchval(in_transaction) == 0
    harness.provider.control.continue_held()
    await running


async def test_a_worker_that_dies_while_the_model_writes_leaves_it_to_the_next(
    harness: CompressionHarness, dsn: str
) -> None:
    harness.answer(SUMMARY)
    harness.provider.control.hold()
    dying = await create_pool(dsn)
    first = asyncio.create_task(
        CompressionHarness.on(dying, harness.provider).activity(model=True).compress_context(request())
    )
    await harness.provider.control.wait_held()
    # What a killed process does: connections end, nothing is tidied up.
    dying.terminate()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert await harness.versions() == []
    found = await harness.activity(model=True).compress_context(request())
    assert (found.version, found.method) == (1, "model")
    assert await harness.attempts() == [(1, "presumed"), (2, "reported")]
    assert await harness.open_holds() == 0


async def test_a_cancel_while_the_model_writes_leaves_nothing_behind(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    harness.provider.control.hold()
    environment = ActivityEnvironment()
    beats: list[Any] = []
    environment.on_heartbeat = lambda *details: beats.append(details)
    running = asyncio.create_task(environment.run(harness.activity(model=True).compress_context, request()))
    await harness.provider.control.wait_held()
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert beats
    assert await harness.open_holds() == 0
    assert await harness.attempts() == [(1, "reported")], "what was produced until then is charged"
    assert await harness.versions() == []


async def test_a_key_that_was_closed_holds_nothing(harness: CompressionHarness) -> None:
    await harness.books.ledger.release(TENANT, key="k1")
    assert (await harness.activity(model=True).compress_context(request())).method == "extractive"
    assert harness.provider.served() == ()


async def test_a_key_whose_first_try_asked_for_something_else_ends_its_hold_and_asks_the_model_again(
    harness: CompressionHarness,
) -> None:
    harness.answer(SUMMARY)
    hold_id = await harness.books.hold("k1", 500)
    await harness.books.ledger.start_attempt(TENANT, hold_id)
    assert (await harness.activity(model=True).compress_context(request())).method == "model"
    assert await harness.open_holds() == 0
    assert await harness.attempts() == [(1, "presumed"), (1, "reported")]


async def test_without_the_database_nothing_is_asked(harness: CompressionHarness, dsn: str) -> None:
    pool = await create_pool(dsn)
    activity = CompressionHarness.on(pool, harness.provider).activity(model=True)
    await pool.close()
    with pytest.raises(LedgerUnavailable):
        await activity.compress_context(request())
    assert harness.provider.served() == ()
