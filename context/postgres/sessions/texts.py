"""Texts of the sessions that were read last, so that the windows of a session read only new messages."""

import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations

MOST_CHARACTERS = 16_000_000
"""Characters that are cached of all sessions together."""
MOST_IDLE_S = 600
"""Seconds for which a session that is not read stays cached: its texts may have been deleted meanwhile."""


@dataclass
class _Cached:
    """Texts of one session by sequence number."""

    messages: dict[int, Message] = field(default_factory=dict)
    characters: int = 0
    read_at: float = 0.0


class SessionTexts:
    """Reads messages of sessions, and caches the sessions read last. Messages never change, so a text stays right."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._sessions: OrderedDict[tuple[str, str], _Cached] = OrderedDict()
        self._characters = 0

    async def read(self, tenant: str, session_id: str, seqs: Collection[int]) -> dict[int, Message]:
        """Messages by sequence number; they must exist, as those that a statement just listed."""
        key = tenant, session_id
        known = self._sessions.get(key, _Cached()).messages
        found = {seq: known[seq] for seq in seqs if seq in known}
        added = {}
        if missing := [seq for seq in seqs if seq not in found]:
            added = await self._conversations.texts(tenant, session_id, missing)
        self._keep(key, added)
        return found | added

    def _keep(self, key: tuple[str, str], added: dict[int, Message]) -> None:
        cached, now = self._sessions.setdefault(key, _Cached()), time.monotonic()
        self._sessions.move_to_end(key)
        characters = sum(_characters(message) for seq, message in added.items() if seq not in cached.messages)
        cached.messages.update(added)
        cached.characters, cached.read_at = cached.characters + characters, now
        self._characters += characters
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if self._characters <= MOST_CHARACTERS and oldest.read_at > now - MOST_IDLE_S:
                break
            self._characters -= self._sessions.popitem(last=False)[1].characters


def _characters(message: Message) -> int:
    """Length of a message, with its images and the arguments of its calls."""
    content = message.content if isinstance(message.content, str) else str(message.content)
    return len(content) + sum(len(call["function"]["arguments"]) for call in message.tool_calls)
