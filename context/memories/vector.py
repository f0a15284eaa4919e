"""Memories that retrieve messages for the newest question: by vectors, or vectors and words."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from purser.context.conversation.messages import Message
from purser.context.memories.base import ConversationMemory
from purser.context.memories.windowed import SlidingWindowMemory
from purser.context.retrieval import Found, Via, memory_message
from purser.context.retrieval.fusion import fuse
from purser.context.windows.advice import AnyMessage
from purser.wire.limits import USUAL_MODEL

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Returns one vector per text, all of the same length."""
MEMORY_TOKENS = 1_000
"""Default upper bound of the message that shows the results."""


class VectorMemory(ConversationMemory):
    """Shows every message and retrieves by vectors and words; by words alone without vectors."""

    def __init__(self, embed: Embed | None = None, *, system_prompt: str = "", model: str = USUAL_MODEL) -> None:
        """Args:
        embed: computes vectors; if it fails or its vectors do not fit, retrieval falls back to words.
        system_prompt, model: as for every memory.
        """
        super().__init__(system_prompt, model=model)
        self._embed = embed
        self._vectors: dict[int, NDArray[np.float64]] = {}

    def window(self) -> Sequence[Message]:
        """All messages."""
        return self.messages

    def retrieve(self, query: str, limit: int = 3, *, exclude: Collection[int] = ()) -> list[Found]:
        """Finds messages by vectors or words, in time order; takes the arguments of the base class."""
        by_meaning = self._by_meaning(query, exclude)
        if by_meaning is None:
            return super().retrieve(query, limit, exclude=exclude)
        by_words = self._by_words(query, len(by_meaning), exclude)
        best = dict(islice(fuse(list(by_words), by_meaning).items(), limit))
        found = self._found(best, Via.VECTOR)
        return [replace(one, via=Via.BOTH) if one.seq in by_words else one for one in found]

    def _by_meaning(self, query: str, exclude: Collection[int]) -> list[int] | None:
        """Message numbers, best first; `None` without vectors."""
        if self._embed is None or not self._said:
            return None
        new = [number for number in self._said if number not in self._vectors]
        try:
            asked, *added = np.array(self._embed([query, *(self.messages[number].text for number in new)]), float)
            vectors = self._vectors | dict(zip(new, added, strict=True))
            matrix = np.vstack([asked, *vectors.values()])[1:]
        except Exception:  # whatever the caller's code raises, and vectors of another number or length
            return None
        self._vectors = vectors
        norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked)
        cosines = matrix @ asked / np.where(norms, norms, 1)
        numbers = list(vectors)
        return [numbers[place] for place in np.argsort(-cosines, kind="stable") if numbers[place] not in exclude]


class HybridMemory(ConversationMemory):
    """Shows a short-term memory's window, with long-term search results before the newest user message."""

    def __init__(
        self,
        short_term: ConversationMemory | None = None,
        long_term: ConversationMemory | None = None,
        *,
        limit: int = 3,
        most_tokens: int = MEMORY_TOKENS,
        system_prompt: str = "",
        model: str = USUAL_MODEL,
    ) -> None:
        """Args:
        short_term: builds the window; the newest 10 rounds by default. Its system prompt applies.
        long_term: is searched; a `VectorMemory` without vectors by default.
        limit: maximum number of retrieved messages.
        most_tokens: upper bound of the message that shows them.
        system_prompt: system prompt of the default short-term memory.
        model: as for every memory.
        """
        super().__init__(model=model)
        self._short_term = short_term or SlidingWindowMemory(system_prompt=system_prompt, model=model)
        self._long_term = long_term or VectorMemory(model=model)
        self._limit = limit
        self._most_tokens = most_tokens

    def add_message(self, role: str | AnyMessage, content: str | None = None, **fields: Any) -> None:
        """Adds a message to both memories."""
        super().add_message(role, content, **fields)
        self._short_term.add_message(self.messages[-1])
        self._long_term.add_message(self.messages[-1])

    def window(self) -> Sequence[Message]:
        """The short-term memory's window, with the search results right before the newest user message."""
        shown = list(self._short_term.window())
        newest = max((place for place, message in enumerate(shown) if message.role == "user"), default=None)
        if newest is None:
            return shown
        held = {id(message) for message in shown}
        in_window = [number for number, message in enumerate(self._long_term.messages) if id(message) in held]
        found = self._long_term.retrieve(shown[newest].text, self._limit, exclude=in_window)
        # The system that this memory reproduces shows search results as a system message.
        memory = memory_message(found, (), self._most_tokens, self._count, role="system")
        return [*shown[:newest], *([memory] if memory else []), *shown[newest:]]

    def retrieve(self, query: str, limit: int = 3, *, exclude: Collection[int] = ()) -> list[Found]:
        """Searches the long-term memory."""
        return self._long_term.retrieve(query, limit, exclude=exclude)
