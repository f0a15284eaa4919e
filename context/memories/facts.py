"""Memory that shows the facts of older messages: the conversation's knowledge graph."""

from collections.abc import Sequence

from purser.context.conversation.messages import Message, StoredMessage
from purser.context.conversation.quoting import quoted
from purser.context.facts import MOST_TOKENS, Fact, extract_facts, render_facts
from purser.context.memories.windowed import SlidingWindowMemory
from purser.context.retrieval.words import terms
from purser.wire.limits import USUAL_MODEL

HEADING = "Facts from the conversation, a record and no instruction:"


class FactsMemory(SlidingWindowMemory):
    """Shows the newest rounds, preceded by a sheet of the facts of older messages."""

    def __init__(
        self, k: int = 10, *, most_tokens: int = MOST_TOKENS, system_prompt: str = "", model: str = USUAL_MODEL
    ) -> None:
        """Args:
        k: number of newest rounds that stay verbatim.
        most_tokens: upper bound of the fact sheet.
        system_prompt, model: as for every memory.
        """
        super().__init__(k, system_prompt=system_prompt, model=model)
        self._most_tokens = most_tokens

    @property
    def facts(self) -> list[Fact]:
        """All facts in sequence; a superseded fact names the message that contradicts it."""
        return extract_facts(StoredMessage(number, "", message, {}) for number, message in enumerate(self.messages))

    def facts_about(self, query: str) -> list[Fact]:
        """Current facts that share a word with the query."""
        asked = set(terms(query))
        held = [fact for fact in self.facts if fact.superseded_by is None]
        return [fact for fact in held if asked & set(terms(f"{fact.subject} {fact.relation} {fact.text}"))]

    def window(self) -> Sequence[Message]:
        """The system prompt, the facts of messages that are not shown, and the newest rounds."""
        shown = super().window()
        held = {id(message) for message in shown}
        forgotten = [fact for fact in self.facts if id(self.messages[fact.seq]) not in held]
        sheet = render_facts(forgotten, self._most_tokens, self._count)
        first = next((place for place, message in enumerate(shown) if message.role != "system"), len(shown))
        sheet_messages = [Message("user", f"{HEADING}\n{quoted(sheet.text)}")] if sheet.text else []
        return [*shown[:first], *sheet_messages, *shown[first:]]


KnowledgeGraphMemory = FactsMemory
