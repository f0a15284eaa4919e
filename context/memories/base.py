"""Base class of all memories: adding messages, and lexical retrieval."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from purser.context.conversation.messages import Message
from purser.context.retrieval import Found, Via
from purser.context.retrieval.postings import POSTING, Turn, index
from purser.context.retrieval.ranking import Posted, Question, Thread, rank
from purser.context.tokens import count_text
from purser.context.windows.advice import AnyMessage
from purser.wire.limits import USUAL_MODEL


class ConversationMemory(ABC):
    """Messages of one conversation in this process, and the window that a call gets."""

    def __init__(self, system_prompt: str = "", *, model: str = USUAL_MODEL) -> None:
        """Args:
        system_prompt: always stays the first message.
        model: the model whose tokenizer counts.
        """
        self.messages: list[Message] = [Message("system", system_prompt)] if system_prompt else []
        """All messages added, after the system prompt. A message's number is its index here."""
        self.model = model
        self._times = [datetime.now(UTC)] * len(self.messages)
        self._said: dict[int, int] = {}
        self._index = _Index()

    def add_message(self, role: str | AnyMessage, content: str | None = None, **fields: Any) -> None:
        """Adds a message.

        Args:
            role: role of the message, or the whole message.
            content: text of the message.
            fields: further fields, such as `tool_calls` or `tool_call_id`.

        Raises:
            InvalidMessage: the message is malformed; nothing was added.
        """
        number = len(self.messages)
        value = {"role": role, "content": content, **fields} if isinstance(role, str) else role
        message = value if isinstance(value, Message) else Message.parse(value, number)
        self.messages.append(message)
        self._times.append(datetime.now(UTC))
        if message.role in ("user", "assistant") and message.text.strip():
            self._said[number] = len(self._said)
            self._index.add(Turn(message.role, message.name, message.text, self._times[number].date()))
        self._index.tool_messages += message.role == "tool" or bool(message.tool_calls)

    def get_messages(self) -> list[dict[str, Any]]:
        """The messages for a call, in the format of the OpenAI API."""
        return [message.to_openai() for message in self.window()]

    @abstractmethod
    def window(self) -> Sequence[Message]:
        """The messages for a call; those of the conversation are the objects that were added."""

    def retrieve(self, query: str, limit: int = 3, *, exclude: Collection[int] = ()) -> list[Found]:
        """Finds user and assistant messages that match a query, in time order.

        Args:
            query: the search text, such as the newest user message.
            limit: maximum number of messages.
            exclude: numbers of messages to leave out.
        """
        return self._found(self._by_words(query, limit, exclude), Via.LEXICAL)

    def _by_words(self, query: str, limit: int, exclude: Collection[int]) -> dict[int, float]:
        """Scores by message number, best first."""
        without = [self._said[number] for number in exclude if number in self._said]
        numbers = list(self._said)
        return {numbers[place]: score for place, score in self._index.search(query, limit, without=without).items()}

    def _found(self, scores: Mapping[int, float], via: Via) -> list[Found]:
        """Search results for message numbers, in time order."""
        found = ((number, self.messages[number]) for number in sorted(scores))
        return [
            Found("", number, "", message.role, message.name, message.text, self._times[number], scores[number], via)
            for number, message in found
        ]

    def _count(self, text: str) -> int:
        return count_text(text, self.model).tokens


class _Index:
    """An inverted index to which turns are added one by one."""

    def __init__(self) -> None:
        self.tool_messages = 0
        self._flags = bytearray()
        self._terms = self._size = self._user_size = 0
        self._postings: defaultdict[str, bytearray] = defaultdict(bytearray)

    def add(self, turn: Turn) -> None:
        added = index([turn], len(self._flags))
        for (term, _), postings in added.postings.items():
            self._postings[term] += postings
        self._flags += added.flags
        self._terms += added.terms
        self._size += added.size
        self._user_size += added.user_size

    def search(self, query: str, limit: int, *, without: Collection[int]) -> dict[int, float]:
        """Scores by place, best first. Excluded turns do not score for their neighbours: one may be the question."""
        asked = Question.of(query)
        posted = []
        for term in asked.wanted:
            postings = np.frombuffer(bytes(self._postings.get(term, b"")), POSTING)
            if (remaining := postings[~np.isin(postings["place"], list(without))]).size:
                posted.append(Posted(0, term, remaining.tobytes()))
        thread = Thread(bytes(self._flags), self._terms, self._size, self._user_size, self.tool_messages)
        hits = rank(asked, [thread], posted, without=[(0, place) for place in without], limit=limit)
        return {hit.place: hit.score for hit in hits}
