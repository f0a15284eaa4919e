"""A summarizer that fails, in every way: the turn goes on, and the metric says why."""

import asyncio
from typing import Any

import pytest

from purser.compose.demo.provider import Fault, FaultKind, Match, serve_provider
from purser.context.compression.layers import Level
from purser.context.conversation.messages import Message
from purser.context.settings import ContextSettings
from purser.workflows.contract import CompressResult, Trigger
from tests.support.compressing import MODEL, SUMMARY, TENANT, Room, request
from tests.support.conversations import talk, user

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
async def test_sentences_stand_in_for_what_is_no_summary(room: Room, text: str, reason: str) -> None:
    room.answer(text)
    found = await room.activity(model=True).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert room.told("compression_fallbacks") == {reason: 1}
    assert room.told("compressions") == {"request/extractive": 1}
    charged = sum(served.charged_tokens for served in room.provider.served())
    assert await room.books.balance() == {"spent": charged}, "what was written is paid for"
    assert await room.open_holds() == 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(kind=FaultKind.HANG), "timeout"),
        (Fault(kind=FaultKind.HANG, after_chunks=1), "timeout"),
        (Fault(kind=FaultKind.SERVER_ERROR), "no_reply"),
        (Fault(kind=FaultKind.DROP, after_chunks=1), "no_reply"),
    ],
    ids=["hangs", "hangs half way", "fails", "breaks off"],
)
async def test_sentences_stand_in_where_no_reply_comes(room: Room, fault: Fault, reason: str) -> None:
    room.answer(SUMMARY, chunks=4)
    room.provider.control.add_fault(fault)
    found = await room.activity(model=True, timeout_s=1).compress_context(request())
    assert (found.version, found.method) == (1, "extractive")
    assert room.told("compression_fallbacks") == {reason: 1}
    assert await room.open_holds() == 0


async def test_a_text_that_keeps_too_little_is_asked_for_once_more(room: Room) -> None:
    room.answer(SUMMARY)
    room.answer(DULL, match=Match(request_id="1-"))
    found = await room.activity(model=True).compress_context(request())
    assert found.method == "model"
    assert len(room.provider.served()) == 2
    assert await room.attempts() == [(1, "reported"), (1, "reported")], "each call has a hold of its own"
    [row] = await room.versions()
    assert row["layers"][0]["text"] == SUMMARY
    assert row["fidelity"] > 0.1


async def test_what_gains_nothing_is_not_stored_and_not_tried_again_until_more_is_said(room: Room) -> None:
    small = ContextSettings(primers_count=0, recents_count=1)
    await room.say(*(user("哦" * 200) for _ in range(3)), session_id="s2")
    activity = room.activity(settings=small)
    tried = [request(f"k{n}", session_id="s2", trigger=Trigger.SOFT_MARK, budget_tokens=700) for n in range(3)]
    results = [await activity.compress_context(one) for one in tried]
    assert {one.version for one in results} == {0}
    assert room.told("compression_failures").get("no_gain", 0) <= 1


# --- the pause -------------------------------------------------------------------------------------------------------


async def test_three_failures_in_a_row_start_a_pause_in_which_nobody_asks_the_model(room: Room) -> None:
    room.answer("")
    activity = room.activity(model=True)
    for number in range(5):
        found = await activity.compress_context(request(f"k{number}"))
        assert (found.version, found.method) == (number + 1, "extractive"), "sentences still stand in"
        await room.say(*talk(100))
    assert len(room.provider.served()) == 3
    assert room.told("compression_cooldowns") == {"": 1}
    assert room.told("compression_fallbacks") == {"empty": 3, "cooling_down": 2}


async def test_after_the_pause_the_model_is_asked_again(room: Room) -> None:
    activity = room.activity(model=True, cooldown_s=0)
    methods: list[str] = []
    for number, text in enumerate(("", "", "", SUMMARY)):
        room.answer(text)
        methods.append((await activity.compress_context(request(f"k{number}"))).method)
        await room.say(*talk(100))
    assert methods == ["extractive"] * 3 + ["model"]
    assert room.told("compression_cooldowns") == {"": 1}


async def test_a_success_in_between_starts_the_count_anew(room: Room) -> None:
    activity = room.activity(model=True)
    short = "\n".join(SUMMARY.splitlines()[:15])
    for number, text in enumerate(("", "", short, "", "")):
        room.answer(text)
        await activity.compress_context(request(f"k{number}"))
        await room.say(*talk(100))
    assert room.told("compression_cooldowns") == {"": 0}
    assert len(room.provider.served()) == 5


async def test_a_budget_that_refuses_is_no_failure_of_the_model(room: Room) -> None:
    await room.books.budget("session:s1", limit_tokens=100, mode="hard")
    for number in range(4):
        await room.activity(model=True).compress_context(request(f"k{number}"))
        await room.say(*talk(100))
    assert room.told("compression_fallbacks") == {"refused": 4}
    assert room.told("compression_cooldowns") == {"": 0}


