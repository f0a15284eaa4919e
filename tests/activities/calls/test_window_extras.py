"""Tokens of what a window shows of trimmed messages, and what memory is asked for."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from purser.activities.calls.window_extras import WindowExtras
from purser.activities.models.accepted_messages import AcceptedMessages
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import StoredMessage
from purser.context.retrieval import Found, Results, Via
from purser.context.settings import ContextSettings
from purser.context.tokens import count_message, count_request, count_text
from purser.context.windows import plan_window, render
from purser.context.windows.plans import Dropped, TextRef, View, WindowPlan
from tests.support.context.conversations import assistant, calling, result, user

MODEL = "deepseek/deepseek-v4-pro"


def tokens(text: str) -> int:
    return count_text(text, MODEL).tokens


async def test_what_a_provider_demands_of_a_clipped_message_is_counted_with_it() -> None:
    step = replace(calling("c"), content="I look it up. " * 400)
    said = dict(enumerate([user("Go."), assistant("Well. " * 400), user("On."), step, result("c", "found " * 400)], 1))
    stored = {seq: StoredMessage(seq, "", one, {}) for seq, one in said.items()}

    async def read(tenant: str, session_id: str, seqs: set[int]) -> dict[int, StoredMessage]:
        return {seq: stored[seq] for seq in seqs}

    accepted = AcceptedMessages(MODEL, None)
    refs = tuple(
        MessageRef(seq, one.role, count_message(one.to_openai(), MODEL).tokens, one.call_ids, one.tool_call_id)
        for seq, one in said.items()
    )
    planned = partial(
        plan_window,
        ContextSettings(),
        budget=600,
        system_tokens=count_message({"role": "system", "content": "Be brief."}, MODEL).tokens,
        session=Conversation(""),
        question=TextRef(1, refs[0].tokens),
        own=accepted.counted(Conversation("t/a", refs[1:])),
    )
    agent_context: Any = Mock(model=MODEL, api_base=None, documents=())
    extras = WindowExtras(AsyncMock(read=read), Mock(), Mock(), Mock(), memory_tokens=0, across_sessions=False)
    plan = await extras.counted(agent_context, planned)
    assert [trim.seq for trim in plan.in_part] == [4, 5]
    sent = accepted.of(render(plan, stored, {}, "Be brief.", count=tokens))
    assert count_request(sent, (), MODEL).tokens == plan.prompt_tokens


SHOWN = View("", seqs=(1, 2), tokens=1_000)
COVERED = View("", summary=SummaryRef(1, 1, 8, 100))
CUT = View("", seqs=(2,), dropped=(Dropped(1, 1, "over_budget"),))


NO_TURN = View("t/a")


def planned(session: View = SHOWN, own: View = NO_TURN) -> WindowPlan:
    """A window of the second task of a session; the numbers between are of the first one's own threads."""
    return WindowPlan(8_000, 10, session, (), TextRef(9, 20), own)


@pytest.mark.parametrize(
    ("plan", "across", "expected"),
    [
        (planned(), False, False),
        (planned(), True, True),
        (planned(COVERED), False, True),
        (planned(CUT), False, True),
        (planned(own=COVERED), False, True),
        (planned(own=CUT), False, True),
    ],
)
def test_memory_is_asked_only_if_a_window_leaves_something_out(plan: WindowPlan, across: bool, expected: bool) -> None:
    extras = WindowExtras(Mock(), Mock(), Mock(), Mock(), memory_tokens=2_000, across_sessions=across)
    assert extras.may_find(plan) is expected


async def test_memory_repeats_nothing_that_is_shown_and_its_room_does_not_grow_with_the_turns_of_the_agent() -> None:
    question = StoredMessage(9, "", user("Which key?"), {})
    agent_context: Any = Mock(
        model=MODEL, documents=(), session_id="s", thread="t/a", question=TextRef(9, 20), replies=(TextRef(10, 5, "b"),)
    )
    key = Found("s", 3, "t0/c", "assistant", "c", "The blue key.", datetime(2026, 3, 2, tzinfo=UTC), 1.0, Via.LEXICAL)
    search = AsyncMock(return_value=Results([key]))
    extras = WindowExtras(
        AsyncMock(read=AsyncMock(return_value={9: question})), Mock(), Mock(), Mock(search=search, asks_a_model=False),
        memory_tokens=2_000, across_sessions=False,
    )  # fmt: skip
    rooms = []
    for own in (NO_TURN, View("t/a", seqs=(11, 12), tokens=3_000), replace(CUT, tokens=3_000)):
        found = await extras.retrieved(agent_context, planned(own=own))
        assert found is not None
        assert search.await_args is not None
        assert search.await_args.kwargs["exclude_seqs"] == {1, 2, 9, 10, *own.seqs}
        rooms.append(found.most_tokens)
    alone = planned().tokens
    assert rooms == [alone // 4, alone // 4, (alone + 3_000) // 4]
