"""Windows of long sessions: read in part, they are those of the whole conversation."""

import random
import uuid
from collections.abc import Sequence

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.ranges import choose_range
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.windows import SessionWindow, SessionWindows, WindowRequest
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.context.strategies import WINDOW_PRESETS, StrategyName
from purser.context.strategies.choice import Preference
from purser.context.windows import Window
from purser.context.windows.builder import WindowBuilder
from purser.context.windows.listing import build, resolve_strategy
from tests.support.context.conversations import assistant, calling, result, talk, transcript, user
from tests.support.context.windows import counted
from tests.support.runs.proof import some

TENANT, MODEL = "acme", "gpt-4o"
SETTINGS = ContextSettings()
WAYS = [*((name, None) for name in StrategyName), *((None, preset) for preset in WINDOW_PRESETS)]


def windows_of(pool: Pool) -> SessionWindows:
    return SessionWindows(pool, Memory(pool), 0, ResolvedContext(SETTINGS), Placeholders(pool))


def window_of_all(messages: Sequence[Message], budget: int, strategy: str | None, preset: str | None) -> Window:
    """The window without a summary, built from a list of all messages, which are numbered from 1 as stored ones are."""
    name, parameters, why = resolve_strategy(strategy, preset, None if preset else SETTINGS.parameters)
    refs = tuple(
        MessageRef(place, one.role, tokens, one.call_ids, one.tool_call_id, one.pinned)
        for place, (one, tokens) in enumerate(zip(messages, counted(list(messages)), strict=True))
    )
    builder = WindowBuilder(
        conversation=Conversation("", refs, keeps_first_request=parameters.keeps_first_request),
        texts=dict(enumerate(messages)),
        model=MODEL,
        strategy=name,
        reason=why,
        parameters=parameters,
        preference=Preference.BALANCED,
        seqs={place: place + 1 for place in range(len(messages))},
    )
    return build(builder, budget)


def left_out(window: Window) -> set[int]:
    """Indexes of the messages that are neither shown nor covered."""
    omitted = (index for first, last, _ in window.omitted for index in range(first, last + 1))
    return {*omitted, *(index for index, _ in window.dropped)}


def covered(window: Window) -> set[int]:
    return {index for first, last in window.summarised for index in range(first, last + 1)}


def check_partition(found: SessionWindow, messages: Sequence[Message]) -> None:
    window = found.window
    shown = [index for index in window.indexes if index is not None]
    assert sorted([*shown, *left_out(window), *covered(window)]) == list(range(len(messages)))
    assert window.stats.messages_removed == len(messages) - len(shown)
    for message, index in zip(window.messages, window.indexes, strict=True):
        assert index is None or index in found.window.changed or message == messages[index]


@pytest.mark.parametrize(("strategy", "preset"), some(WAYS, 4))
async def test_a_window_read_in_part_is_that_of_the_whole(
    pool: Pool, seed: int, strategy: str | None, preset: str | None
) -> None:
    chance, omits = random.Random(f"{seed}-{strategy}-{preset}"), 0
    for number in range(4):
        messages, session, budget = transcript(chance), f"s{number}", chance.randint(800, 3_000)
        await Conversations(pool).append(TENANT, session, messages, origin="o")
        request = WindowRequest(budget, MODEL, strategy, preset, summarizes=False)
        try:
            expected = window_of_all(messages, budget, strategy, preset)
        except WindowTooSmall:
            with pytest.raises(WindowTooSmall):
                await windows_of(pool).window(TENANT, session, request)
            continue
        found = (await windows_of(pool).window(TENANT, session, request)).window
        omits += bool(found.omitted)
        assert found.messages == expected.messages, (number, budget)
        assert (found.tokens, found.summarised) == (expected.tokens, expected.summarised)
        assert left_out(found) == left_out(expected)
        assert found.stats.messages_removed == expected.stats.messages_removed
        assert found.stats.tokens_saved == expected.stats.tokens_saved
        assert found.strategy == expected.strategy
    assert omits, "every conversation was read whole"


@pytest.mark.parametrize(("strategy", "preset"), some(WAYS, 4))
async def test_every_message_of_a_long_session_with_a_summary_is_in_one_place(
    pool: Pool, seed: int, strategy: str | None, preset: str | None
) -> None:
    chance = random.Random(f"{seed}-{strategy}-{preset}")
    conversations, messages = Conversations(pool), [*transcript(chance), *talk(40)]
    await conversations.append(TENANT, "s", messages, origin="o")
    begun = await conversations.conversation(TENANT, "s", model=MODEL, upto=60)
    span = choose_range(begun, SETTINGS, 1_000)
    assert span is not None
    stored = Summary(1, span.first_seq, span.last_seq, "Earlier.", Method.EXTRACTIVE, str(uuid.uuid4()), 9, 9, "d")
    assert await Summaries(pool).store(TENANT, "s", "", stored)
    for summarizes in (True, False):
        request = WindowRequest(2_500, MODEL, strategy, preset, summarizes=summarizes)
        found = await windows_of(pool).window(TENANT, "s", request)
        check_partition(found, messages)
        assert found.window.version == summarizes


