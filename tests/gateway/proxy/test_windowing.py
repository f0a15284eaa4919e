"""`Purser-Window`: on request messages pass the window engine first, and the answer says what is left out."""

from typing import Any

import openai
import pytest

from purser.budget.errors import InvalidRequest
from purser.compose.demo.provider import Provider
from purser.compose.settings import Settings
from purser.context.errors import WindowTooSmall
from purser.context.strategies import StrategyName
from purser.context.tokens import PER_MESSAGE, count_request
from purser.gateway.proxy.chat_call import ChatRequest
from purser.gateway.proxy.windowing import Windowed, WindowTerms, windowed
from tests.gateway.conftest import on, running_gateway
from tests.gateway.proxy.conftest import Proxy

LONG = " ".join(f"word{number}" for number in range(60))
TALK: Any = [
    {"role": "system", "content": "Be kind."},
    *({"role": role, "content": f"{role} {turn}: {LONG}"} for turn in range(20) for role in ("user", "assistant")),
    {"role": "user", "content": "and now?"},
]


def cut(
    messages: Any = TALK, tokens: int | None = 2_000, strategy: str = "token_truncation", **change: Any
) -> Windowed:
    terms = WindowTerms(StrategyName(strategy), tokens)
    given: dict[str, Any] = {"tools": (), "model": "gpt-4o", "room": 127_900}
    return windowed(messages, **(given | change), terms=terms)


@pytest.mark.parametrize("strategy", list(StrategyName))
def test_a_window_fits_and_each_message_is_sent_or_named(strategy: str) -> None:
    found = cut(strategy=strategy)
    assert count_request(found.messages, (), "gpt-4o").tokens == int(found.headers["Purser-Window-Tokens"]) <= 2_000
    sent = [one for one in TALK if one in found.messages]
    assert len(TALK) - len(sent) == int(found.headers["Purser-Window-Left-Out"]) > 0
    named = {
        place
        for header in ("Purser-Window-Dropped", "Purser-Window-Summarized")
        for run in found.headers.get(header, "").split(", ")
        if run
        for place in range(int(run.partition("-")[0]), int(run.rpartition("-")[2]) + 1)
    }
    assert named == {place for place, one in enumerate(TALK) if one not in found.messages}
    assert (found.messages[0], found.messages[-1]) == (TALK[0], TALK[-1])


def test_messages_that_fit_are_sent_as_they_are_with_all_of_their_fields() -> None:
    messages = [{"role": "user", "content": "hi", "cache_control": {"type": "ephemeral"}}]
    found = cut(messages, None)
    assert found.messages == messages
    assert (found.headers["Purser-Window-Left-Out"], "Purser-Window-Dropped" in found.headers) == ("0", False)


def test_a_refusal_that_the_proxy_returned_is_read_as_text_and_sent_as_it_is() -> None:
    messages = [TALK[1], {"role": "assistant", "content": None, "refusal": "I will not."}, TALK[-1]]
    assert cut(messages).messages == messages


@pytest.mark.parametrize(
    "further",
    [
        {"reasoning_content": LONG, "thinking_blocks": [{"type": "thinking", "thinking": LONG, "signature": "S"}]},
        {"reasoning": LONG},
        {"refusal": LONG},
        {"notes": LONG},
    ],
)
def test_a_window_counts_all_that_it_sends(further: dict[str, Any]) -> None:
    talk = [one | (further if one["role"] == "assistant" else {}) for one in TALK]
    found = cut(talk)
    asked = ChatRequest("gpt-4o", found.messages)
    overhead = PER_MESSAGE if len(asked.counted) > len(asked.messages) else 0
    counted = count_request(asked.counted, (), "gpt-4o").tokens - overhead
    assert counted == int(found.headers["Purser-Window-Tokens"]) <= 2_000
    assert len(found.messages) < len(cut().messages)


def step(words: int) -> Any:
    """A conversation that ends with a call, whose reasoning is signed and whose text is long, and its long result."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    block = {"type": "thinking", "thinking": LONG, "signature": "S"}
    text, result = ("word " * words for words in (words, 2_000))
    said = {"role": "assistant", "content": text, "thinking_blocks": [block], "tool_calls": [call]}
    return [TALK[-1], said, {"role": "tool", "tool_call_id": "c1", "content": result}]


def test_a_message_with_signed_reasoning_is_never_shown_in_part() -> None:
    messages = step(900)
    found = cut(messages)
    assert found.messages[:2] == messages[:2]
    assert found.headers["Purser-Window-In-Part"] == "2", "the result makes room for it"
    assert count_request(found.messages, (), "gpt-4o").tokens == int(found.headers["Purser-Window-Tokens"]) <= 2_000
    with pytest.raises(WindowTooSmall, match=r"budget of 2000 tokens .* signed reasoning and its message, index 1"):
        cut(step(2_000))


def test_tools_and_reply_take_their_part_of_the_window() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": LONG, "parameters": {"type": "object"}}}]
    alone, beside = cut(), cut(tools=tools)
    assert count_request(beside.messages, tools, "gpt-4o").tokens <= 2_000
    assert len(beside.messages) <= len(alone.messages)
    with pytest.raises(InvalidRequest, match="leaves no token"):
        cut(tools=tools, tokens=20)
    with pytest.raises(WindowTooSmall):
        cut(tokens=8)


async def test_a_call_holds_and_pays_the_window_only_if_it_asks_for_one(proxy: Proxy) -> None:
    plain = await proxy.openai(purser_session="s1")
    whole = await plain.chat.completions.with_raw_response.create(model="gpt-4o", messages=TALK, max_tokens=50)
    asks = await proxy.openai(purser_session="s1", purser_window="token_truncation", purser_window_tokens="1000")
    part = await asks.chat.completions.with_raw_response.create(model="gpt-4o", messages=TALK, max_tokens=50)
    first, second = proxy.provider.served()
    assert first.arrival.messages == len(TALK)
    assert "purser-window" not in whole.headers
    assert part.headers["purser-window"] == "token_truncation"
    assert second.arrival.messages == len(TALK) - int(part.headers["purser-window-left-out"]) < len(TALK)
    assert second.arrival.prompt_tokens <= 1_000
    usage = part.parse().usage
    assert usage is not None
    assert usage.total_tokens == second.charged_tokens


async def test_the_window_of_an_unknown_model_is_the_configured_one(
    proxy_settings: Settings, provider: Provider, dsn: str, task_queue: str
) -> None:
    with on(proxy_settings.model_copy(update={"context_window_tokens": 600}), dsn, task_queue) as settings:
        async with running_gateway(settings) as gateway:
            client = await Proxy(gateway, provider).openai(purser_session="s1", purser_window="token_truncation")
            await client.chat.completions.create(model="openai/unheard-of", messages=TALK, max_tokens=100)
    [served] = provider.served()
    assert served.arrival.prompt_tokens <= 500


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"purser_window": "best"}, "three_part"),
        ({"purser_window_tokens": "100"}, "Purser-Window-Tokens"),
        ({"purser_window": "auto", "purser_window_tokens": "x"}, "Purser-Window-Tokens"),
        ({"purser_window": "token_truncation", "purser_window_tokens": "5"}, "budget"),
    ],
)
async def test_a_window_that_cannot_be_built_is_named_and_nothing_is_sent(
    proxy: Proxy, headers: dict[str, str], named: str
) -> None:
    client = await proxy.openai(purser_session="s1", **headers)
    with pytest.raises(openai.UnprocessableEntityError, match=named):
        await client.chat.completions.create(model="gpt-4o", messages=TALK, max_tokens=50)
    assert proxy.provider.served() == ()