# --- small windows, long sessions ------------------------------------------------------------------------------------


async def test_what_is_larger_than_the_summarizers_window_goes_to_it_in_chunks(room: Room) -> None:
    async with serve_provider(keep_text=True) as provider:
        narrow = Room.on(room.pool, provider)
        narrow.answer(SUMMARY)
        found = await narrow.activity(model=True, window=3_500).compress_context(request())
        served = provider.served()
    assert found.method == "model"
    assert len(served) > 2
    assert all(one.arrival.prompt_tokens < 3_500 for one in served)
    sent = "".join(one.arrival.text or "" for one in served)
    assert all(f"order {1000 + index} goes" in sent for index in range(4, 180, 2)), "every message was sent"
    assert sent.count("order 1050 goes") == 1, "and none twice"
    assert await room.books.balance() == {"spent": sum(one.charged_tokens for one in served)}
    [row] = await room.versions()
    assert (row["first_seq"], row["last_seq"]) == (4, 180)


async def test_one_message_larger_than_the_window_is_cut_for_the_summarizer_only(room: Room) -> None:
    room.answer(SUMMARY)
    [seq] = await room.say(user("订单8842。" * 2_000))
    await room.say(*talk(60))
    found = await room.activity(model=True, window=5_000).compress_context(request())
    assert found.method == "model"
    assert found.last_seq > seq
    stored = await room.conversations.read(TENANT, "s1", [seq])
    assert stored[seq].message.text == "订单8842。" * 2_000


async def test_layers_of_a_very_long_session_stay_few_and_its_summary_bounded(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.context.compression.layers.LEAF_MESSAGES", 60)
    activity = room.activity()
    sizes: list[int] = []
    levels: set[int] = set()
    for number in range(30):
        found = await activity.compress_context(request(f"k{number}", budget_tokens=6_000))
        sizes.append(found.tokens_after)
        await room.say(*talk(60))
        row = (await room.versions())[-1]
        levels |= {layer["level"] for layer in row["layers"]}
        assert [layer["first_seq"] for layer in row["layers"]] == sorted(layer["first_seq"] for layer in row["layers"])
    assert levels == {Level.LEAF, Level.SECTION, Level.SESSION}
    assert max(sizes) <= 0.375 * 6_000
    assert (row["layers"][0]["first_seq"], row["layers"][-1]["last_seq"]) == (row["first_seq"], row["last_seq"])
    covered = sum(layer["messages"] for layer in row["layers"])
    assert covered == row["last_seq"] - row["first_seq"] + 1, "each message is covered once"
    for before, after in zip(row["layers"], row["layers"][1:], strict=False):
        assert f"[messages {after['first_seq']} to {after['last_seq']}]" in row["text"]
        assert before["last_seq"] < after["first_seq"]


async def test_facts_that_the_layers_do_not_tell_stand_beside_them(room: Room) -> None:
    await room.say(user("I am allergic to peanuts. My member number is ZX-4417."), session_id="s3")
    await room.say(*talk(120), session_id="s3")
    room.answer(SUMMARY)
    settings = ContextSettings(primers_count=0)
    await room.activity(model=True, settings=settings).compress_context(request("k3", session_id="s3"))
    [row] = await room.versions()
    facts: Any = await room.pool.fetchval("select count(*) from facts where session_id = 's3'")
    assert facts > 0
    assert "Facts, with their message:" in row["text"]


async def test_a_call_that_would_overflow_waits_for_the_compression_that_runs(room: Room) -> None:
    room.answer(SUMMARY)
    room.provider.control.hold()
    first = asyncio.create_task(room.activity(model=True).compress_context(request("k1")))
    await room.provider.control.wait_held()
    waiting = asyncio.create_task(room.activity(model=True).compress_context(request("k2", trigger=Trigger.OVERFLOW)))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    room.provider.control.continue_held()
    assert (await first).version == 1
    assert await waiting == CompressResult(version=0, reason="nothing_to_cover")
    conversation = await room.conversations.conversation(TENANT, "s1", model=MODEL)
    assert conversation.summary is not None


async def test_a_chinese_conversation_has_a_chinese_header_and_summary(room: Room) -> None:
    said = [
        Message(("user", "assistant")[n % 2], f"订单{2000 + n}要送到海港{n}号，五月{1 + n % 28}日，不要空运。")
        for n in range(80)
    ]
    await room.say(*said, session_id="zh")
    room.answer("The user wants many orders sent to the harbour in May and never by air, orders 2003 to 2060.")
    found = await room.activity(model=True).compress_context(request("kz", session_id="zh"))
    assert found.method == "extractive"
    assert room.told("compression_fallbacks") == {"other_language": 1}
    [row] = await room.versions()
    assert row["language"] == "zh"
    characters = sum(len(message.text) for message in said[row["first_seq"] - 1 : row["last_seq"]])
    summary = len(row["layers"][0]["text"])
    assert row["text"].startswith(f"[历史对话总结 - 原文{characters}字，总结{summary}字]\n")
