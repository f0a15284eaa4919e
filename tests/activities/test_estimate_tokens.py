"""`estimate_tokens` on a real Postgres."""

import pytest

from purser.activities.estimate_tokens import EstimateTokens
from purser.budget.postgres.connections.pools import Pool
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.tokens import count_request
from purser.workflows.contract import EstimateInput
from tests.support.context.conversations import talk


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-5"])
async def test_stored_messages_are_counted_as_a_request_of_their_own(pool: Pool, model: str) -> None:
    conversations = Conversations(pool)
    await conversations.append("acme", "s1", talk(10), origin="o1")
    await conversations.append("acme", "s1", talk(3), origin="o2", thread="t1/a1")
    activity = EstimateTokens(conversations)
    for where, messages in (
        ({}, talk(10)),
        ({"first_seq": 3, "last_seq": 5}, talk(10)[2:5]),
        ({"thread": "t1/a1"}, talk(3)),
    ):
        found = await activity.estimate_tokens(EstimateInput("acme", "s1", model, **where))
        expected = count_request([one.to_openai() for one in messages], [], model)
        assert (found.tokens, found.method, found.encoding) == (expected.tokens, expected.method, expected.encoding)
