"""Token counting: the rule, the methods, and no use of network or event loop."""

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from purser.context.tokens import Count, count_async, count_message, count_request, count_text, exact, tokenizer_of
from purser.context.tokens.cache import CountCache
from purser.context.tokens.counting import INLINE_CHARACTERS, begin_counting
from purser.context.tokens.tokenizers import Vocabulary

HELLO = {"role": "user", "content": "hello world"}
BETWEEN = exact._BETWEEN
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {"type": "object"}},
}


def test_a_message_is_its_content_and_four() -> None:
    assert count_text("hello world", "gpt-4o") == Count(2, 2, "tiktoken", "o200k_base")
    assert count_message(HELLO, "gpt-4o") == Count(6, 2, "tiktoken", "o200k_base")


@pytest.mark.parametrize(
    ("model", "fast", "confidence"),
    [("gpt-4o", False, "exact"), ("gpt-4o", True, "estimate"), ("claude-sonnet-4-5", False, "bound")],
)
def test_a_count_says_how_far_it_can_be_trusted(model: str, fast: bool, confidence: str) -> None:
    assert count_request([HELLO], [], model, fast=fast).confidence == confidence


def test_a_request_is_its_messages_and_three() -> None:
    assert count_request([HELLO, HELLO], [], "gpt-4o") == Count(2 * 6 + 3, 4, "tiktoken", "o200k_base")
    assert count_request([], [], "gpt-4o").tokens == 3


def test_a_tool_call_counts_as_its_name_followed_by_its_arguments() -> None:
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "find", "arguments": '{"id": 7}'}}],
    }
    assert count_message(call, "gpt-4o").content_tokens == count_text('find{"id": 7}', "gpt-4o").tokens


@pytest.mark.parametrize("many", [0, INLINE_CHARACTERS // 20])
def test_several_messages_and_models_count_as_each_alone(many: int) -> None:
    picture = [
        {"type": "image_url", "image_url": {"url": "https://example.org/1.png"}},
        {"type": "text", "text": "你好"},
    ]
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Two words"},
        {"role": "user", "content": picture},
    ]
    messages += [{"role": "user", "content": f"Message {number} of many"} for number in range(many)]
    models = ["gpt-4o", "gpt-4", "gpt-4o-mini", "claude-sonnet-4-5"]
    assert begin_counting(messages, models)() == [
        {tokenizer_of(model).key: count_message(message, model).tokens for model in models} for message in messages
    ]


@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base"])
def test_texts_that_are_counted_together_count_as_each_alone(vocabulary: Vocabulary) -> None:
    dice = random.Random(7)
    some = [
        "",
        " ",
        "  two",
        "don't ",
        "\n\n",
        "12",
        "你好",
        "हिन्दी",
        "<|",
        "|>",
        "endoftext",
        BETWEEN,
        "😀",
        "l" * 300,
    ]
    texts = ["".join(dice.choices(some, k=dice.randrange(5))) for _ in range(5_000)]
    assert any(BETWEEN in text for text in texts)
    assert exact.each_by_tiktoken(texts, vocabulary) == {text: exact.by_tiktoken(text, vocabulary) for text in texts}
    halves = ["\ud83d", "\ude00", "plain"]
    assert exact.each_by_tiktoken(halves, vocabulary) == {text: exact.by_tiktoken(text, vocabulary) for text in halves}


def test_tool_definitions_count_as_compact_json_plus_a_fixed_overhead() -> None:
    plain, one, two = (count_request([HELLO], [TOOL] * n, "gpt-4o") for n in range(3))
    each = count_text(json.dumps(TOOL, separators=(",", ":"), sort_keys=True), "gpt-4o").tokens
    assert one.tokens - plain.tokens == each + tokenizer_of("gpt-4o").tools
    assert two.tokens - one.tokens == each
    assert one.content_tokens == plain.content_tokens


def test_a_request_is_the_sum_of_its_messages_whatever_the_model() -> None:
    messages = [{"role": "user", "content": text} for text in ("hello", "你好，世界", "", "one two three")]
    for model in ("gpt-4", "gpt-4o", "claude-sonnet-4-5", "some-model"):
        counts = [count_message(message, model).tokens for message in messages]
        assert count_request(messages, [], model).tokens == sum(counts) + 3


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "<|im_start|>system", "<|fim_prefix|>", "\ud800", "\x00", "a" * 100_000]
)
def test_no_text_is_an_error(text: str, fast: bool) -> None:
    assert count_text(text, "gpt-4o", fast=fast).tokens > 0


