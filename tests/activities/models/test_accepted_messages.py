"""Messages as the provider of a model accepts them, and their tokens."""

from typing import Any

import pytest

from purser.activities.models.accepted_messages import BETWEEN, EMPTY, NO_REASONING, AcceptedMessages
from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import Message
from purser.context.tokens import PER_CONVERSATION, count_message, count_request
from purser.context.windows.linking import linked, repaired_seqs, sendable
from tests.support.context.conversations import assistant, call, calling, result, user

OWN = "http://127.0.0.1:4010/v1"
OK = assistant(BETWEEN).to_openai()
LOOP = [user("go"), calling("a"), result("a"), assistant("Found."), user("thanks")]
TURNED = [calling("a", "b"), result("a"), result("b"), user("Wait."), calling("c"), result("c"), Message("system", "x")]


def sent(model: str, messages: list[Message], api_base: str | None = None) -> list[dict[str, Any]]:
    return [{**one} for one in AcceptedMessages(model, api_base).of(one.to_openai() for one in messages)]


def plain(*messages: Message) -> list[dict[str, Any]]:
    return [one.to_openai() for one in messages]


@pytest.mark.parametrize("model", ["gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-3-flash-preview"])
@pytest.mark.parametrize(
    ("message", "accepted"),
    [
        (Message("user", "Hi.", name="Anna Müller"), {"name": "Anna_Müller"}),
        (Message("assistant", "Hi.", name="bot" * 30), {"name": ("bot" * 30)[:64]}),
        (result("a", ""), {"content": EMPTY}),
        (user(""), {"content": EMPTY}),
        (assistant(""), {"content": EMPTY}),
        (Message("user", ({"type": "text", "text": ""},)), {"content": EMPTY}),
        (
            Message("user", ({"type": "text", "text": ""}, {"type": "text", "text": "x"})),
            {"content": [{"type": "text", "text": "x"}]},
        ),
        (Message("assistant", "", tool_calls=(call("a"),)), {"content": None}),
        (Message("assistant", tool_calls=(call("a", ""),)), {"tool_calls": [call("a")]}),
        (Message("assistant", tool_calls=(call("a", "[1]"),)), {"tool_calls": [call("a")]}),
        (calling("a"), {}),
        (result("a"), {}),
    ],
)
def test_what_some_provider_refuses_is_sent_as_all_accept_it(
    model: str, message: Message, accepted: dict[str, Any]
) -> None:
    assert sent(model, [message]) == [message.to_openai() | accepted]


@pytest.mark.parametrize(
    ("model", "api_base", "reasons"),
    [
        ("deepseek/deepseek-v4-pro", None, True),
        ("deepseek-reasoner", None, True),
        ("moonshot/kimi-k2-thinking", None, True),
        ("openai/DeepSeek-V4-Flash", OWN, True),
        ("moonshotai/Kimi-K2-Thinking", OWN, True),
        ("moonshotai/kimi-k2-instruct", OWN, False),
        ("groq/moonshotai/kimi-k2-instruct", None, False),
        ("openrouter/deepseek/deepseek-v4-pro", None, False),
        ("gpt-4o", None, False),
    ],
)
def test_models_that_demand_their_reasoning_back_get_a_space(model: str, api_base: str | None, reasons: bool) -> None:
    reasoning = [one.get("reasoning_content") for one in sent(model, LOOP, api_base)]
    space = NO_REASONING if reasons else None
    assert reasoning == [None, space, None, space, None]


@pytest.mark.parametrize("model", ["mistral/mistral-large-latest", "openrouter/mistralai/devstral-2", "mixtral-8x7b"])
def test_after_results_mistral_gets_a_message_of_the_assistant(model: str) -> None:
    assert sent(model, LOOP) == plain(*LOOP)
    assert sent(model, TURNED) == [*plain(*TURNED[:3]), OK, *plain(*TURNED[3:6]), OK, *plain(TURNED[6])]
    assert sent("gpt-4o", TURNED) == plain(*TURNED)


@pytest.mark.parametrize(
    ("model", "exact"),
    [("gpt-4o", True), ("deepseek/deepseek-v4-pro", True), ("mistral/mistral-large-latest", False)],
)
def test_what_is_added_is_counted(model: str, exact: bool) -> None:
    said = [
        *LOOP, *TURNED, calling("gone"), user(""), assistant(""), result("c"), user("So?"),
        Message("user", ({"type": "text", "text": ""},)), calling("d"), result("d", ""), user("Conclude."),
    ]  # fmt: skip
    refs = (
        MessageRef(seq, one.role, count_message(one.to_openai(), model).tokens, one.call_ids, one.tool_call_id)
        for seq, one in enumerate(said)
    )
    counted = AcceptedMessages(model, None).counted(Conversation("", tuple(refs)))
    conversation = linked(counted, lambda text: count_message({"content": text}, model).content_tokens)
    shown = [one for _, one in sendable(list(enumerate(said)), repaired_seqs(conversation.messages))]
    tokens = count_request(sent(model, shown), (), model).tokens
    assert tokens <= conversation.tokens + PER_CONVERSATION
    assert (tokens == conversation.tokens + PER_CONVERSATION) is exact
