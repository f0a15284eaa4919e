"""A model that writes summaries: under its own hold, on redacted text, without waits or approvals."""

import asyncio
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

import pytest

from purser.activities.calls.side_calls import SideCalls
from purser.activities.compression.summarizer import NotWritten, Summarizer, WrittenSummary
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.activities.pacing.limits import Pacing
from purser.activities.pacing.pace import Pace
from purser.activities.pacing.pacer import Pacer
from purser.activities.postgres.calls.pacing import PacingStore
from purser.budget.postgres.connections.pools import Connection, Pool
from purser.compose.demo.provider import Fault, FaultKind, serve_provider
from purser.context.tokens import count_request
from tests.support.context.compressing import (
    AGENT,
    CHEAP,
    NO_PRICES,
    PATH,
    SESSION,
    SUMMARY,
    TENANT,
    CompressionHarness,
    request,
)
from tests.support.context.conversations import talk, user
from tests.support.ledger import meet, no_attempts

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

MESSAGES, MOST_TOKENS = [{"role": "user", "content": "Sum up."}], 500


async def test_a_model_writes_under_a_hold_of_its_own_on_the_agents_path(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    found = await harness.activity(model=True).compress_context(request())
    assert found.method == "model"
    [row] = await harness.versions()
    assert (row["layers"][0]["text"], row["model"], row["key"]) == (SUMMARY, "openai/writer", "k1")
    assert SUMMARY in row["text"]
    assert (row["prompt_version"], row["language"], row["trigger"]) == ("2", "en", "request")
    assert row["fidelity"] > 0.1
    assert harness.counter("compressions") == {"request/model": 1}
    assert harness.counter("compression_fallbacks") == {}
    [served] = harness.provider.served()
    assert served.arrival.request_id == f"{row['hold_id']}-1"
    assert served.charged_tokens > 3_000
    for scope in (SESSION, "task:t1", AGENT):
        assert await harness.books.balance(scope) == {"spent": served.charged_tokens}
    assert (await harness.books.money())["spent"] > 0
    assert await harness.pool.fetchval("select key from holds") == "k1"


async def test_only_redacted_text_leaves_and_comes_back(pool: Pool) -> None:
    async with serve_provider(keep_text=True) as provider:
        harness = CompressionHarness.on(pool, provider)
        await harness.say(*talk(100), user("Write to anna.berg@example.com."), *talk(100))
        harness.answer(f"{SUMMARY}\nWrite to anna.berg@example.com or bob@example.com.")
        await harness.activity(model=True).compress_context(request())
        sent = provider.served()[0].arrival.text
    [row] = await harness.versions()
    assert sent is not None
    assert "[EMAIL_1]" in sent
    assert "anna.berg" not in sent
    assert "Write to [EMAIL_1] or [EMAIL_2]." in row["text"]


async def test_if_the_budget_refuses_sentences_are_extracted_and_the_model_is_not_asked(
    harness: CompressionHarness,
) -> None:
    await harness.books.budget(AGENT, limit_tokens=2_000, mode="hard")
    found = await harness.activity(model=True).compress_context(request())
    assert found.method == "extractive"
    assert harness.provider.served() == ()
    assert await harness.books.balance() == {}


@pytest.mark.parametrize("mode", ["approval", "hard"])
async def test_a_summary_neither_waits_nor_asks(harness: CompressionHarness, mode: str) -> None:
    await harness.books.budget(SESSION, limit_tokens=20_000, mode=mode)
    await harness.books.hold("other", 19_000)
    assert (await harness.activity(model=True).compress_context(request())).method == "extractive"
    assert await harness.pool.fetchval("select count(*) from waiters") == 0
    assert await harness.pool.fetchval("select count(*) from approvals") == 0


async def test_a_model_without_a_price_is_asked_only_where_nothing_limits_money(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    await harness.books.budget(SESSION, limit_nano_usd=10**12, mode="hard")
    activity = harness.activity(model=True, prices=NO_PRICES)
    assert (await activity.compress_context(request("k1"))).method == "extractive"
    await harness.books.budget(SESSION, clear=["limit_nano_usd"])
    await harness.say(*talk(60))
    assert (await activity.compress_context(request("k2"))).method == "model"


@pytest.mark.parametrize(
    "text",
    ["", "Error: overloaded", "I'm sorry, I can't do that.", "word " * 3_000],
    ids=["nothing", "an error", "a refusal", "too much"],
)
async def test_what_is_no_summary_is_paid_for_and_not_stored(harness: CompressionHarness, text: str) -> None:
    harness.answer(text)
    found = await harness.activity(model=True).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    [served] = harness.provider.served()
    assert await harness.books.balance() == {"spent": served.charged_tokens}
    assert await harness.open_holds() == 0
    [row] = await harness.versions()
    assert "order 1" in row["text"]


@pytest.mark.parametrize(
    ("kind", "after", "charged"),
    [
        (FaultKind.RATE_LIMITED, None, "nothing"),
        (FaultKind.SERVER_ERROR, None, "presumed"),
        (FaultKind.HANG, None, "presumed"),
        (FaultKind.DROP, 1, "presumed"),
    ],
)
async def test_a_model_that_fails_does_not_block(
    harness: CompressionHarness, kind: FaultKind, after: int | None, charged: str
) -> None:
    harness.answer(SUMMARY, chunks=4)
    harness.provider.control.add_fault(Fault(kind=kind, after_chunks=after))
    found = await harness.activity(model=True, timeout_s=2).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert await harness.open_holds() == 0
    assert await harness.attempts() == [(1, "presumed" if charged == "presumed" else "reported")]
    assert bool(await harness.books.balance()) == (charged == "presumed")


async def test_a_request_that_would_wait_too_long_for_its_pace_is_not_sent_and_costs_nothing(
    harness: CompressionHarness,
) -> None:
    pacing = Pacing({f"{urlsplit(harness.provider.api_base).netloc}/writer": Pace(rpm=7)}, CHEAP)
    models = ModelProvider({}, pacer=Pacer(PacingStore(harness.pool), pacing))
    await models.warm_up()
    await models.keep_pace(ModelRequest("openai/writer", (), (), 1, "", harness.provider.api_base))
    assert await write(harness, models, timeout_s=3) is NotWritten.TIMEOUT
    assert (await harness.books.balance(), await harness.open_holds(), harness.provider.served()) == ({}, 0, ())
    await harness.books.check()


async def test_a_request_that_is_cancelled_while_the_ledger_starts_its_attempt_is_not_sent_and_costs_nothing(
    harness: CompressionHarness,
) -> None:
    asked = list[asyncio.Task[Any]]()

    def begin() -> Awaitable[Any]:
        asked.append(asyncio.create_task(write(harness, ModelProvider({}))))
        return asyncio.wait(asked)

    async def cancel(_: Connection) -> None:
        asked[0].cancel()

    await meet(harness.pool, no_attempts, begin, cancel)
    assert asked[0].cancelled()
    assert (await harness.books.balance(), await harness.open_holds(), harness.provider.served()) == ({}, 0, ())
    await harness.books.check()


async def test_without_room_for_another_attempt_after_a_crash_the_model_is_not_asked(
    harness: CompressionHarness,
) -> None:
    prompt = count_request(MESSAGES, (), "openai/writer").tokens
    await harness.books.budget(AGENT, limit_tokens=prompt + MOST_TOKENS, mode="hard")
    calls = SideCalls("openai/writer", harness.books.ledger, CHEAP)
    crashed = await calls.hold(TENANT, "k1", PATH, prompt, MOST_TOKENS)
    assert crashed is not None
    await crashed.start(asyncio.sleep(0))
    assert await write(harness, ModelProvider({})) is NotWritten.REFUSED
    assert (await harness.open_holds(), harness.provider.served()) == (0, ())
    assert await harness.books.balance() == {"spent": prompt + MOST_TOKENS}
    await harness.books.check()


async def write(
    harness: CompressionHarness, models: ModelProvider, timeout_s: float = 20
) -> WrittenSummary | NotWritten:
    """Asks for a summary of one message."""
    summarizer = Summarizer(
        "openai/writer", models, harness.books.ledger, CHEAP, api_base=harness.provider.api_base, timeout_s=timeout_s
    )
    return await summarizer.write(TENANT, "k1", PATH, MESSAGES, MOST_TOKENS)
