"""Tokens of what a window shows of trimmed messages."""

from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

from purser.activities.calls.window_extras import WindowExtras
from purser.activities.models.accepted_messages import AcceptedMessages
from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import StoredMessage
from purser.context.settings import ContextSettings
from purser.context.tokens import count_message, count_request, count_text
from purser.context.windows import plan_window, render
from purser.context.windows.plans import TextRef
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
