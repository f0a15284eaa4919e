"""Filling a window: what always stays, and whole groups in the order of a strategy while they fit."""

from collections.abc import Iterable

from context.conversations import Conversation


class Room:
    """Tokens that are left while a window is filled."""

    def __init__(self, tokens: int) -> None:
        self._left = tokens

    def takes(self, tokens: int) -> bool:
        """Whether so many more fit; then they are taken."""
        if fits := tokens <= self._left:
            self._left -= tokens
        return fits

    def fill(self, conversation: Conversation, kept: set[int], order: Iterable[int]) -> None:
        """Adds to `kept` whole groups in the given order, until the first that does not fit."""
        for index in order:
            if index not in kept:
                if not self.takes(conversation.groups[index].tokens):
                    return
                kept.add(index)


def unmoved(conversation: Conversation) -> set[int]:
    """What always stays: pins, system messages, the first user message, and whatever a result may still join."""
    fixed = {index for index, group in enumerate(conversation.groups) if group.fixed}
    return fixed | set(range(conversation.settled, len(conversation.groups)))
