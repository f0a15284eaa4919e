"""Caller-supplied summarizers: adapts a function of the caller and validates what it returns."""

import inspect
from collections.abc import Callable
from typing import TypeVar

from purser.context.compression.acceptance import fault
from purser.context.compression.headings import length_header
from purser.context.compression.lengths import summary_length
from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.languages import conversation_language
from purser.context.errors import InvalidSettings
from purser.context.tokens import count_text

T = TypeVar("T")


class Writer:
    """Adapts a caller's summarizer to `build_window`. After a failure it records why and never calls it again."""

    def __init__(self, write: Callable[..., str], model: str, *, header: bool = True) -> None:
        """Args:
        write: summarizes a text; a second parameter, if any, receives the number of characters to use.
        model: the model whose tokenizer counts.
        header: whether to add a header line with both lengths.
        """
        self._write = of_two(write)
        self._model = model
        self._header = header
        self.fault = ""
        """Why there is no summary: the name of an exception or a code of `requests.fault`; empty if none failed."""

    def __call__(self, source: SummarySource, most_tokens: int, count: CountText) -> str:
        """Returns a summary, or an empty text after a failure."""
        if self.fault:
            return ""
        text = as_text(source)
        try:
            written = self._write(text, summary_length(len(text)).characters).strip()
        except Exception as error:  # whatever the caller's code raises
            self.fault = type(error).__name__
            return ""
        shown = f"{_header(source, text, written)}\n{written}" if self._header else written
        before, after = self._tokens(text), self._tokens(written)
        room = most_tokens - self._tokens(shown) + after
        self.fault = fault(written, after, most_tokens=room, tokens_before=before) or ""
        return "" if self.fault else shown

    def _tokens(self, text: str) -> int:
        return count_text(text, self._model).tokens


def _header(source: SummarySource, text: str, written: str) -> str:
    language = conversation_language([passage.text for passage in source.passages])
    return length_header(len(text), len(written), language)


def as_text(source: SummarySource) -> str:
    """The text passed to a summarizer: the last summary, if there is one, and a line for each message."""
    lines = [f"{passage.speaker}: {passage.text}" for passage in source.passages]
    return "\n".join([*(["Summary so far:", source.summary, "New messages:"] if source.summary else []), *lines])


def of_two(function: Callable[..., T]) -> Callable[[str, int], T]:
    """Wraps a summarizer as a function of text and characters; one with a single parameter gets the text only.

    Raises:
        InvalidSettings: it cannot be called.
    """
    if not callable(function):
        raise InvalidSettings(f"summarize {function!r:.80} is not valid: use a function of a text, or None")
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    if sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in parameters) > 1:
        return function
    return lambda text, characters: function(text)
