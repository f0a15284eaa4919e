"""Windows for tests."""

from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.messages import Message
from purser.context.tokens import count_message, count_request
from purser.context.windows import Window, build_window

MODEL = "gpt-4o"
SYSTEM = Message("system", "Be kind, and brief.")


def window(messages: list[Message], budget: int, strategy: str | None = None, **options: object) -> Window:
    """A window for the usual model."""
    return build_window(messages, budget=budget, model=MODEL, strategy=strategy, **options)  # type: ignore[arg-type]


def texts(found: Window) -> list[str]:
    return [message.text for message in found.messages]


def indexes(found: Window) -> list[int]:
    return [index for index in found.indexes if index is not None]


def counted(messages: list[Message]) -> list[int]:
    """Tokens of each message."""
    return [count_message(message.to_openai(), MODEL).tokens for message in messages]


def requested(messages: list[Message]) -> int:
    """Tokens of a request with them."""
    return count_request([message.to_openai() for message in messages], [], MODEL).tokens


def short_summary(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """A summarizer whose texts fit everywhere."""
    return "They noted orders."
