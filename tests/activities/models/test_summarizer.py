"""A model that writes summaries: under a hold of its own, on redacted text, and never in anybody's way."""

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.compose.demo.provider import Fault, FaultKind, serve_provider
from tests.support.compressing import AGENT, NO_PRICES, SESSION, SUMMARY, Room, request
from tests.support.conversations import talk, user

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")


async def test_a_model_writes_under_a_hold_of_its_own_on_the_agents_path(room: Room) -> None:
    room.answer(SUMMARY)
    found = await room.activity(model=True).compress_context(request())
    assert found.method == "model"
    [row] = await room.versions()
    assert (row["layers"][0]["text"], row["model"], row["key"]) == (SUMMARY, "openai/writer", "k1")
    assert SUMMARY in row["text"]
    assert (row["prompt_version"], row["language"], row["trigger"]) == ("2", "en", "request")
    assert row["fidelity"] > 0.1
    assert room.told("compressions") == {"request/model": 1}
    assert room.told("compression_fallbacks") == {}
    [served] = room.provider.served()
    assert served.arrival.request_id == f"{row['hold_id']}-1"
    assert served.charged_tokens > 3_000
    for scope in (SESSION, "task:t1", AGENT):
        assert await room.books.balance(scope) == {"spent": served.charged_tokens}
    assert (await room.books.money())["spent"] > 0
    assert await room.pool.fetchval("select key from holds") == "k1"


async def test_only_redacted_text_leaves_and_comes_back(pool: Pool) -> None:
    async with serve_provider(keep_text=True) as provider:
        room = Room.on(pool, provider)
        await room.say(*talk(100), user("Write to anna.berg@example.com."), *talk(100))
        room.answer(f"{SUMMARY}\nWrite to anna.berg@example.com or bob@example.com.")
        await room.activity(model=True).compress_context(request())
        sent = provider.served()[0].arrival.text
    [row] = await room.versions()
    assert sent is not None
    assert "[EMAIL_1]" in sent
    assert "anna.berg" not in sent
    assert "Write to [EMAIL_1] or [EMAIL_2]." in row["text"]


async def test_where_the_budget_refuses_sentences_stand_in_and_nobody_is_asked(room: Room) -> None:
    await room.books.budget(AGENT, limit_tokens=2_000, mode="hard")
    found = await room.activity(model=True).compress_context(request())
    assert found.method == "extractive"
    assert room.provider.served() == ()
    assert await room.books.balance() == {}


@pytest.mark.parametrize("mode", ["approval", "hard"])
async def test_a_summary_neither_waits_nor_asks(room: Room, mode: str) -> None:
    await room.books.budget(SESSION, limit_tokens=20_000, mode=mode)
    await room.books.hold("other", 19_000)
    assert (await room.activity(model=True).compress_context(request())).method == "extractive"
    assert await room.pool.fetchval("select count(*) from waiters") == 0
    assert await room.pool.fetchval("select count(*) from approvals") == 0


async def test_a_model_without_a_price_is_asked_only_where_nothing_limits_money(room: Room) -> None:
    room.answer(SUMMARY)
    await room.books.budget(SESSION, limit_nano_usd=10**12, mode="hard")
    activity = room.activity(model=True, prices=NO_PRICES)
    assert (await activity.compress_context(request("k1"))).method == "extractive"
    await room.books.budget(SESSION, clear=["limit_nano_usd"])
    await room.say(*talk(60))
    assert (await activity.compress_context(request("k2"))).method == "model"


@pytest.mark.parametrize(
    "text",
    ["", "Error: overloaded", "I'm sorry, I can't do that.", "word " * 3_000],
    ids=["nothing", "an error", "a refusal", "too much"],
)
async def test_what_is_no_summary_is_paid_for_and_not_stored(room: Room, text: str) -> None:
    room.answer(text)
    found = await room.activity(model=True).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    [served] = room.provider.served()
    assert await room.books.balance() == {"spent": served.charged_tokens}
    assert await room.open_holds() == 0
    [row] = await room.versions()
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
async def test_a_model_that_fails_does_not_block(room: Room, kind: FaultKind, after: int | None, charged: str) -> None:
    room.answer(SUMMARY, chunks=4)
    room.provider.control.add_fault(Fault(kind=kind, after_chunks=after))
    found = await room.activity(model=True, timeout_s=2).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert await room.open_holds() == 0
    assert await room.attempts() == [(1, "presumed" if charged == "presumed" else "reported")]
    assert bool(await room.books.balance()) == (charged == "presumed")
