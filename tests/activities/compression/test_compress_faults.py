"""Every failure of a summarizer: a summary is extracted instead, and the metric says why."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from purser.activities.compress_context import CompressContext, CompressionTarget
from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool
from purser.compose.demo.provider import Fault, FaultKind, Provider, serve_provider
from purser.context.compression.layers import Level
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.settings import ContextSettings
from purser.workflows.contract import CompressInput, CompressResult, Trigger
from tests.support.context.compressing import MODEL, SUMMARY, TENANT, CompressionHarness, request
from tests.support.context.conversations import talk, user

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

DULL = "The user asked for a number of things to be noted and the assistant agreed to all of them in a friendly way."
FRENCH = (
    "L'utilisateur a demandé de noter toutes les commandes et leurs destinations; l'assistant a tout noté sans jamais "
    "accepter le transport par avion. Commandes 1004 à 1060, Haven 4 à 60, dossiers F-5 à F-61."
)


# --- what is no summary ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("Error: the model is overloaded", "error_text"),
        ("## Goal\n\n## Decisions\n- none\n", "template"),
        ("order 1000 goes to Haven 0. " * 2_000, "over_target"),
        (FRENCH, "other_language"),
        (DULL, "low_fidelity"),
    ],
)
async def test_an_unfit_text_is_replaced_by_extracted_sentences(
    harness: CompressionHarness, text: str, reason: str
) -> None:
    harness.answer(text)
    found = await harness.activity(model=True).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert harness.counter("compression_fallbacks") == {reason: 1}
    assert harness.counter("compressions") == {"request/extractive": 1}
    charged = sum(served.charged_tokens for served in harness.provider.served())
    assert await harness.books.balance() == {"spent": charged}, "what was written is paid for"
    assert await harness.open_holds() == 0


@pytest.mark.parametrize(
    "text", ["I must decline to summarize this conversation.", "OK.", "Please send me the conversation."]
)
async def test_a_refusal_is_no_summary_of_small_talk(pool: Pool, provider: Provider, text: str) -> None:
    harness = CompressionHarness.on(pool, provider)
    said = [
        "pick a recipe for tonight?",
        "a lemon chicken with rice",
        "my son is allergic to peanuts",
        "then without them",
    ]
    await harness.say(*[Message("assistant" if n % 2 else "user", f"{said[n % 4]}, please") for n in range(60)])
    harness.answer(text)
    found = await harness.activity(model=True).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert harness.counter("compression_fallbacks") == {"low_fidelity": 1}


@pytest.mark.parametrize(
    ("fault", "timeout_s", "reason"),
    [
        (Fault(kind=FaultKind.HANG), 1, "timeout"),
        (Fault(kind=FaultKind.HANG, after_chunks=1), 1, "timeout"),
        (Fault(kind=FaultKind.SERVER_ERROR), 60, "no_reply"),
        (Fault(kind=FaultKind.DROP, after_chunks=1), 60, "no_reply"),
    ],
    ids=["hangs", "hangs half way", "fails", "breaks off"],
)
async def test_a_missing_reply_is_replaced_by_extracted_sentences(
    harness: CompressionHarness, fault: Fault, timeout_s: float, reason: str
) -> None:
    harness.answer(SUMMARY, chunks=4)
    harness.provider.control.add_fault(fault)
    found = await harness.activity(model=True, timeout_s=timeout_s).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert harness.counter("compression_fallbacks") == {reason: 1}
    assert await harness.open_holds() == 0


async def test_a_text_that_keeps_too_little_is_asked_for_once_more(harness: CompressionHarness) -> None:
    control = harness.provider.control
    harness.answer(DULL)
    control.hold()
    compressing = asyncio.create_task(harness.activity(model=True).compress_context(request()))
    await control.wait_held()
    harness.answer(SUMMARY)
    control.continue_held()
    found = await compressing
    assert found.method == "model"
    assert len(harness.provider.served()) == 2
    assert await harness.attempts() == [(1, "reported"), (1, "reported")], "each call has its own hold"
    [row] = await harness.versions()
    assert row["layers"][0]["text"] == SUMMARY
    assert row["fidelity"] > 0.1


async def test_what_gains_nothing_is_not_stored_and_not_tried_again_until_more_is_said(
    harness: CompressionHarness,
) -> None:
    small = ContextSettings(primers_count=0, recents_count=1)
    await harness.say(*(user("哦" * 200) for _ in range(3)), session_id="s2")
    activity = harness.activity(settings=small)
    tried = [request(f"k{n}", session_id="s2", trigger=Trigger.SOFT_MARK, budget_tokens=700) for n in range(3)]
    results = [await activity.compress_context(one) for one in tried]
    assert {(one.version, one.reason) for one in results} == {(0, "no_gain")}
    assert harness.counter("compression_failures") == {}, "a summary that would not be shorter is no failure"


async def test_what_the_user_says_next_ends_the_pause_of_compressions_that_gained_nothing(
    harness: CompressionHarness,
) -> None:
    activity = harness.activity(settings=ContextSettings(primers_count=0, recents_count=1))
    await harness.say(*(user("哦" * 200) for _ in range(3)), session_id="s2")
    tried = request("k1", session_id="s2", trigger=Trigger.SOFT_MARK, budget_tokens=700)
    assert (await activity.compress_context(tried)).reason == "no_gain"
    assert await harness.summaries.is_fruitless(TENANT, "s2", "", 2)
    await harness.say(
        *(user(f"Please ship order {number} on May 3. " + "It is urgent. " * 9) for number in range(20)),
        session_id="s2",
    )
    found = await activity.compress_context(replace(tried, key="k2"))
    assert (found.version, found.reason) == (1, "")


async def test_a_compression_that_raises_is_counted_as_failed(harness: CompressionHarness) -> None:
    async def unavailable(_: CompressInput) -> CompressionTarget:
        raise LedgerUnavailable("away")

    activity = CompressContext(
        harness.pool, unavailable, lambda name: None, Placeholders(harness.pool), harness.metrics, cooldown_s=600
    )
    with pytest.raises(LedgerUnavailable):
        await activity.compress_context(request())
    assert harness.counter("compression_failures") == {"LedgerUnavailable": 1}


# --- the pause -------------------------------------------------------------------------------------------------------


async def test_three_failures_in_a_row_start_a_pause_in_which_the_model_is_not_asked(
    harness: CompressionHarness,
) -> None:
    harness.answer("")
    activity = harness.activity(model=True)
    for number in range(5):
        found = await activity.compress_context(request(f"k{number}"))
        assert (found.version, found.method) == (number + 1, "extractive"), "sentences are still extracted"
        await harness.say(*talk(100))
    assert len(harness.provider.served()) == 3
    assert harness.counter("compression_cooldowns") == {"": 1}
    assert harness.counter("compression_fallbacks") == {"empty": 3, "cooling_down": 2}


async def test_after_the_pause_the_model_is_asked_again(harness: CompressionHarness) -> None:
    activity = harness.activity(model=True, cooldown_s=0)
    methods: list[str] = []
    for number, text in enumerate(("", "", "", SUMMARY)):
        harness.answer(text)
        methods.append((await activity.compress_context(request(f"k{number}"))).method)
        await harness.say(*talk(100))
    assert methods == ["extractive"] * 3 + ["model"]
    assert harness.counter("compression_cooldowns") == {"": 1}


async def test_a_success_in_between_starts_the_count_anew(harness: CompressionHarness) -> None:
    activity = harness.activity(model=True)
    short = "\n".join(SUMMARY.splitlines()[:15])
    for number, text in enumerate(("", "", short, "", "")):
        harness.answer(text)
        await activity.compress_context(request(f"k{number}"))
        await harness.say(*talk(100))
    assert harness.counter("compression_cooldowns") == {"": 0}
    assert len(harness.provider.served()) == 5


async def test_a_budget_that_refuses_is_no_failure_of_the_model(harness: CompressionHarness) -> None:
    await harness.books.budget("session:s1", limit_tokens=100, mode="hard")
    for number in range(4):
        await harness.activity(model=True).compress_context(request(f"k{number}"))
        await harness.say(*talk(100))
    assert harness.counter("compression_fallbacks") == {"refused": 4}
    assert harness.counter("compression_cooldowns") == {"": 0}


# --- small windows, long sessions ------------------------------------------------------------------------------------


async def test_what_is_larger_than_the_summarizers_window_goes_to_it_in_chunks(harness: CompressionHarness) -> None:
    async with serve_provider(keep_text=True) as provider:
        narrow = CompressionHarness.on(harness.pool, provider)
        narrow.answer(SUMMARY)
        found = await narrow.activity(model=True, window=3_500).compress_context(request())
        served = provider.served()
    assert found.method == "model"
    assert len(served) > 2
    assert all(one.arrival.prompt_tokens < 3_500 for one in served)
    sent = "".join(one.arrival.text or "" for one in served)
    assert all(f"order {1000 + index} goes" in sent for index in range(4, 180, 2)), "every message was sent"
    assert sent.count("order 1050 goes") == 1, "and none twice"
    assert await harness.books.balance() == {"spent": sum(one.charged_tokens for one in served)}
    [row] = await harness.versions()
    assert (row["first_seq"], row["last_seq"]) == (4, 180)


async def test_one_message_larger_than_the_window_is_cut_for_the_summarizer_only(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    [seq] = await harness.say(user("订单8842。" * 2_000))
    await harness.say(*talk(60))
    found = await harness.activity(model=True, window=5_000).compress_context(request())
    assert found.method == "model"
    assert found.last_seq > seq
    stored = await harness.conversations.read(TENANT, "s1", [seq])
    assert stored[seq].message.text == "订单8842。" * 2_000


@pytest.mark.proof
async def test_layers_of_a_very_long_session_stay_few_and_its_summary_bounded(
    harness: CompressionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.activities.compression.versions.MOST_ORIGINALS", 200)
    activity = harness.activity()
    sizes: list[int] = []
    levels: set[int] = set()
    for number in range(14):
        found = await activity.compress_context(request(f"k{number}", budget_tokens=6_000))
        sizes.append(found.tokens_after)
        await harness.say(*talk(60))
        row = (await harness.versions())[-1]
        levels |= {layer["level"] for layer in row["layers"]}
        assert [layer["first_seq"] for layer in row["layers"]] == sorted(layer["first_seq"] for layer in row["layers"])
    assert levels == {Level.LEAF, Level.SESSION}
    assert max(sizes) <= 0.375 * 6_000
    assert (row["layers"][0]["first_seq"], row["layers"][-1]["last_seq"]) == (row["first_seq"], row["last_seq"])
    covered = sum(layer["messages"] for layer in row["layers"])
    assert covered == row["last_seq"] - row["first_seq"] + 1, "each message is covered once"
    for before, after in zip(row["layers"], row["layers"][1:], strict=False):
        assert f"[messages {after['first_seq']} to {after['last_seq']}]" in row["text"]
        assert before["last_seq"] < after["first_seq"]


async def test_facts_that_the_layers_omit_are_listed_with_them(harness: CompressionHarness) -> None:
    await harness.say(user("I am allergic to peanuts. My member number is ZX-4417."), session_id="s3")
    await harness.say(*talk(120), session_id="s3")
    harness.answer(SUMMARY)
    settings = ContextSettings(primers_count=0)
    await harness.activity(model=True, settings=settings).compress_context(request("k3", session_id="s3"))
    [row] = await harness.versions()
    facts: Any = await harness.pool.fetchval("select count(*) from facts where session_id = 's3'")
    assert facts > 0
    assert "Facts, with their message:" in row["text"]


async def test_a_call_that_would_overflow_waits_for_the_compression_that_runs(harness: CompressionHarness) -> None:
    harness.answer(SUMMARY)
    harness.provider.control.hold()
    first = asyncio.create_task(harness.activity(model=True).compress_context(request("k1")))
    await harness.provider.control.wait_held()
    waiting = asyncio.create_task(
        harness.activity(model=True).compress_context(request("k2", trigger=Trigger.OVERFLOW))
    )
    await asyncio.sleep(0.3)
    assert not waiting.done()
    harness.provider.control.continue_held()
    assert (await first).version == 1
    assert await waiting == CompressResult(version=0, reason="nothing_to_cover")
    conversation = await harness.conversations.conversation(TENANT, "s1", model=MODEL)
    assert conversation.summary is not None


async def test_a_chinese_conversation_has_a_chinese_header_and_summary(harness: CompressionHarness) -> None:
    said = [
        Message(("user", "assistant")[n % 2], f"订单{2000 + n}要送到海港{n}号，五月{1 + n % 28}日，不要空运。")
        for n in range(80)
    ]
    await harness.say(*said, session_id="zh")
    harness.answer("The user wants many orders sent to the harbour in May and never by air, orders 2003 to 2060.")
    found = await harness.activity(model=True).compress_context(request("kz", session_id="zh"))
    assert found.method == "extractive"
    assert harness.counter("compression_fallbacks") == {"other_language": 1}
    [row] = await harness.versions()
    assert row["language"] == "zh"
    characters = sum(len(message.text) for message in said[row["first_seq"] - 1 : row["last_seq"]])
    summary = len(row["layers"][0]["text"])
    assert row["text"].startswith(f"[历史对话总结 - 原文{characters}字，总结{summary}字]\n")
