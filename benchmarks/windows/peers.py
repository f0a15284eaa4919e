"""Other libraries that trim a conversation, on the same messages with the same counts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.util import find_spec

from purser.context.conversation.messages import Message


def peers(
    messages: Sequence[Message], counts: Sequence[int], budget: int
) -> Mapping[str, Callable[[], Awaitable[object]]]:
    """A function for each library that is installed; each trims the conversation in memory, as its users do."""
    found = {"LangChain trim_messages": _langchain(messages, counts, budget)}
    if find_spec("llama_index"):
        found["llama-index ChatMemoryBuffer"] = _llama_index(messages, counts, budget)
    return found


def _langchain(messages: Sequence[Message], counts: Sequence[int], budget: int) -> Callable[[], Awaitable[object]]:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages

    kinds: dict[str, type[BaseMessage]] = {"user": HumanMessage, "assistant": AIMessage}
    theirs = [kinds[message.role](message.text, id=str(index)) for index, message in enumerate(messages)]

    def known(given: list[BaseMessage]) -> int:
        return sum(counts[int(message.id or 0)] for message in given)

    async def trim() -> object:
        return trim_messages(theirs, max_tokens=budget, strategy="last", token_counter=known, start_on="human")

    return trim


def _llama_index(messages: Sequence[Message], counts: Sequence[int], budget: int) -> Callable[[], Awaitable[object]]:
    from llama_index.core.base.llms.types import ChatMessage  # type: ignore[import-not-found,unused-ignore]
    from llama_index.core.memory import ChatMemoryBuffer  # type: ignore[import-not-found,unused-ignore]

    per_character = sum(counts) / sum(len(message.text) for message in messages)

    def tokenize(text: str) -> range:
        # It takes no known counts, and counts all remaining messages as one text for each message that it drops.
        return range(int(len(text) * per_character))

    buffer = ChatMemoryBuffer.from_defaults(
        [ChatMessage(role=message.role, content=message.text) for message in messages],
        token_limit=budget,
        tokenizer_fn=tokenize,
    )

    async def get() -> object:
        return buffer.get()

    return get
