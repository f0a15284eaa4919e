"""Token counts of requests: texts, images, tool definitions and message overhead."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

from purser.context.tokens.exact import by_litellm, by_tiktoken, each_by_tiktoken, is_loaded
from purser.context.tokens.formula import estimate
from purser.context.tokens.messages import Part, as_json, parts_of
from purser.context.tokens.tokenizers import Tokenizer, Vocabulary, tokenizer_of

Method = Literal["litellm", "tiktoken", "formula"]
"""Counting method: `litellm` and `tiktoken` are exact and agree, `formula` has an error of about 4 %."""
Confidence = Literal["exact", "estimate", "bound"]
"""What a count of texts is: `exact`, an `estimate` that may be too low, or a `bound` that is rather too high because of
its margin."""
Message = Mapping[str, object]
"""An OpenAI chat message."""

_vocabularies = ThreadPoolExecutor(2, thread_name_prefix="vocabularies")
"""A thread for each: tiktoken counts without the GIL."""
_LEAST_EXACT_FIRST: tuple[Method, ...] = ("formula", "tiktoken", "litellm")

PER_MESSAGE = 4
"""Tokens around each message: its role and delimiters."""
PER_CONVERSATION = 3
"""Tokens that open the reply."""
INLINE_CHARACTERS = 50_000
"""Characters up to which `count_async` counts in the event loop, which takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Count:
    """Tokens, and how they were counted."""

    tokens: int
    """Total tokens."""
    content_tokens: int
    """Tokens of the texts, tool calls and images of messages alone."""
    method: Method
    """The least exact method used for any text."""
    encoding: str
    """The vocabulary, with the margin where it is not the model's own: `o200k_base`, `cl100k_base+30%`."""

    @property
    def confidence(self) -> Confidence:
        """How far the count can be trusted."""
        if "+" in self.encoding:
            return "bound"
        return "estimate" if self.method == "formula" else "exact"


def count_text(text: str, model: str, *, fast: bool = False) -> Count:
    """Counts the tokens of a text without message overhead.

    Args:
        fast: uses the formula even if a tokenizer is installed, as in all functions of this module.
    """
    counter = _Counter(model, fast)
    content = counter.text(text)
    return counter.result(content, overhead=0)


def count_message(message: Message, model: str, *, fast: bool = False) -> Count:
    """Counts the tokens that one message adds to a request, with its overhead. Raises `InvalidMessage`.

    Counts of a message are equal for models whose `tokenizer_of(model).key` is equal.
    """
    counter = _Counter(model, fast)
    content = counter.parts(parts_of(message))
    return counter.result(content, overhead=PER_MESSAGE)


def begin_counting(messages: Sequence[Message], models: Sequence[str]) -> Callable[[], list[dict[str, int]]]:
    """Begins to count messages for several models: long texts in threads, while the caller goes on.

    Returns:
        A function that waits for what `count_message` counts for each message, by `tokenizer_of(model).key`.

    Raises:
        InvalidMessage: a message cannot be counted.
    """
    tokenizers = {tokenizer.key: tokenizer for tokenizer in map(tokenizer_of, models)}
    contents = list(map(parts_of, messages))
    texts = {part for parts in contents for part in parts if isinstance(part, str)}
    vocabularies = {tokenizer.vocabulary for tokenizer in tokenizers.values()}
    run = _vocabularies.map if sum(map(len, texts)) > INLINE_CHARACTERS else map
    counting = run(partial(_count_texts, texts), vocabularies)

    def counts() -> list[dict[str, int]]:
        counted = dict(zip(vocabularies, counting, strict=True))
        return [
            {key: _tokens(parts, one, counted[one.vocabulary]) + PER_MESSAGE for key, one in tokenizers.items()}
            for parts in contents
        ]

    return counts


def count_request(
    messages: Sequence[Message], tools: Sequence[Mapping[str, object]], model: str, *, fast: bool = False
) -> Count:
    """Counts the input tokens of a request: messages, 3 for the conversation, and tool definitions as compact JSON."""
    return _count([parts_of(message) for message in messages], [as_json(tool) for tool in tools], model, fast)


InThread = Callable[[Callable[[], Count]], Awaitable[Count]]
"""Runs a count in a thread."""


async def count_async(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, object]],
    model: str,
    *,
    fast: bool = False,
    in_thread: InThread = asyncio.to_thread,
) -> Count:
    """Runs `count_request`, in a thread if it would block the event loop: long texts, or a tokenizer to load."""
    contents = [parts_of(message) for message in messages]
    definitions = [as_json(tool) for tool in tools]
    texts = [*definitions, *(part for content in contents for part in content if isinstance(part, str))]
    ready = fast or is_loaded(tokenizer_of(model).vocabulary)
    if ready and sum(map(len, texts)) <= INLINE_CHARACTERS:
        return _count(contents, definitions, model, fast)
    return await in_thread(lambda: _count(contents, definitions, model, fast))


def _count(contents: Sequence[Sequence[Part]], definitions: Sequence[str], model: str, fast: bool) -> Count:
    counter = _Counter(model, fast)
    content = sum(counter.parts(parts) for parts in contents)
    tools = sum(map(counter.text, definitions)) + counter.tokenizer.tools if definitions else 0
    return counter.result(content, overhead=tools + PER_MESSAGE * len(contents) + PER_CONVERSATION)


def _count_texts(texts: Collection[str], vocabulary: Vocabulary) -> dict[str, int]:
    counts = each_by_tiktoken(texts, vocabulary)
    return {text: estimate(text, vocabulary) if tokens is None else tokens for text, tokens in counts.items()}


def _tokens(parts: Sequence[Part], tokenizer: Tokenizer, counts: Mapping[str, int]) -> int:
    """Tokens of the parts of a message, given those of texts in the vocabulary of the tokenizer."""
    return sum(
        [
            tokenizer.with_margin(counts[part]) if isinstance(part, str) else tokenizer.images.tokens(part)
            for part in parts
        ]
    )


class _Counter:
    """Counts for one model and records the methods used."""

    def __init__(self, model: str, fast: bool) -> None:
        self.tokenizer = tokenizer_of(model)
        self._model = model
        self._fast = fast
        self._used: set[Method] = set()

    def parts(self, parts: Sequence[Part]) -> int:
        return sum(self.text(part) if isinstance(part, str) else self.tokenizer.images.tokens(part) for part in parts)

    def text(self, text: str) -> int:
        tokens, method = self._ask(text)
        self._used.add(method)
        return self.tokenizer.with_margin(tokens)

    def _ask(self, text: str) -> tuple[int, Method]:
        vocabulary = self.tokenizer.vocabulary
        if not self._fast:
            if (tokens := by_litellm(text, self._model)) is not None:
                return tokens, "litellm"
            if (tokens := by_tiktoken(text, vocabulary)) is not None:
                return tokens, "tiktoken"
        return estimate(text, vocabulary), "formula"

    def result(self, content: int, *, overhead: int) -> Count:
        method: Method = next((method for method in _LEAST_EXACT_FIRST if method in self._used), "formula")
        return Count(content + overhead, content, method, self.tokenizer.encoding)