def steps(count: int, words: int = 60) -> list[Message]:
    """Tool steps of an agent."""
    return [one for number in range(count) for one in (calling(f"c{number}"), result(f"c{number}", "word " * words))]


QUESTION = user("And the newest question?")
NESTED = [calling("n"), QUESTION, result("n")]


@pytest.mark.parametrize(
    "messages",
    [
        [*talk(60), QUESTION, assistant("An answer.")],
        [*talk(60), QUESTION, *steps(25)],
        [*talk(60), QUESTION, *(assistant("word " * 60) for _ in range(50))],
        [*talk(60), *NESTED, *steps(25)],
        [*talk(60), QUESTION, *steps(200, words=300)],
        [QUESTION, *steps(60)],
    ],
    ids=["answered", "tool loop", "notes", "amid a call", "beyond what is read", "the only one"],
)
@pytest.mark.parametrize("passes", [True, False], ids=["passed over", "covered by an earlier release"])
async def test_a_stored_window_shows_the_newest_user_message_as_that_of_a_list_does(
    pool: Pool, messages: list[Message], passes: bool
) -> None:
    conversations, summaries = Conversations(pool), Summaries(pool)
    await conversations.append(TENANT, "s", messages, origin="o")
    request = WindowRequest(3_000, MODEL)
    for version in range(4):
        found = await windows_of(pool).window(TENANT, "s", request)
        expected = window_of_all(messages, request.budget, None, None)
        check_partition(found, messages)
        for window in (found.window, expected):
            newest = [one for one in window.messages if one.role == "user"][-1]
            assert (newest, messages.index(QUESTION) in window.indexes) == (QUESTION, True)
        whole = await conversations.conversation(TENANT, "s", model=MODEL)
        span = choose_range(whole, SETTINGS, 3_000 // (version + 1))
        if span is None:
            break
        last_seq = span.last_seq if passes else max(span.last_seq, messages.index(QUESTION) + 1)
        stored = Summary(
            version + 1, span.first_seq, last_seq, "Earlier.", Method.EXTRACTIVE, str(uuid.uuid4()), 9, 9, "d",
            passed=span.passed if passes else (),
        )  # fmt: skip
        assert await summaries.store(TENANT, "s", "", stored)
    assert version, "nothing was covered"


async def test_a_task_leaves_the_question_of_the_last_one_to_the_summary(pool: Pool) -> None:
    conversations = Conversations(pool)
    await conversations.append(TENANT, "s", [*talk(60), QUESTION, *steps(25), user("What is next?")], origin="o")
    stored = Summary(1, 4, 100, "Earlier.", Method.EXTRACTIVE, str(uuid.uuid4()), 9, 9, "d")
    assert await Summaries(pool).store(TENANT, "s", "", stored)
    before = await conversations.conversation(TENANT, "s", model=MODEL, upto=111)
    assert [seq for one in before.groups for seq in one.seqs] == [1, 2, 3, *range(101, 112)]


async def test_an_extract_of_a_long_session_reads_the_newest_and_names_what_it_leaves_out(pool: Pool) -> None:
    messages = [*talk(10), *[user("word " * 2_000), assistant("word " * 2_000)] * 20, *talk(70)]
    await Conversations(pool).append(TENANT, "s", messages, origin="o")
    found = await windows_of(pool).window(TENANT, "s", WindowRequest(2_000, MODEL, "three_part"))
    check_partition(found, messages)
    [(first, last, reason)] = found.window.omitted
    assert reason == "beyond_extract"
    assert {why for _, why in found.window.dropped} == {reason}
    assert first in left_out(found.window)
    assert min(covered(found.window)) > last, "what the extract does not read is not covered"


async def test_a_pinned_call_in_the_middle_of_a_long_session_is_shown_with_its_result(pool: Pool) -> None:
    conversations = Conversations(pool)
    call = Message("assistant", tool_calls=calling("c1").tool_calls, pinned=True)
    messages = [*talk(100), call, user("Meanwhile?"), result("c1"), *talk(200)]
    await conversations.append(TENANT, "s", messages, origin="o")
    found = await windows_of(pool).window(TENANT, "s", WindowRequest(1_500, MODEL, "token_truncation"))
    check_partition(found, messages)
    assert {100, 101, 102} <= set(found.window.indexes)


async def test_a_cleared_result_of_a_session_still_answers_its_call(pool: Pool) -> None:
    steps = [one for number in range(8) for one in (calling(f"c{number}"), result(f"c{number}", "word " * 400))]
    messages = [user("Look it up."), *steps, user("And?")]
    await Conversations(pool).append(TENANT, "s", messages, origin="o")
    found = (await windows_of(pool).window(TENANT, "s", WindowRequest(2_500, MODEL, "token_truncation"))).window
    assert found.stats.cleared
    for part in found.stats.cleared:
        shown = found.messages[found.indexes.index(part.index)]
        assert shown.tool_call_id == messages[part.index].tool_call_id
