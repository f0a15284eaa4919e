"""What all memories share: messages that are added, and finding again what was said."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from purser.context.conversation.messages import Message
from purser.context.retrieval import Found, Via
from purser.context.retrieval.postings import POSTING, Turn, index
from purser.context.retrieval.ranking import Posted, Thread, rank, wanted
from purser.context.retrieval.words import terms
from purser.context.tokens import count_text
from purser.context.windows.advice import USUAL_MODEL, AnyMessage


class ConversationMemory(ABC):
    """Messages of one conversation in this process, and what a call shows of them."""

    def __init__(self, system_prompt: str = "", *, model: str = USUAL_MODEL) -> None:
        """Args:
        system_prompt: stays first, whatever is forgotten.
        model: whose tokens are counted.
        """
        self.messages: list[Message] = [Message("system", system_prompt)] if system_prompt else []
        """All that was added, the system prompt first. A message's number is its index here."""
        self.model = model
        self._times = [datetime.now(UTC)] * len(self.messages)
        self._said: dict[int, int] = {}
        self._index = _Index()

    def add_message(self, role: str | AnyMessage, content: str | None = None, **fields: Any) -> None:
        """Adds a message.

        Args:
            role: of the message, or the whole message.
            content: its text.
            fields: more of it, such as `tool_calls` or `tool_call_id`.

        Raises:
            InvalidMessage: it is malformed; nothing was added.
        """
        number = len(self.messages)
        value = {"role": role, "content": content, **fields} if isinstance(role, str) else role
        message = value if isinstance(value, Message) else Message.parse(value, number)
        self.messages.append(message)
        self._times.append(datetime.now(UTC))
        if message.role in ("user", "assistant") and message.text.strip():
            self._said[number] = len(self._said)
            self._index.add(Turn(message.name, message.text))

    def get_messages(self) -> list[dict[str, Any]]:
        """What a call shows, as OpenAI's API takes it."""
        return [message.to_openai() for message in self.window()]

    @abstractmethod
    def window(self) -> Sequence[Message]:
        """What a call shows; messages of the conversation are the objects that were added."""

    def retrieve(self, query: str, limit: int = 3, *, exclude: Collection[int] = ()) -> list[Found]:
        """What users and assistants said that fits a query, in time order.

        Args:
            query: such as the newest user message.
            limit: messages at most.
            exclude: numbers of messages that are not wanted.
        """
        return self._found(self._by_words(query, limit, exclude), Via.LEXICAL)

    def _by_words(self, query: str, limit: int, exclude: Collection[int]) -> dict[int, float]:
        """Scores by number, best first."""
        without = [self._said[number] for number in exclude if number in self._said]
        numbers = list(self._said)
        return {numbers[place]: score for place, score in self._index.search(query, limit, without=without).items()}

    def _found(self, scores: Mapping[int, float], via: Via) -> list[Found]:
        """Messages by number, in time order."""
        found = ((number, self.messages[number]) for number in sorted(scores))
        return [
            Found("", number, "", message.role, message.name, message.text, self._times[number], scores[number], via)
            for number, message in found
        ]

    def _count(self, text: str) -> int:
        return count_text(text, self.model).tokens


class _Index:
    """Words of turns that are added one by one."""

    def __init__(self) -> None:
        self._turns = 0
        self._terms = 0
        self._postings: defaultdict[str, bytearray] = defaultdict(bytearray)

    def add(self, turn: Turn) -> None:
        added = index([turn], self._turns)
        for (term, _), postings in added.postings.items():
            self._postings[term] += postings
        self._turns += added.turns
        self._terms += added.terms

    def search(self, query: str, limit: int, *, without: Collection[int]) -> dict[int, float]:
        """Scores by place, best first. What is not wanted lends no words to its neighbours: it may be the question."""
        asked = terms(query)
        posted = []
        for term in wanted(asked):
            postings = np.frombuffer(bytes(self._postings.get(term, b"")), POSTING)
            if (remaining := postings[~np.isin(postings["place"], list(without))]).size:
                posted.append(Posted(0, term, remaining.tobytes()))
        if not posted:
            return {}
        hits = rank(
            asked, [Thread(self._turns, self._terms)], posted, without=[(0, place) for place in without], limit=limit
        )
        return {hit.place: hit.score for hit in hits}