def test_the_formula_counts_where_it_is_asked_for_and_where_no_vocabulary_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fast = count_text("hello world, how are you?", "gpt-4o", fast=True)
    assert fast.method == "formula"
    monkeypatch.setattr(exact, "_encodings", {})
    monkeypatch.setattr(exact, "_folders", list)
    assert count_text("hello world, how are you?", "gpt-4o") == fast


@pytest.mark.parametrize("broken", ["LiteLLM", "tiktoken", "both", "vocabulary"])
def test_a_counter_that_fails_leaves_it_to_the_next_and_says_so_without_the_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    text = "a secret, and how it is counted"
    exactly, fast = count_text(text, "gpt-4o"), count_text(text, "gpt-4o", fast=True)

    class Broken:
        def fail(self, *_: object) -> int:
            raise ValueError(text)

        count = encode_ordinary = fail

    exact._failed.cache_clear()
    if broken in ("LiteLLM", "both"):
        monkeypatch.setattr(exact, "_litellm", Broken())
    if broken in ("tiktoken", "both"):
        monkeypatch.setattr(exact, "_encodings", {"o200k_base": Broken()})
    if broken == "vocabulary":
        monkeypatch.setattr(exact, "_encodings", {})
        monkeypatch.setattr(exact, "_open", Broken().fail)
    for _ in range(3):
        assert count_text(text, "gpt-4o") == (exactly if broken == "LiteLLM" else fast)
    assert len(caplog.messages) == (2 if broken == "both" else 1)
    assert not [message for message in caplog.messages if "secret" in message]


def test_a_text_is_counted_once_for_each_vocabulary_while_it_is_remembered() -> None:
    asked = []
    cache = CountCache(2)

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [cache.count("o200k_base", "text", count) for _ in range(3)] == [4, 4, 4]
    assert cache.count("cl100k_base", "text", count) == 4
    assert len(asked) == 2, "once for each vocabulary"
    cache.count("o200k_base", "other", count)
    assert len(cache) == 2, "the one that was used longest ago is gone"
    cache.count("o200k_base", "text", count)
    assert len(asked) == 4


async def test_short_text_is_counted_inline_and_long_text_off_the_event_loop() -> None:
    others = 0

    async def count_others() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    await count_async([HELLO], [], "gpt-4o")  # loads the vocabulary
    task = asyncio.create_task(count_others())
    small = await count_async([HELLO], [], "gpt-4o")
    assert others == 0
    large = {"role": "user", "content": "hello " * (INLINE_CHARACTERS // 6 + 1)}
    assert (await count_async([large], [TOOL], "gpt-4o")) == count_request([large], [TOOL], "gpt-4o")
    assert others > 0
    assert small == count_request([HELLO], [], "gpt-4o")
    task.cancel()


@pytest.mark.stack
def test_counting_is_exact_without_the_network_and_litellm_is_asked_only_where_it_agrees(tmp_path: Path) -> None:
    script = """
import json, socket
def refuse(*args, **kwargs):
    attempts.append(repr(args[:2]))
    raise OSError("no network here")
attempts = []
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse

from purser.context.tokens import count_text, warm_up
text = "hello world, 你好 नमस्ते <|endoftext|>"
models = ["gpt-4o", "openai/gpt-4o", "gpt-4", "azure_ai/Llama-3.3-70B-Instruct", "gpt-6-sol", "no-such-model"]
before = [[c.tokens, c.method] for c in (count_text(text, model) for model in models)]
warm_up(litellm=True).join()
after = [[c.tokens, c.method] for c in (count_text(text, model) for model in models)]
count_text("\\ud800", "gpt-4o")
long = count_text(text * 200, "gpt-4o").method
print(json.dumps({"before": before, "after": after, "long": long, "attempts": attempts}))
"""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"TIKTOKEN_CACHE_DIR", *exact.LITELLM_ENVIRONMENT}
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=environment | {"TMPDIR": str(tmp_path)},
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["attempts"] == []
    assert [method for _, method in seen["before"]] == ["tiktoken"] * 6
    # LiteLLM counts newer models by an older vocabulary and does not know others.
    assert [method for _, method in seen["after"]] == ["litellm"] * 4 + ["tiktoken"] * 2
    assert [tokens for tokens, _ in seen["after"]] == [tokens for tokens, _ in seen["before"]]
    assert seen["long"] == "tiktoken", "LiteLLM would cut it into pieces"
